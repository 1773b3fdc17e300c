"""The registries of the rules of operators on circuits, by types of layers; built-in layers for custom inner layers.

A rule is chosen by exact type. A layer from outside of the package adds its rule with the same decorator.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import DuplicateNameError, ShapeError, StructureError
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import InnerLayer, Layer
from explorer.symbolic.operators.assembly import replace_layers

LayerRule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class RuleTable:
    """The rules of one operator, by the types of the layers that a rule is given first.

    `@integrate_rules.rule(MyLayer)` registers a function of a `MyLayer` that returns the layer to put in its place;
    `@multiply_rules.rule(MyLayer, MyLayer)` one of two layers. A rule raises a CircuitError if it has no result.
    """

    operator: str
    rules: dict[tuple[type[Layer], ...], LayerRule] = field(default_factory=dict[Any, LayerRule])

    def rule(self, *kinds: type[Layer]) -> Callable[[LayerRule], LayerRule]:
        """Decorator: register the rule for layers of these types. Raises: DuplicateNameError."""
        if kinds in self.rules:
            raise DuplicateNameError(f"{self.operator} has a rule for {_names(kinds)} already")

        def register(rule: LayerRule) -> LayerRule:
            self.rules[kinds] = rule
            return rule

        return register

    def find(self, *layers: Layer) -> LayerRule | None:
        """The rule for layers of these types, in this order; None if there is none."""
        return self.rules.get(tuple(type(layer) for layer in layers))

    def missing(self, what: str, *layers: Layer) -> StructureError:
        """Make the error for layers without a rule; `what` describes them."""
        kinds = tuple(type(layer) for layer in layers)
        return StructureError(f"no rule for {what}; register one with @{self.operator}_rules.rule({_names(kinds)})")


def _names(kinds: tuple[type, ...]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


expand_rules = RuleTable("expand")
"""For each type of inner layer from outside: a function of a layer that returns a built-in layer with the same values.

Its parameters are expressions of the layer's parameters, so that they share its leaves.
"""


def expand(circuit: Circuit) -> Circuit:
    """The circuit with built-in layers for those that have a rule: same ids, edges, names and outputs.

    Returns `circuit` itself if none has one. Raises: ShapeError if a rule returns a layer of other units or inputs.
    """

    def of(_: int, layer: Layer) -> Layer:
        rule = expand_rules.find(layer)
        if rule is None:
            return layer
        expanded = rule(layer)
        if _signature(expanded) != _signature(layer):
            raise ShapeError(
                f"its rule must return an inner layer with (input units, inputs, output units) {_signature(layer)}; "
                f"found {type(expanded).__name__} with {_signature(expanded)}"
            )
        return expanded

    if all(expand_rules.find(layer) is None for layer in circuit.layers):
        return circuit
    return replace_layers(circuit, "expand", of)


def _signature(layer: Layer) -> tuple[int, int, int] | None:
    if not isinstance(layer, InnerLayer):
        return None
    return layer.num_input_units, layer.arity, layer.num_output_units
