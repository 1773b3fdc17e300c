"""Work grows linearly with the graph, counted in visits and new nodes, not in seconds."""

import pytest

from explorer.tensor import FunctionGraph, call
from explorer.tensor.graph.wiring import Order
from tests.tensor.passes.checking import aten, graph_pass, ops, run, tensor

SIZES = (25, 50, 100)


def test_nested_concats_are_flattened_in_one_rewrite():
    """One by one, each rewrite would build the outer concat again: 1 + 2 + 3 + ... inputs."""
    x = tensor(2, 2)
    for size in SIZES:
        y = x
        for _ in range(size):
            y = call(aten.cat.default, [y, x], 0)
        graph = FunctionGraph([x], [y])
        profile = graph_pass("OptimizeConcatNodes").run(graph)
        assert profile.rules["merge_concats"].applied == 1
        assert ops(graph) == ["cat"]
        assert len(graph.toposort()[0].inputs) == size + 1


def test_nested_concats_of_two_axes_are_flattened_per_axis():
    x = tensor(2, 2)
    y = x
    for axis in (0, 0, 1, 1, 0):
        y = call(aten.cat.default, [y, y], axis)
    inner = call(aten.cat.default, [call(aten.cat.default, [call(aten.cat.default, [x, x], 1), x, x], 1)], 0)
    graph = FunctionGraph([x], [y, inner])
    run(graph, "OptimizeConcatNodes", until_fixed_point=True)
    assert ops(graph) == ["cat"] * 6


@pytest.mark.parametrize("deep", [True, False])
def test_products_are_merged_in_linear_work(deep, monkeypatch):
    looked = []
    found = Order.path
    monkeypatch.setattr(Order, "path", lambda *args: (looked.append(1), found(*args))[1])
    counts = []
    for size in SIZES:
        x = tensor(4, 4)
        y, products = x, []
        for i in range(size):
            y = call(aten.relu.default, y) if deep else call(aten.mul.Tensor, x, float(i))
            products.append(call(aten.matmul.default, x, y))
        graph = FunctionGraph([x], products)
        looked.clear()
        graph_pass("MergeMatMulOnLHS").run(graph)
        assert ops(graph).count("matmul") == 1
        counts.append(len(looked))
    assert counts[-1] <= 4 * counts[0] + 8
