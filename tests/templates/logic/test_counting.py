"""Random formulas: every file format, pruning, smoothing, counts and circuits agree with all assignments."""

import re
from fractions import Fraction
from math import prod
from typing import Any, cast

import numpy as np
import pytest

from explorer.errors import (
    CycleError,
    DataTypeError,
    GraphError,
    ScopeError,
    ShapeError,
    StructureError,
    ValueRangeError,
)
from explorer.templates.logic import (
    LogicBuilder,
    LogicCircuit,
    LogicKind,
    LogicNode,
    build_circuit,
    count_models,
    prune,
    read_logic,
    read_vtree,
    smooth,
    weighted_count,
)
from tests.fuzzing import seeded
from tests.templates.logic.compiling import all_assignments, c2d_text, d4_text, models, random_clauses, sdd_text, search


@seeded(100)
def test_a_compiled_formula_has_the_models_and_counts_of_all_assignments(seed):
    rng = np.random.default_rng(seed)
    num_variables = int(rng.integers(1, 7))
    clauses = random_clauses(rng, num_variables)
    circuit, wanted = search(clauses, num_variables), models(clauses, num_variables)
    x = all_assignments(num_variables)
    weights = {v: Fraction(int(rng.integers(-3, 4)), 3) for v in range(-num_variables, num_variables + 1) if v}
    weighted = sum(
        (prod(weights[v + 1 if bit else -v - 1] for v, bit in enumerate(row)) for row in x[wanted]), Fraction(0)
    )
    for form in (circuit, prune(circuit), smooth(circuit)):
        np.testing.assert_array_equal(form.evaluate(x), wanted)
        assert form.is_decomposable
        assert form.is_deterministic, form.is_deterministic.reason
        assert count_models(form) == wanted.sum()
        assert weighted_count(form, weights) == weighted
    filled = smooth(circuit)
    assert filled.is_smooth
    assert filled.scopes[-1] == (2**num_variables - 1 if wanted.any() else 0)


@seeded(60)
def test_every_file_format_holds_the_same_formula(seed, tmp_path):
    rng = np.random.default_rng(seed)
    num_variables = int(rng.integers(1, 7))
    clauses = random_clauses(rng, num_variables)
    circuit, wanted = search(clauses, num_variables), models(clauses, num_variables)
    sdd, vtree = sdd_text(wanted, num_variables)
    texts = {"a.nnf": c2d_text(circuit), "b.nnf": d4_text(circuit), "c.sdd": sdd, "c.vtree": vtree}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"c a comment\n{text}")
    found = [read_logic(tmp_path / name, num_variables=num_variables) for name in list(texts)[:3]]
    found.append(read_logic(tmp_path / "c.sdd", read_vtree(tmp_path / "c.vtree")))
    for read in found:
        np.testing.assert_array_equal(read.evaluate(all_assignments(num_variables)), wanted)
        assert read.is_deterministic, read.is_deterministic.reason
        assert count_models(read) == wanted.sum()


def test_counts_are_exact_beyond_floats():
    b = LogicBuilder()
    clause = b.disjunction([b.literal(1), b.conjunction([b.literal(-1), b.literal(2)])])
    circuit = b.build(clause, num_variables=200)
    assert count_models(circuit) == 3 * 2**198
    assert weighted_count(circuit, {1: 1}) == 3 * 2**198
    with pytest.raises(ValueRangeError, match="too large for a float"):
        weighted_count(circuit, dict.fromkeys([*range(1, 201), *range(-200, 0)], 1e300))
    with pytest.raises(ValueRangeError, match="too large for a float"):
        weighted_count(b.build(clause, num_variables=3000), {1: 0.5})


def test_constants_and_formulas_over_no_variables_are_counted():
    b = LogicBuilder()
    assert count_models(b.build(b.true(), num_variables=0)) == 1
    assert count_models(b.build(b.true(), num_variables=3)) == 8
    assert count_models(b.build(b.false(), num_variables=3)) == 0
    assert count_models(smooth(b.build(b.true(), num_variables=3))) == 8


