"""`plan_read`: the slices of the table are read by the cheapest kind of read; an identity never copies."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from explorer.backend import IndexTable, Read, ReadKind, count_copied_slices, direct_read, plan_read
from explorer.templates import load_named
from tests.fuzzing import examples
from tests.levels.modes import compile_circuit


def table_of(rows: Sequence[Sequence[tuple[int, int]]]) -> IndexTable:
    """A table (F, H, 2) of (node, slice)."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1, 2)


def from_one(rows: Sequence[Sequence[int]]) -> IndexTable:
    """A table that reads these slices of node 7."""
    return table_of([[(7, s) for s in row] for row in rows])


def values_of(folds_of: Mapping[int, int]) -> dict[int, Tensor]:
    """A value (folds, 2, 3) for each node; every slice of every node has distinct numbers."""
    counts = torch.cumsum(torch.tensor([0, *folds_of.values()]), 0).tolist()
    whole = torch.arange(counts[-1] * 6.0).reshape(-1, 2, 3)
    return {node: whole[counts[i] : counts[i + 1]] for i, node in enumerate(folds_of)}


def read(plan: Read, values: Mapping[int, Tensor]) -> Tensor:
    index = None if plan.index is None else torch.from_numpy(plan.index)
    return plan([values[source] for source in plan.sources], index)


def index_plainly(table: IndexTable, values: Mapping[int, Tensor]) -> Tensor:
    """The slices of the table: [f, h] is slice `table[f, h, 1]` of node `table[f, h, 0]`."""
    return torch.stack([torch.stack([values[int(node)][int(s)] for node, s in row]) for row in table])


@st.composite
def tables(draw: st.DrawFn) -> tuple[IndexTable, dict[int, int]]:
    """Any table over one to four nodes; often regular, so that every kind of read occurs."""
    nodes = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4, unique=True))
    folds_of = {node: draw(st.integers(1, 12)) for node in nodes}
    num_folds, arity = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    if draw(st.booleans()):
        pairs = [(node, s) for node in nodes for s in range(folds_of[node])]
        rows = [[draw(st.sampled_from(pairs)) for _ in range(arity)] for _ in range(num_folds)]
        return table_of(rows), folds_of
    by_fold, by_input, start = (draw(st.integers(0, n)) for n in (4, 5, 2))
    node_of_column = [draw(st.sampled_from(nodes)) for _ in range(arity)]
    slices = start + by_fold * np.arange(num_folds)[:, None] + by_input * np.arange(arity)[None, :]
    for node in nodes:
        folds_of[node] = max(folds_of[node], int(slices.max()) + 1)
    if draw(st.booleans()):
        node_of_column = [node_of_column[0]] * arity
        folds_of[node_of_column[0]] = int(slices.max()) + 1
    return np.stack([np.broadcast_to(node_of_column, slices.shape), slices], axis=2).astype(np.int64), folds_of


@examples(300)
@given(tables())
def test_a_planned_read_equals_plain_indexing(case: tuple[IndexTable, dict[int, int]]):
    table, folds_of = case
    plan = plan_read(table, folds_of)
    values = values_of(folds_of)
    found = read(plan, values)
    assert torch.equal(found, index_plainly(table, values))
    assert set(plan.sources) == set(table[:, :, 0].ravel().tolist())
    assert (plan.index is not None) == (plan.kind in (ReadKind.GATHER, ReadKind.CAT_GATHER))
    assert plan.kind.copies == (plan.rows_copied > 0)
    if not plan.kind.copies:
        assert found.untyped_storage().data_ptr() == values[plan.sources[0]].untyped_storage().data_ptr()


@examples(100)
@given(tables())
def test_a_read_of_all_slices_in_order_is_a_view(case: tuple[IndexTable, dict[int, int]]):
    table, _ = case
    num_folds, arity, _ = table.shape
    for column_major in (False, True):
        slices = np.arange(num_folds * arity).reshape((arity, num_folds) if column_major else (num_folds, arity))
        plan = plan_read(from_one((slices.T if column_major else slices).tolist()), {7: num_folds * arity})
        assert plan.index is None
        assert not plan.kind.copies


