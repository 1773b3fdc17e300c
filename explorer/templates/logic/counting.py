"""Model counting: exact, with Python integers, and weighted, with any numbers."""

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from numbers import Integral, Rational, Real
from typing import Any, TypeVar

from explorer.errors import DataTypeError, ScopeError, StructureError, ValueRangeError, check_type
from explorer.symbolic.checks import is_integer
from explorer.templates.logic.logic_circuit import READ_IT, LogicCircuit, LogicKind, scope_variables

Number = TypeVar("Number", int, float, Fraction)


def count_models(circuit: LogicCircuit, *, assume_deterministic: bool = False) -> int:
    """Count the assignments of all variables that make the formula true; exact, however large.

    The circuit must be decomposable and deterministic. Where determinism holds but cannot be shown, for instance in a
    very large file of a trusted compiler, `assume_deterministic` skips that check.
    Raises: StructureError with the node at fault.
    Source: Darwiche 2001, On the tractable counting of theory models.

    >>> from explorer.templates.logic import LogicBuilder
    >>> b = LogicBuilder()
    >>> count_models(b.build(b.conjunction([b.literal(1), b.literal(-2)]), num_variables=100)) == 2**98
    True
    """
    check_countable(circuit, assume_deterministic, "count")
    sizes = [scope.bit_count() for scope in circuit.scopes]
    counts: list[int] = []
    for number, node in enumerate(circuit.nodes):
        count = 1
        if node.kind is LogicKind.AND:
            for source in node.inputs:
                count *= counts[source]
        elif node.kind is LogicKind.OR:
            count = sum(counts[source] << (sizes[number] - sizes[source]) for source in node.inputs)
        elif node.kind is LogicKind.FALSE:
            count = 0
        counts.append(count)
    return counts[-1] << (circuit.num_variables - sizes[-1])


def weighted_count(
    circuit: LogicCircuit, weights: Mapping[int, Number], *, assume_deterministic: bool = False
) -> Number | int:
    """Sum over all models the product of the weights of their literals (v if true, -v if false).

    A literal without a weight has weight 1. The result is exact for integers and fractions; floats are rounded, and a
    result that is too large for them is refused. The circuit must be decomposable and deterministic, as for
    `count_models`. Raises: StructureError; ScopeError for an unknown literal; ValueRangeError for a weight that is not
    finite, or a result that is not.
    Source: Chavira and Darwiche 2008, On probabilistic inference by weighted model counting.

    >>> from fractions import Fraction
    >>> from explorer.templates.logic import LogicBuilder
    >>> b = LogicBuilder()
    >>> coin = Fraction(1, 3)
    >>> weighted_count(b.build(b.literal(1), num_variables=2), {1: coin, -1: 1 - coin, 2: coin, -2: 1 - coin})
    Fraction(1, 3)
    """
    weights = check_weights(circuit, weights)
    check_countable(circuit, assume_deterministic, "count")
    advice = "the weighted count is too large for a float; use weights that are fractions"
    try:
        result = _weighted(circuit, weights)
    except OverflowError as error:  # an integer that no float can hold
        raise ValueRangeError(advice) from error
    if isinstance(result, float) and not isfinite(result):
        raise ValueRangeError(advice)
    return result


def _weighted(circuit: LogicCircuit, weights: Mapping[int, Number]) -> Number | int:
    totals = [weights.get(v, 1) + weights.get(-v, 1) for v in range(1, circuit.num_variables + 1)]
    scopes = circuit.scopes
    gaps: dict[int, Number | int] = {}

    def fill(missing: int) -> Number | int:
        """The weight of all assignments of these variables."""
        if missing not in gaps:
            product = 1
            for variable in scope_variables(missing):
                product = product * totals[variable - 1]
            gaps[missing] = product
        return gaps[missing]

    values: list[Number | int] = []
    for number, node in enumerate(circuit.nodes):
        value: Number | int = 1
        if node.kind is LogicKind.AND:
            for source in node.inputs:
                value = value * values[source]
        elif node.kind is LogicKind.OR:
            value = 0
            for source in node.inputs:
                value = value + values[source] * fill(scopes[number] & ~scopes[source])
        elif node.kind is LogicKind.LITERAL:
            value = weights.get(node.literal, 1)
        elif node.kind is LogicKind.FALSE:
            value = 0
        values.append(value)
    return values[-1] * fill(((1 << circuit.num_variables) - 1) & ~scopes[-1])


def check_weights(circuit: LogicCircuit, weights: Mapping[int, Number]) -> dict[int, Number]:
    """The weights as Python numbers, since NumPy's overflow.

    Raises: DataTypeError; ScopeError for an unknown literal; ValueRangeError for a weight that is not finite.
    """
    check_type("the circuit", circuit, LogicCircuit, READ_IT)
    check_type("the weights of literals", weights, Mapping)
    found: dict[int, Any] = {}
    for literal, weight in weights.items():
        number = _python_number(weight)
        if not is_integer(literal) or number is None:
            raise DataTypeError(
                f"weights are numbers by literal, such as {{3: 0.2, -3: 0.8}}; found {literal!r}: {weight!r}"
            )
        if not 1 <= abs(literal) <= circuit.num_variables:
            raise ScopeError(f"the weight of literal {literal}: variables are 1 to {circuit.num_variables}")
        if isinstance(number, float) and not isfinite(number):
            raise ValueRangeError(f"the weight of literal {literal} must be finite; found {weight}")
        found[int(literal)] = number
    return found


def _python_number(weight: object) -> int | Fraction | float | None:
    """The same number as an integer, a fraction or a float of Python; None if it is not a real number."""
    match weight:
        case Integral():
            return int(weight)
        case Rational():
            return Fraction(weight)
        case Real():
            return float(weight)
        case _:
            return None


def check_countable(circuit: LogicCircuit, assume_deterministic: bool, verb: str) -> None:
    """Raises: StructureError unless the circuit is decomposable and deterministic; `verb` says what for."""
    check_type("the circuit", circuit, LogicCircuit, READ_IT)
    if not circuit.is_decomposable:
        raise StructureError(f"the circuit is not decomposable: {circuit.is_decomposable.reason}")
    if not assume_deterministic and not circuit.is_deterministic:
        raise StructureError(
            f"the circuit is not known to be deterministic: {circuit.is_deterministic.reason}; "
            f"if you know that it is, {verb} with assume_deterministic=True"
        )
