"""The registries of rules of operators: what an operator makes of a layer, or of a pair of layers.

A rule is chosen by exact type. A layer from outside of the package adds its rule with the same decorator.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from explorer.errors import DuplicateNameError, StructureError
from explorer.symbolic.layers import Layer

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
