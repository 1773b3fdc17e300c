"""Determinism: shown from known zeros, never claimed for a sum with two nonzero terms, and otherwise with a reason."""

from itertools import product

import numpy as np
import pytest
from inline_snapshot import snapshot

from explorer.errors import StructureError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConjugateParameter,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    ExpParameter,
    HadamardParameter,
    InnerLayer,
    KroneckerIdentityParameter,
    KroneckerParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    RearrangeLayer,
    ReduceProductParameter,
    ReduceSumParameter,
    ReorderParameter,
    SquareParameter,
    SumLayer,
    SumParameter,
    TensorParameter,
    TriangleParameter,
    UnitKind,
    constant,
    exclusion,
    reads_of_units,
)
from explorer.symbolic.parameters import known_zeros
from tests.fuzzing import seeded
from tests.oracle import constant_leaf_values, layer_values, parameter_value
from tests.symbolic.building import chain, leaf


def literal(variable: int, *table: float) -> EmbeddingLayer:
    return EmbeddingLayer(scope=(variable,), num_output_units=1, num_states=len(table), weight=constant([table]))


def ones(*shape: int) -> TensorParameter:
    return constant(np.ones(shape))


def decision(low: tuple[float, ...], high: tuple[float, ...]) -> Circuit:
    """(x0 in low and x1) or (x0 in high and not x1), with learned weights."""
    b = CircuitBuilder()
    left = b.hadamard(b.add(literal(0, *low)), b.add(literal(1, 0, 1)))
    right = b.hadamard(b.add(literal(0, *high)), b.add(literal(1, 1, 1)))
    return b.build(b.sum(left, right, num_units=1, weight=leaf(1, 2)))


def test_a_decision_on_the_value_of_a_variable_is_deterministic():
    assert decision((1, 0), (0, 1)).is_deterministic
    assert decision((3, 0, 2), (0, 1, 0)).is_deterministic


def test_terms_that_overlap_are_named():
    finding = decision((1, 0, 1), (0, 1, 1)).is_deterministic
    assert finding.reason == snapshot("sum layer %6, unit 0: the terms %2 and %5 are not known to exclude each other")
    assert chain().is_deterministic.reason == snapshot(
        "sum layer %4, unit 0: the terms %2[0] and %2[1] are not known to exclude each other"
    )
    with pytest.raises(StructureError, match="not known to be deterministic: sum layer %4"):
        chain().require(deterministic=True)


def equal_or_different() -> tuple[CircuitBuilder, dict[str, int]]:
    """(x0 = x1) and x2, or (x0 != x1) and (x2 or not x2): no single variable decides."""
    b = CircuitBuilder()
    a, not_a, x, not_x = (b.add(literal(v, *table)) for v in (0, 1) for table in ((0, 1), (1, 0)))
    equal = b.sum(b.hadamard(a, x), b.hadamard(not_a, not_x), num_units=1, weight=ones(1, 2))
    differ = b.sum(b.hadamard(a, not_x), b.hadamard(not_a, x), num_units=1, weight=ones(1, 2))
    terms = b.hadamard(equal, b.add(literal(2, 0, 1))), b.hadamard(differ, b.add(literal(2, 1, 1)))
    return b, {"a": a, "equal": equal, "either": b.sum(*terms, num_units=1, weight=ones(1, 2))}


def test_primes_that_are_formulas_exclude_each_other():
    b, nodes = equal_or_different()
    assert b.build(nodes["either"]).is_deterministic
    assert not b.build(b.sum(nodes["equal"], nodes["a"], num_units=1, weight=ones(1, 2))).is_deterministic


def test_terms_with_a_fixed_weight_of_zero_do_not_count():
    b = CircuitBuilder()
    both = b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=TensorParameter((2, 2))))
    chosen = constant([[1.0, 0.0], [0.0, 2.0]])
    assert b.build(b.sum(both, num_units=2, weight=chosen)).is_deterministic
    learned = TensorParameter((2, 2), initializer=chosen.initializer)
    assert not b.build(b.sum(both, num_units=2, weight=learned)).is_deterministic


