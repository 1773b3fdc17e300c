"""Builds the probabilistic circuit of a logic circuit: its value is the weight of a model, and otherwise 0.

Models are counted: exactly, with Python integers, or weighted, with any numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from numbers import Integral, Rational, Real
from typing import Any, TypeVar

import numpy as np

from explorer.errors import DataTypeError, ScopeError, ShapeError, StructureError, ValueRangeError, check_type
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    HadamardParameter,
    ParameterNode,
    constant,
)
from explorer.symbolic.checks import is_integer
from explorer.templates.inputs import ParameterFactory
from explorer.templates.logic.logic_builder import smooth
from explorer.templates.logic.logic_circuit import READ_IT, LogicCircuit, LogicKind, LogicNode, scope_variables

Number = TypeVar("Number", int, float, Fraction)


def build_circuit(
    circuit: LogicCircuit,
    *,
    weights: Mapping[int, float] | None = None,
    literal_param: ParameterFactory | None = None,
    sum_param: ParameterFactory | None = None,
    assume_deterministic: bool = False,
) -> Circuit:
    """Build the circuit over all variables, smooth, with one layer of one unit per node; variable v of the file is v-1.

    A literal is an embedding layer that is zero at the other value. By default literals and sums have weight 1, so that
    the value is 1 at models and 0 elsewhere, and the sum over all assignments is the model count.

    `weights` fixes weights of literals, as in `weighted_count`. `literal_param` makes, for each variable, a learned
    table (1, 2) of the weights of not v and v. `sum_param` makes the weight (1, H) of each disjunction; with a
    softmax, the circuit is a learned distribution over the models.

    The formula must be decomposable. Unless sums are learned, it must be deterministic, too: otherwise a model would
    have its weight several times. `assume_deterministic` skips that check, as in `count_models`.
    Raises: StructureError with the node at fault; ShapeError for both `weights` and `literal_param`; ScopeError,
    ValueRangeError for invalid weights.
    Source: Kisa et al. 2014, Probabilistic sentential decision diagrams (learned sums).

    >>> from explorer.templates.logic import LogicBuilder
    >>> b = LogicBuilder()
    >>> either = b.disjunction([b.literal(1), b.conjunction([b.literal(-1), b.literal(2)])])
    >>> build_circuit(b.build(either, num_variables=2))
    <Circuit: 8 layers, 2 variables, 1 output(s)>
    """
    if weights and literal_param is not None:
        raise ShapeError("the literals have either fixed weights or learned ones (literal_param); omit one")
    fixed = _as_floats(_check_weights(circuit, {} if weights is None else weights))
    _check_countable(circuit, assume_deterministic or sum_param is not None, "build it")
    formula = smooth(circuit)
    is_false = formula.root.kind is LogicKind.FALSE and formula.num_variables > 0
    if is_false:
        formula = smooth(LogicCircuit((LogicNode(LogicKind.TRUE),), circuit.num_variables))
    return _Assembly(formula, fixed, literal_param, sum_param).build(times_zero=is_false)


def _as_floats(weights: Mapping[int, float | Fraction]) -> dict[int, float]:
    """The same weights as floats. Raises: ValueRangeError for one that is too large."""
    found: dict[int, float] = {}
    for literal, weight in weights.items():
        try:
            found[literal] = float(weight)
        except OverflowError as error:
            raise ValueRangeError(f"the weight of literal {literal} is too large for a float") from error
    return found


@dataclass
class _Assembly:
    """The layers so far: the node of the logic circuit with number n has the layer ids[n]."""

    logic: LogicCircuit
    weights: Mapping[int, float]
    literal_param: ParameterFactory | None
    sum_param: ParameterFactory | None
    builder: CircuitBuilder = field(default_factory=CircuitBuilder)
    tables: dict[int, ParameterNode] = field(default_factory=dict[int, ParameterNode])

    def build(self, *, times_zero: bool) -> Circuit:
        """The circuit of the formula, or its product with zero: a formula that is false, over all variables."""
        ids: list[int] = []
        for node in self.logic.nodes:
            inputs = [ids[source] for source in node.inputs]
            if node.kind is LogicKind.AND:
                ids.append(self.builder.hadamard(*inputs))
            elif node.kind is LogicKind.OR:
                ids.append(self.builder.sum(*inputs, num_units=1, weight=self._sum_weight(len(inputs))))
            elif node.kind is LogicKind.LITERAL:
                ids.append(self.builder.add(self._literal(node)))
            else:
                ids.append(self._constant(float(node.kind is LogicKind.TRUE)))
        return self.builder.build(self.builder.hadamard(ids[-1], self._constant(0.0)) if times_zero else ids[-1])

    def _constant(self, value: float) -> int:
        return self.builder.add(ConstantValueLayer(num_output_units=1, value=constant(np.array([value]))))

    def _literal(self, node: LogicNode) -> EmbeddingLayer:
        variable, positive = abs(node.literal), node.literal > 0
        if self.literal_param is None:
            weight = self.weights.get(node.literal, 1.0)
            table = constant(np.array([[0.0, weight] if positive else [weight, 0.0]]))
        else:
            if variable not in self.tables:
                self.tables[variable] = self.literal_param((1, 2))
            mask = constant(np.array([[0.0, 1.0] if positive else [1.0, 0.0]]))
            table = HadamardParameter((mask, self.tables[variable]))
        return EmbeddingLayer(scope=(variable - 1,), num_output_units=1, num_states=2, weight=table)

    def _sum_weight(self, arity: int) -> ParameterNode:
        if self.sum_param is not None:
            return self.sum_param((1, arity))
        return constant(np.ones((1, arity)))


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
    _check_countable(circuit, assume_deterministic, "count")
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
    weights = _check_weights(circuit, weights)
    _check_countable(circuit, assume_deterministic, "count")
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


def _check_weights(circuit: LogicCircuit, weights: Mapping[int, Number]) -> dict[int, Number]:
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


def _check_countable(circuit: LogicCircuit, assume_deterministic: bool, verb: str) -> None:
    """Raises: StructureError unless the circuit is decomposable and deterministic; `verb` says what for."""
    check_type("the circuit", circuit, LogicCircuit, READ_IT)
    if not circuit.is_decomposable:
        raise StructureError(f"the circuit is not decomposable: {circuit.is_decomposable.reason}")
    if not assume_deterministic and not circuit.is_deterministic:
        raise StructureError(
            f"the circuit is not known to be deterministic: {circuit.is_deterministic.reason}; "
            f"if you know that it is, {verb} with assume_deterministic=True"
        )
