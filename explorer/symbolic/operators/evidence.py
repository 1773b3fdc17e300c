"""`evidence`: fix variables of a circuit at observed values."""

from collections.abc import Mapping
from math import isnan
from typing import cast

from explorer.errors import DataTypeError, ValueRangeError
from explorer.symbolic.checks import is_integer
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.layers import EvidenceLayer, InputLayer, Layer
from explorer.symbolic.operators.assembly import check_operands, replace_inputs
from explorer.symbolic.operators.integrate import check_variables
from explorer.symbolic.parameters import DataType, TensorParameter


def evidence(circuit: Circuit, observations: Mapping[int, float]) -> Circuit:
    """Fix some variables of a circuit at these values, by variable; the result does not depend on them any more.

    Its layers have the ids of `circuit`. Layers that read the same variable share one fixed leaf with its value.
    Raises: ScopeError for a variable that the circuit does not have, or if only some variables of an input layer are
    observed; ValueRangeError for a value that the variable cannot have; DataTypeError for a value that is not a number.
    """
    (circuit,) = check_operands("evidence", (circuit,), 1)
    if not isinstance(observations, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DataTypeError(f"evidence: expected a mapping from variables to values, got {observations!r}")
    given = {int(v): _number(v, value) for v, value in observations.items() if is_integer(v)}
    wanted = check_variables("evidence", circuit, observations)
    leaves: dict[tuple[tuple[int, ...], bool], TensorParameter] = {}

    def replace(layer: InputLayer) -> Layer:
        values = [given[v] for v in layer.scope]
        is_discrete = layer.num_values is not None and all(float(value).is_integer() for value in values)
        key = (layer.scope, is_discrete)
        if key not in leaves:
            dtype = DataType.INTEGER if is_discrete else DataType.REAL
            fixed = ConstantInitializer([int(v) for v in values] if is_discrete else [float(v) for v in values])
            leaves[key] = TensorParameter((len(values),), dtype, learnable=False, initializer=fixed)
        return EvidenceLayer(num_output_units=layer.num_output_units, layer=layer, observation=leaves[key])

    arguments = {"variables": wanted, "values": tuple(given[v] for v in wanted)}
    return replace_inputs(circuit, "evidence", wanted, replace, arguments)


def _number(variable: int, value: object) -> int | float:
    if is_integer(value):
        return int(cast("int", value))
    try:
        number = float(cast("float", value)) if not isinstance(value, str | bool) else _refuse(variable, value)
    except (TypeError, ValueError):
        return _refuse(variable, value)
    if isnan(number):
        raise ValueRangeError(f"evidence: the value of variable {variable} is NaN; leave out what is not observed")
    return number


def _refuse(variable: int, value: object) -> float:
    raise DataTypeError(f"evidence: the value of variable {variable} must be a number; found {value!r}")
