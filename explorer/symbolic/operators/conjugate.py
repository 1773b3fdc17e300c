"""`conjugate`: the complex conjugate of a circuit."""

from dataclasses import replace

from explorer.graph import nested_of, parameters_of
from explorer.symbolic import layers as symbolic
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import InputLayer, Layer
from explorer.symbolic.operators.assembly import check_operands, replace_layers
from explorer.symbolic.operators.rules import RuleTable
from explorer.symbolic.operators.tables import is_complex
from explorer.symbolic.parameter_operators import ConjugateParameter
from explorer.symbolic.parameters import ParameterNode

conjugate_rules = RuleTable("conjugate")
"""For each type of input layer from outside: a function of a layer that returns its complex conjugate.

A built-in layer is a function of its parameters with real coefficients, so conjugating these conjugates its value.
"""


def conjugate(circuit: Circuit) -> Circuit:
    """Return the circuit with the complex conjugates of the values of `circuit`; its layers have the same ids.

    Parameters without complex leaves stay as they are. Raises: StructureError for a layer without a rule.
    """
    (circuit,) = check_operands("conjugate", (circuit,), 1)
    conjugates: dict[ParameterNode, ParameterNode] = {}

    def conjugated(parameter: ParameterNode) -> ParameterNode:
        if parameter not in conjugates:
            conjugates[parameter] = ConjugateParameter((parameter,)) if is_complex(parameter) else parameter
        return conjugates[parameter]

    def of(node: int, layer: Layer) -> Layer:
        if isinstance(layer, InputLayer):
            rule = conjugate_rules.find(layer)
            if rule is not None:
                return rule(layer)
        if type(layer) not in _BUILT_IN and any(map(is_complex, parameters_of(layer).values())):
            raise conjugate_rules.missing(type(layer).__name__, layer)
        values = {name: conjugated(parameter) for name, parameter in parameters_of(layer).items()}
        values |= {name: of(node, nested) for name, nested in nested_of(layer).items()}
        changed = {name: value for name, value in values.items() if value is not getattr(layer, name)}
        return replace(layer, **changed) if changed else layer

    return replace_layers(circuit, "conjugate", of)


_BUILT_IN = frozenset(getattr(symbolic, name) for name in symbolic.__all__)
