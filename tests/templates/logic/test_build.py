"""The circuit of a formula: 1 at models and 0 elsewhere, with weights or learned, in every mode."""

from itertools import permutations

import numpy as np
import pytest
import torch

from explorer.errors import ScopeError, ShapeError, StructureError
from explorer.symbolic import HadamardLayer, Parameterization, SumLayer
from explorer.templates import gallery
from explorer.templates.gallery.named_circuits import SEATING
from explorer.templates.logic import (
    LogicBuilder,
    LogicCircuit,
    LogicKind,
    LogicNode,
    build_circuit,
    count_models,
    prune,
    read_logic,
    smooth,
    weighted_count,
)
from tests.fuzzing import seeded
from tests.levels.modes import MODE_IDS, MODES, compile_circuit, output
from tests.oracle import constant_leaf_values, evaluate
from tests.templates.logic.compiling import all_assignments, models, random_clauses, sdd_text, search


@seeded(30)
def test_the_circuit_is_one_at_models_and_its_sum_is_the_count(seed):
    rng = np.random.default_rng(seed)
    num_variables = int(rng.integers(1, 6))
    clauses = random_clauses(rng, num_variables)
    logic, wanted = search(clauses, num_variables), models(clauses, num_variables)
    circuit = build_circuit(logic)
    assert circuit.is_smooth
    assert circuit.is_decomposable
    assert circuit.is_deterministic
    x = all_assignments(num_variables).astype(np.int64)
    assert circuit.scope == tuple(range(num_variables))
    values = evaluate(circuit, constant_leaf_values(circuit), x)[:, 0, 0]
    np.testing.assert_array_equal(values, wanted)
    weights = {v: float(rng.integers(1, 5)) for v in range(-num_variables, num_variables + 1) if v}
    weighted = build_circuit(logic, weights=weights)
    values = evaluate(weighted, constant_leaf_values(weighted), x)
    assert values.sum() == weighted_count(logic, weights)


@seeded(60)
def test_the_circuit_of_a_diagram_is_shown_deterministic_for_every_vtree(seed, tmp_path):
    """Smoothing and pruning change the products that exclude each other: some are then of different vtree nodes."""
    rng = np.random.default_rng(seed)
    num_variables = int(rng.integers(4, 9))
    clauses = random_clauses(rng, num_variables)
    wanted = models(clauses, num_variables)
    (path := tmp_path / "formula.sdd").write_text(sdd_text(wanted, num_variables, rng)[0])
    logic = read_logic(path, num_variables=num_variables)
    for form in (logic, prune(logic), smooth(logic)):
        assert form.is_deterministic, form.is_deterministic.reason
    circuit = build_circuit(logic)
    assert circuit.is_deterministic, circuit.is_deterministic.reason
    assert count_models(logic) == wanted.sum()


DIAGRAM = """\
sdd 17
L 2 0 5
L 3 2 -3
L 4 0 -5
F 5
D 1 1 2 2 3 4 5
L 7 4 1
L 9 6 4
L 10 8 -2
L 11 6 -4
D 8 7 2 9 10 11 5
L 12 4 -1
D 6 5 2 7 8 12 5
L 14 2 3
D 13 1 2 4 3 2 14
D 15 5 2 7 9 12 5
D 16 1 2 4 14 2 5
D 0 3 3 1 6 13 15 16 9
"""
"""A diagram of the SDD package for the vtree ((5 3) (1 (4 2)))."""


def test_a_diagram_stays_deterministic_when_it_is_smoothed(tmp_path):
    """Once a sub is constant, products of different vtree nodes must exclude each other."""
    (path := tmp_path / "formula.sdd").write_text(DIAGRAM)
    logic = read_logic(path)
    assert count_models(logic) == logic.evaluate(all_assignments(5)).sum() == 9
    for form in (logic, prune(logic), smooth(logic), build_circuit(logic)):
        assert form.is_deterministic, form.is_deterministic.reason


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_every_mode_gives_the_same_models(mode):
    clauses = [(1, -2, 3), (-1, 4), (2, -3, 5)]
    x = all_assignments(5).astype(np.int64)
    compiled = compile_circuit(build_circuit(search(clauses, 5)), **mode)
    values = np.exp(output(compiled, x))[:, 0, 0]
    np.testing.assert_allclose(values, models(clauses, 5), rtol=1e-12)
    linear = compile_circuit(build_circuit(search(clauses, 5)), "sum-product", **mode)
    np.testing.assert_array_equal(output(linear, x)[:, 0, 0], models(clauses, 5))