def test_a_formula_that_is_not_deterministic_or_not_decomposable_is_not_counted():
    b = LogicBuilder()
    overlap = b.build(b.disjunction([b.literal(1), b.literal(2)]), num_variables=2)
    with pytest.raises(StructureError, match="OR node 2: its inputs 0 and 1 are not known to exclude each other"):
        count_models(overlap)
    with pytest.raises(StructureError, match="not known to be deterministic"):
        weighted_count(overlap, {})
    shared = b.build(b.conjunction([b.literal(1), b.disjunction([b.literal(1), b.literal(-1)])]), num_variables=1)
    with pytest.raises(StructureError, match=r"AND node 3: its inputs share variables \[1\]"):
        count_models(shared)


def test_a_diagram_is_counted_however_many_pairs_of_primes_it_has(monkeypatch, tmp_path):
    """Its primes are a partition, which one pass shows; comparisons are not needed."""
    monkeypatch.setattr("explorer.symbolic.exclusion.MAX_COMPARED_UNIT_PAIRS", 0)
    rng = np.random.default_rng(0)
    wanted = rng.random(2**8) < 0.5
    (path := tmp_path / "formula.sdd").write_text(sdd_text(wanted, 8, rng)[0])
    assert count_models(read_logic(path)) == wanted.sum()


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        ("D 7 3 2 1 4 2 5", "OR node 7: its inputs 7 (element 1) and 7 (element 2) are not known"),  # 1 and 2: both
        ("D 6 3 2 1 4 3 4\nD 7 3 2 6 2 1 5", "OR node 7: its inputs 7 (element 1) and 7 (element 2) are not known"),
    ],
)
def test_a_file_whose_primes_overlap_is_refused_with_the_names_of_the_file(decision, reason, tmp_path):
    nodes = ["L 1 0 1", "L 2 1 2", "L 3 0 -1", "L 4 2 3", "L 5 2 -4", *decision.split("\n")]
    (path := tmp_path / "wrong.sdd").write_text("\n".join([f"sdd {len(nodes)}", *nodes]) + "\n")
    with pytest.raises(StructureError, match=re.escape(reason)):
        count_models(read_logic(path))


def test_messages_name_the_nodes_of_a_file_of_d4(tmp_path):
    (path := tmp_path / "overlap.nnf").write_text("o 1 0\nt 2 0\n1 2 1 0\n1 2 2 3 0\n")
    reason = "OR node 1: its inputs 1 (arc to 2) and 1 (arc to 2) are not known to exclude each other"
    with pytest.raises(StructureError, match=re.escape(reason)):
        count_models(read_logic(path))


def test_determinism_can_be_assumed_where_it_is_known():
    b = LogicBuilder()
    overlap = b.build(b.disjunction([b.literal(1), b.literal(2)]), num_variables=2)
    assert count_models(overlap, assume_deterministic=True) == 4, "the wrong count of a wrong assumption"


def test_weights_must_be_finite_and_of_existing_literals():
    b = LogicBuilder()
    circuit = b.build(b.literal(1), num_variables=1)
    with pytest.raises(ScopeError, match="literal 2: variables are 1 to 1"):
        weighted_count(circuit, {2: 1.0})
    with pytest.raises(ValueRangeError, match="must be finite; found nan"):
        weighted_count(circuit, {1: float("nan")})


def test_numbers_of_numpy_do_not_overflow():
    numbers: Any = np.arange(1, 71)
    large: Any = np.int64(2**40)
    half: Any = np.float16(300)
    b = LogicBuilder()
    circuit = b.build(b.conjunction([b.literal(v) for v in numbers[60:]]), num_variables=large >> 33)
    assert count_models(circuit) == 2**118
    assert weighted_count(circuit, {int(v): large for v in numbers[60:]}) == 2**400 * 2**118
    assert weighted_count(circuit, {61: half, 62: half}) == 90_000 * 2.0**118
    assert count_models(LogicCircuit((LogicNode(LogicKind.LITERAL, (), numbers[69]),), 70)) == 2**69


@pytest.mark.parametrize("weight", [None, 1j, np.ones(2), "1"])
def test_weights_that_are_not_real_numbers_are_refused(weight: Any):
    b = LogicBuilder()
    circuit = b.build(b.literal(1), num_variables=1)
    for action in (weighted_count, lambda c, w: build_circuit(c, weights=w)):
        with pytest.raises(DataTypeError, match="weights are numbers by literal"):
            action(circuit, {1: weight})