def test_a_learned_table_with_fixed_zeros_is_a_literal():
    b = CircuitBuilder()
    mask = constant([[0.0, 1.0], [1.0, 0.0]])
    weight = HadamardParameter((mask, leaf(2, 2)))
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=weight))
    assert b.build(b.sum(x, num_units=1, weight=leaf(1, 2))).is_deterministic


def test_a_kronecker_unit_is_empty_where_one_of_its_factors_is():
    b = CircuitBuilder()
    table = constant([[0.0, 1.0], [1.0, 0.0]])
    x, y = (b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=table)) for v in (0, 1))
    assert b.build(b.sum(b.kronecker(x, y), num_units=3, weight=leaf(3, 4))).is_deterministic


def test_categorical_and_constant_layers_are_empty_at_fixed_zeros():
    def circuit(**table) -> Circuit:
        b = CircuitBuilder()
        x = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, **table))
        return b.build(b.sum(x, num_units=1, weight=leaf(1, 2)))

    assert circuit(probs=constant([[0.0, 1.0], [1.0, 0.0]])).is_deterministic
    assert circuit(logits=constant([[-np.inf, 0.0], [0.0, -np.inf]])).is_deterministic
    assert not circuit(logits=constant([[0.0, 1.0], [1.0, 0.0]])).is_deterministic
    b = CircuitBuilder()
    none = b.add(ConstantValueLayer(num_output_units=1, value=constant([-np.inf]), log_space=True))
    some = b.add(ConstantValueLayer(num_output_units=1, value=constant([0.0]), log_space=True))
    assert b.build(b.sum(none, some, num_units=1, weight=leaf(1, 2))).is_deterministic
    assert not b.build(b.sum(some, some, num_units=1, weight=leaf(1, 2))).is_deterministic


def test_an_observed_literal_is_one_or_zero():
    b = CircuitBuilder()
    observed = [
        b.add(EvidenceLayer(num_output_units=1, layer=literal(0, *table), observation=constant([1])))
        for table in ((0, 1), (1, 0))
    ]
    assert b.build(b.sum(*observed, num_units=1, weight=leaf(1, 2))).is_deterministic


@pytest.mark.parametrize(("axes", "is_deterministic"), [((1, 0), True), ((0, -1), False)])
def test_rearranged_units_exclude_each_other_as_those_that_they_are(axes: tuple[int, int], is_deterministic: bool):
    """x[0] = [v is 0] and x[1] = [v is 1], in another order, and each twice."""
    b = CircuitBuilder()
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=constant([[1.0, 0], [0, 1]])))
    sizes = (2, 1) if is_deterministic else (2, 2)
    units = sizes[0] * sizes[1]
    rearranged = RearrangeLayer(num_input_units=2, num_output_units=units, sizes=sizes, axes=axes)
    circuit = b.build(b.sum(b.add(rearranged, [x]), num_units=1, weight=leaf(1, units)))
    assert bool(circuit.is_deterministic) is is_deterministic


def test_a_layer_without_a_rule_is_the_reason_until_it_has_one():
    class BareLayer(InnerLayer):
        pass

    b = CircuitBuilder()
    odd = b.add(BareLayer(num_input_units=1, num_output_units=1, arity=1), [b.add(literal(0, 0, 1))])
    assert b.build(odd).is_deterministic.reason == snapshot(
        "layer %1 (BareLayer): no rule says what its units read; add one with @reads_of_units.register for BareLayer"
    )

    @reads_of_units.register
    def reads(layer: BareLayer) -> tuple[UnitKind, list[list[tuple[int, int]]]]:
        return UnitKind.SUM, [[(0, 0)]]

    assert b.build(odd).is_deterministic


def test_a_search_that_takes_too_long_is_the_reason(monkeypatch):
    monkeypatch.setattr(exclusion, "MAX_COMPARED_UNIT_PAIRS", 4)
    b, nodes = equal_or_different()
    finding = b.build(nodes["either"]).is_deterministic
    assert not finding
    assert "are not shown to exclude each other by comparing 4 pairs" in finding.reason