def test_a_constant_formula_has_a_circuit():
    b = LogicBuilder()
    x = all_assignments(3).astype(np.int64)
    for node, value in ((b.false(), 0.0), (b.true(), 1.0)):
        circuit = build_circuit(b.build(node, num_variables=3))
        assert circuit.scope == (0, 1, 2)
        np.testing.assert_array_equal(evaluate(circuit, constant_leaf_values(circuit), x), np.full((8, 1, 1), value))
        alone = build_circuit(b.build(node, num_variables=0))
        assert [len(alone.layers), evaluate(alone, constant_leaf_values(alone), None).item()] == [1, value]


def test_learned_sums_are_a_distribution_over_the_models_and_have_finite_gradients():
    seating = read_logic(SEATING)
    circuit = build_circuit(seating, sum_param=Parameterization("softmax"))
    assert circuit.is_deterministic
    compiled = compile_circuit(circuit)
    x = torch.from_numpy(_seatings())
    values = compiled(x)
    torch.testing.assert_close(values.exp().sum(), torch.tensor(1.0, dtype=values.dtype))
    (-values.mean()).backward()
    gradients = [parameter.grad for parameter in compiled.parameters() if parameter.requires_grad]
    assert gradients
    assert all(gradient is not None and torch.isfinite(gradient).all() for gradient in gradients)


def test_learned_literals_stay_zero_at_the_other_value():
    b = LogicBuilder()
    logic = b.build(b.disjunction([b.conjunction([b.literal(1), b.literal(-2)]), b.literal(-1)]), num_variables=2)
    circuit = build_circuit(logic, literal_param=Parameterization("softmax"))
    assert circuit.is_deterministic
    assert len(circuit.leaf_names) == 2 + 4 + 2, "one table per variable; a mask per literal; the sums"
    compiled = compile_circuit(circuit)
    values = np.exp(output(compiled, all_assignments(2).astype(np.int64)))[:, 0, 0]
    assert values[3] == 0
    assert (values[:3] > 0).all()
    assert values.sum() < 1


def test_weights_are_checked():
    b = LogicBuilder()
    logic = b.build(b.literal(1), num_variables=1)
    with pytest.raises(ScopeError, match="literal 2"):
        build_circuit(logic, weights={2: 1.0})
    with pytest.raises(ShapeError, match="either fixed weights or learned ones"):
        build_circuit(logic, weights={1: 2.0}, literal_param=Parameterization("softmax"))


def test_a_formula_whose_models_would_count_twice_is_refused():
    b = LogicBuilder()
    either = b.build(b.disjunction([b.literal(1), b.literal(2)]), num_variables=2)
    with pytest.raises(StructureError, match=r"inputs 0 and 1 are not known to exclude each other; .* build it with"):
        build_circuit(either, weights={1: 2.0})
    assert not build_circuit(either, sum_param=Parameterization("softmax")).is_deterministic
    assert not build_circuit(either, assume_deterministic=True).is_deterministic
    twice = LogicCircuit((LogicNode(LogicKind.LITERAL, (), 1), LogicNode(LogicKind.AND, (0, 0))), num_variables=1)
    with pytest.raises(StructureError, match=r"not decomposable: AND node 1: its inputs share variables \[1\]"):
        build_circuit(twice, sum_param=Parameterization("softmax"))


def test_the_seating_of_the_gallery_has_one_guest_per_seat():
    seating = read_logic(SEATING)
    assert count_models(seating) == 24
    x = _seatings()
    assert seating.evaluate(x.astype(bool)).all()
    circuit = gallery.load_named("logic")
    assert circuit.is_deterministic
    kinds = [node.kind for node in seating.nodes]
    assert len(compile_circuit(circuit).layers) == 8, "literals, and then products and sums of each guest are folded"
    counts = [sum(isinstance(layer, kind) for layer in circuit.layers) for kind in (HadamardLayer, SumLayer)]
    assert counts == [kinds.count(LogicKind.AND), kinds.count(LogicKind.OR)]


def _seatings() -> np.ndarray:
    """The 24 ways to seat four guests: rows (24, 16), guest g on seat s is column 4g + s."""
    return np.array([np.eye(4, dtype=np.int64)[list(seats)].reshape(-1) for seats in permutations(range(4))])
