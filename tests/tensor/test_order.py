"""Labels that detect cycles in advance: an edge against the order visits the applications between its ends once."""

import pytest
import torch
from hypothesis import given, strategies as st

from explorer.errors import CycleError
from explorer.tensor import FunctionGraph, Op, doubles
from explorer.tensor.ir.scalars import add, mul
from tests.fuzzing import examples

neg = Op.of(torch.ops.aten.neg.default)


class Counting(dict):
    """Counts how often something is looked up."""

    count = 0

    def __getitem__(self, key):
        self.count += 1
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.count += 1
        return super().get(key, default)


def looked_up(graph, changes):
    """Count the labels looked up while the readers of some variables get others."""
    graph.order._label = counting = Counting(graph.order._label)
    for node, index, new in changes:
        graph.change_node_input(node, index, new)
    assert_in_order(graph)
    return counting.count


def assert_in_order(graph):
    """Each application is after all that it reads, and no two have the same label."""
    labels = graph.order._label
    assert set(labels) == set(graph.nodes)
    assert len(set(labels.values())) == len(labels)
    for node in graph.nodes:
        for source in node.inputs:
            if source.owner is not None:
                assert labels[source.owner] < labels[node]
                assert graph.order.label(source.owner) <= graph.order.label(node)


def skip_blocks(count, all_read_first=False):
    """A chain of sums of a product and the input of the block, or the first one; and an independent late value."""
    x, z = doubles("x z")
    first = block = mul(x, x)
    for _ in range(count):
        block = add(mul(block, block), first if all_read_first else block)
    graph = FunctionGraph([x, z], [block, mul(z, z)])
    early = next(node for node in graph.nodes if node.inputs[0] is graph.inputs[0]).outputs[0]
    return graph, early


def test_a_late_value_for_an_early_one_looks_at_each_block_once():
    counts = []
    for count in (50, 100, 200):
        graph, early = skip_blocks(count)
        counts.append(looked_up(graph, [(*client, graph.outputs[1]) for client in tuple(early.clients)]))
    assert counts[2] - counts[1] <= 2.5 * (counts[1] - counts[0])
    assert counts[2] < 12 * 2 * 200


@pytest.mark.parametrize("step", [1, -1])
def test_a_late_value_for_one_that_all_blocks_read_looks_at_each_block_once(step):
    counts = []
    for count in (50, 100, 200):
        graph, early = skip_blocks(count, all_read_first=True)
        counts.append(looked_up(graph, [(*client, graph.outputs[1]) for client in tuple(early.clients)[::step]]))
    assert counts[2] - counts[1] <= 2.5 * (counts[1] - counts[0])
    assert counts[2] < 20 * 2 * 200


def test_a_cycle_names_its_applications():
    graph, early = skip_blocks(3)
    reader = next(iter(early.clients))[0]
    wanted = rf"%\d+ add depends on %{reader.id} {reader.op.name}, which would read it in place of .*: a cycle"
    with pytest.raises(CycleError, match=wanted):
        graph.replace(early, graph.outputs[0])
    with pytest.raises(CycleError, match=rf"%{reader.id} {reader.op.name} would read its own result in place of .*: a"):
        graph.replace(early, reader.outputs[0])
    assert_in_order(graph)


@pytest.mark.parametrize("seed", range(4))
def test_labels_are_renumbered_when_a_gap_is_exhausted(seed):
    """A hundred applications at one position: an interval cannot be halved that often."""
    x, z = doubles("x z")
    graph = FunctionGraph([x, z], [add(neg(neg(x)), neg(z))])
    (end,) = (node for node in graph.nodes if node.op == add)
    for i in range(100):
        old = end.inputs[seed % 2]
        graph.change_node_input(end, seed % 2, neg(old) if seed < 2 or i % 3 else neg(graph.inputs[i % 2]))
        assert_in_order(graph)
    graph.undo(0)
    assert_in_order(graph)


@examples(60)
@given(st.data())
def test_labels_are_valid_after_any_changes_and_restored_by_undo(data):
    inputs = doubles("x y z")
    values = list(inputs)
    for _ in range(data.draw(st.integers(2, 12))):
        a, b = (values[data.draw(st.integers(0, len(values) - 1))] for _ in range(2))
        values.append(add(a, b))
    graph = FunctionGraph(inputs, values[-3:])
    marks = [(0, dict(graph.order._label))]
    for _ in range(data.draw(st.integers(1, 12))):
        nodes = list(graph.nodes)
        node = nodes[data.draw(st.integers(0, len(nodes) - 1))]
        others = [*graph.inputs, *(v for other in nodes for v in other.outputs)]
        new = others[data.draw(st.integers(0, len(others) - 1))]
        try:
            graph.change_node_input(
                node, data.draw(st.integers(0, len(node.inputs) - 1)), neg(new) if data.draw(st.booleans()) else new
            )
        except CycleError:
            assert graph.order._label == marks[-1][1]
        graph.verify()
        assert_in_order(graph)
        marks.append((graph.checkpoint(), dict(graph.order._label)))
    for mark, labels in reversed(marks):
        graph.undo(mark)
        assert graph.order._label == labels