def test_terms_that_read_different_values_of_a_variable_are_not_compared(monkeypatch):
    monkeypatch.setattr(exclusion, "MAX_COMPARED_UNIT_PAIRS", 0)
    b = CircuitBuilder()
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=9, num_states=9, weight=constant(np.eye(9))))
    below = b.hadamard(x, b.add(EmbeddingLayer(scope=(1,), num_output_units=9, num_states=2, weight=leaf(9, 2))))
    assert b.build(b.sum(below, num_units=1, weight=leaf(1, 9))).is_deterministic


def test_a_term_that_reads_a_variable_twice_stands_for_one_term_only():
    b = CircuitBuilder()
    a, not_a, x = b.add(literal(0, 0, 1, 0)), b.add(literal(0, 1, 0, 0)), b.add(literal(0, 0, 0, 1))
    terms = b.hadamard(a, not_a), x, b.hadamard(x, x)
    finding = b.build(b.sum(*terms, num_units=1, weight=leaf(1, 3))).is_deterministic
    assert not finding
    assert finding.reason.endswith("are not known to exclude each other")


@seeded(100)
def test_a_circuit_that_is_shown_to_be_deterministic_has_at_most_one_nonzero_term(seed):
    rng = np.random.default_rng(seed)
    b = CircuitBuilder()
    nodes = [
        b.add(
            EmbeddingLayer(
                scope=(variable,), num_output_units=2, num_states=3, weight=constant(rng.integers(0, 2, (2, 3)) * 1.0)
            )
        )
        for variable in (0, 0, 1, 1)
    ]
    for _ in range(4):
        chosen = [nodes[k] for k in rng.integers(0, len(nodes), 2)]
        if rng.random() < 0.5:
            nodes.append(b.hadamard(*chosen))
        else:
            nodes.append(b.sum(*chosen, num_units=2, weight=constant(rng.integers(0, 2, (2, 4)) * 1.0)))
    circuit = b.build(nodes[-1])
    x = np.array(list(product(range(3), range(3))))
    values = layer_values(circuit, constant_leaf_values(circuit), x)
    overlapping = False
    for node, layer in circuit.graph.nodes.items():
        if isinstance(layer, SumLayer):
            below = np.concatenate([values[source] for source in circuit.graph.inputs[node]], axis=1)
            terms = below[:, None, :] * parameter_value(layer.weight, constant_leaf_values(circuit))[None]
            overlapping |= bool(((terms != 0).sum(axis=-1) > 1).any())
    if circuit.is_deterministic:
        assert not overlapping


TABLES = np.array([[[0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]], [[2.0, 3.0], [5.0, 7.0]]])
A, B, FREE = constant(TABLES[0]), constant(TABLES[1]), TensorParameter((2, 2))


@pytest.mark.parametrize(
    "parameter",
    [
        *(kind((one, other)) for kind in (HadamardParameter, SumParameter, KroneckerParameter, OuterSumParameter)
          for one, other in [(A, B), (A, FREE), (FREE, B), (FREE, FREE)]),
        *(OuterProductParameter((one, other), axis=axis) for axis in (0, 1)
          for one, other in [(A, B), (A, FREE), (FREE, B)]),
        *(kind((x,)) for kind in (SquareParameter, ConjugateParameter, ExpParameter, MixingWeightParameter)
          for x in (B, FREE)),
        *(kind((x,), axis=axis) for kind in (ReduceSumParameter, ReduceProductParameter) for x in (B, FREE)
          for axis in (0, 1)),
        HadamardParameter((SumParameter((A, B)), FREE)),
        KroneckerIdentityParameter((A,), size=2),
        *(ReorderParameter((KroneckerParameter((A, B)),), sizes=(2, A.shape[axis] * B.shape[axis] // 2), order=(1, 0),
                           axis=axis) for axis in (0, 1)),
        *(TriangleParameter((KroneckerParameter((A, B)),), size=B.shape[1], axis=1, add=add) for add in (True, False)),
    ],
    ids=repr,
)  # fmt: skip
def test_known_zeros_are_those_of_the_value_where_free_leaves_are_positive(parameter):
    values = parameter_value(parameter, dict(zip((A, B, FREE), TABLES, strict=True)))
    zeros = known_zeros(parameter)
    np.testing.assert_array_equal(np.zeros(values.shape, bool) if zeros is None else zeros, values == 0)
