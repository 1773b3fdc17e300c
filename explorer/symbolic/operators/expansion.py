"""Inner layers from outside as built-in ones: how operators that go through pairs of layers know them."""

from explorer.errors import ShapeError
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import InnerLayer, Layer
from explorer.symbolic.operators.assembly import replace_layers
from explorer.symbolic.operators.rules import RuleTable

expand_rules = RuleTable("expand")
"""For each type of inner layer from outside: a function of a layer that returns a built-in layer with the same values.

Its parameters are expressions of those of the layer, so that they share its leaves.
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