def test_an_assignment_is_of_zeros_and_ones():
    b = LogicBuilder()
    circuit = b.build(b.literal(1), num_variables=1)
    assert circuit.evaluate(np.array([[0.0], [1.0]])).tolist() == [False, True]
    for number in (-1, 2, np.nan):
        with pytest.raises(ValueRangeError, match="true or false, 1 or 0"):
            circuit.evaluate(np.array([[number]]))


def test_what_is_no_logic_circuit_is_a_typed_error():
    path: Any = "formula.sdd"
    for action in (count_models, smooth, prune, build_circuit):
        with pytest.raises(DataTypeError, match="must be of type LogicCircuit; found str; read a file with read_logic"):
            action(path)
    circuit = LogicBuilder()
    with pytest.raises(DataTypeError, match=r"weights are numbers by literal, .* found 'formula.sdd': 1"):
        weighted_count(circuit.build(circuit.literal(1), num_variables=1), {path: 1})


def test_a_deep_formula_needs_no_recursion():
    b = LogicBuilder()
    depth = 1500
    node = b.true()
    for v in range(1, depth + 1):
        node = b.disjunction([b.literal(-v), b.conjunction([b.literal(v), node])])
    circuit = b.build(node, num_variables=depth)
    assert count_models(circuit) == 2**depth
    assert smooth(circuit).is_smooth
    assert circuit.evaluate(np.ones((1, depth), dtype=bool)).all()


def test_the_builder_simplifies():
    b = LogicBuilder()
    x, y = b.literal(1), b.literal(2)
    assert b.literal(1) == x
    assert b.conjunction([x, b.true(), x]) == x
    assert b.conjunction([x, b.false()]) == b.false()
    assert b.disjunction([x, b.true()]) == b.true()
    assert b.disjunction([b.false(), y]) == y
    assert b.conjunction([]) == b.true()
    assert b.disjunction([]) == b.false()
    with pytest.raises(GraphError, match="unknown node 99"):
        b.conjunction([99])


def test_pruning_removes_constants_repeated_nodes_and_dead_nodes():
    kinds = LogicKind
    circuit = LogicCircuit(
        (
            LogicNode(kinds.LITERAL, (), 1),
            LogicNode(kinds.TRUE),
            LogicNode(kinds.LITERAL, (), 2),
            LogicNode(kinds.AND, (0, 1)),
            LogicNode(kinds.LITERAL, (), 1),
            LogicNode(kinds.OR, (4,)),
            LogicNode(kinds.FALSE),
            LogicNode(kinds.OR, (3, 5, 6)),
        ),
        num_variables=2,
    )
    assert prune(circuit).nodes == (LogicNode(kinds.LITERAL, (), 1),)


def test_a_malformed_circuit_is_refused():
    literal = LogicNode(LogicKind.LITERAL, (), 1)
    with pytest.raises(StructureError, match="at least one node"):
        LogicCircuit((), 1)
    for number in (1.5, "1", True):
        with pytest.raises(DataTypeError, match="a literal must be an integer"):
            LogicCircuit((LogicNode(LogicKind.LITERAL, (), cast("int", number)),), 2)
    with pytest.raises(CycleError, match="node 1 reads node 1, which does not come before it"):
        LogicCircuit((literal, LogicNode(LogicKind.AND, (1,))), 1)
    with pytest.raises(GraphError, match="reads node 7, which does not exist"):
        LogicCircuit((literal, LogicNode(LogicKind.AND, (7,))), 1)
    with pytest.raises(ScopeError, match="node 0 is the literal 1; variables are 1 to 0"):
        LogicCircuit((literal,), 0)
    with pytest.raises(ShapeError, match=r"node 1 \(literal\) reads no nodes"):
        LogicCircuit((literal, LogicNode(LogicKind.LITERAL, (0,), 1)), 1)
    with pytest.raises(ValueRangeError, match="num_variables must be from 0"):
        LogicCircuit((literal,), -1)
    with pytest.raises(ShapeError, match=r"must have shape \(B, 1\); found \(2, 3\)"):
        LogicCircuit((literal,), 1).evaluate(np.zeros((2, 3), dtype=bool))
