"""Builds the probabilistic circuit of a logic circuit: its value is the weight of a model, and otherwise 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    HadamardParameter,
    ParameterNode,
    constant,
)
from explorer.templates.inputs import ParameterFactory
from explorer.templates.logic.counting import check_countable, check_weights
from explorer.templates.logic.logic_builder import smooth
from explorer.templates.logic.logic_circuit import LogicCircuit, LogicKind, LogicNode


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
    fixed = _as_floats(check_weights(circuit, {} if weights is None else weights))
    check_countable(circuit, assume_deterministic or sum_param is not None, "build it")
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