KNOWN = {
    "identity, one input": (from_one([[0], [1], [2]]), {7: 3}, ReadKind.VIEW),
    "identity, two inputs": (from_one([[0, 1], [2, 3], [4, 5]]), {7: 6}, ReadKind.VIEW),
    "identity, one fold": (from_one([[0, 1, 2]]), {7: 3}, ReadKind.VIEW),
    "identity, one of one": (from_one([[0]]), {7: 1}, ReadKind.VIEW),
    "the middle": (from_one([[1, 2], [3, 4]]), {7: 6}, ReadKind.SLICE),
    "one of three": (from_one([[2]]), {7: 3}, ReadKind.SLICE),
    "every second": (from_one([[0], [2], [4]]), {7: 6}, ReadKind.SLICE),
    "every second, by pairs": (from_one([[1, 3], [5, 7]]), {7: 8}, ReadKind.SLICE),
    "columns after one another": (from_one([[0, 2], [1, 3]]), {7: 4}, ReadKind.TRANSPOSE),
    "columns after one another, a part": (from_one([[1, 4], [2, 5], [3, 6]]), {7: 9}, ReadKind.TRANSPOSE),
    "one slice for all folds": (from_one([[1], [1], [1]]), {7: 2}, ReadKind.EXPAND),
    "one slice for all": (from_one([[0, 0], [0, 0]]), {7: 1}, ReadKind.EXPAND),
    "the same row for all folds": (from_one([[0, 1, 2], [0, 1, 2]]), {7: 3}, ReadKind.EXPAND),
    "the same row, as many folds as inputs": (from_one([[0, 1], [0, 1]]), {7: 2}, ReadKind.EXPAND),
    "each fold one slice twice": (from_one([[0, 0], [1, 1]]), {7: 2}, ReadKind.EXPAND),
    "backwards": (from_one([[2], [1], [0]]), {7: 3}, ReadKind.GATHER),
    "overlapping windows": (from_one([[0, 1], [1, 2]]), {7: 3}, ReadKind.GATHER),
    "any order": (from_one([[0, 3], [1, 0]]), {7: 4}, ReadKind.GATHER),
    "two nodes, whole": (table_of([[(3, 0), (5, 0)]]), {3: 1, 5: 1}, ReadKind.CAT),
    "two nodes, a column each": (table_of([[(3, 0), (5, 2)], [(3, 1), (5, 3)]]), {3: 2, 5: 4}, ReadKind.CAT),
    "two nodes, folds after one another": (table_of([[(3, 0)], [(3, 1)], [(5, 0)]]), {3: 2, 5: 1}, ReadKind.CAT),
    "two nodes, any order": (
        table_of([[(3, 1), (5, 0)], [(5, 2), (3, 1)], [(3, 1), (5, 1)]]),
        {3: 2, 5: 3},
        ReadKind.CAT_GATHER,
    ),
}


@pytest.mark.parametrize(("table", "folds_of", "kind"), KNOWN.values(), ids=KNOWN)
def test_each_regular_order_has_its_kind_of_read(table: IndexTable, folds_of: dict[int, int], kind: ReadKind):
    plan = plan_read(table, folds_of)
    values = values_of(folds_of)
    found = read(plan, values)
    assert plan.kind is kind
    assert torch.equal(found, index_plainly(table, values))
    source = values[plan.sources[0]]
    shares = found.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
    assert shares is not kind.copies
    if kind is ReadKind.VIEW:
        assert found.data_ptr() == source.data_ptr()


def test_gather_and_concatenation_count_the_slices_that_they_copy():
    def copied(name: str) -> int:
        table, folds_of, _ = KNOWN[name]
        return plan_read(table, folds_of).rows_copied

    assert copied("identity, two inputs") == copied("columns after one another") == copied("one slice for all") == 0
    assert copied("any order") == 4
    assert copied("two nodes, a column each") == 4
    assert copied("two nodes, any order") == 5 + 6


@examples(300)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11)), min_size=1, max_size=24))
def test_slices_copied_for_one_fold_are_counted_without_a_plan(places: list[tuple[int, int]]):
    folds_of = dict.fromkeys(range(4), 12)
    assert count_copied_slices(places, folds_of) == plan_read(table_of([places]), folds_of).rows_copied
    alone = [(node, 0) for node, _ in places]
    assert count_copied_slices(alone, {}) == plan_read(table_of([alone]), dict.fromkeys(range(4), 1)).rows_copied


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_an_unfolded_layer_reads_its_inputs_in_order(sources: list[int]):
    plan = direct_read(sources)
    values = values_of(dict.fromkeys(range(4), 1))
    assert torch.equal(read(plan, values), torch.stack([values[source][0] for source in sources])[None])


@pytest.mark.parametrize("name", ["digits", "hmm", "levels"])
@pytest.mark.parametrize("preset", ["default", "handbook"])
def test_no_layer_or_parameter_of_a_circuit_is_read_by_an_identity_gather(name: str, preset: str):
    circuit = compile_circuit(load_named(name), preset=preset)
    for node in circuit.graph.nodes:
        plan = circuit.reads(node)
        if plan is not None and plan.index is not None:
            assert plan.index.tolist() != list(range(len(plan.index))), f"layer {node}"
    for name, index in circuit.named_buffers():
        if name.startswith("index_"):  # those of the parameters too
            assert index.tolist() != list(range(len(index))), name
