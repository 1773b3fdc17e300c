"""Arithmetic with constants and splats: neutral elements, the order of inputs, squares, parts and reshapes."""

import pytest
import torch

from explorer.tensor import Constant, TensorType, call
from explorer.tensor.facts import splat
from tests.tensor.passes.checking import (
    aten,
    check_pass,
    full,
    held,
    nodes,
    ops,
    optimized,
    reasons,
    run,
    tensor,
)


def number(value, dtype):
    return Constant(torch.tensor(value, dtype=dtype))


def test_sums_with_0_and_products_with_0_vanish(dtype):
    """0 / x + (0 + x) + 0 * x - 0 is x."""
    x = tensor(3, 2, dtype=dtype)
    zero = full(0.0, 3, 2, dtype=dtype)
    y = call(aten.add.Tensor, call(aten.div.Tensor, zero, x), call(aten.add.Tensor, zero, x))
    y = call(aten.sub.Tensor, call(aten.add.Tensor, y, call(aten.mul.Tensor, zero, x)), zero)
    graph = optimized([x], call(aten.relu.default, y), "OptimizeArithmeticNodes")
    assert ops(graph) == ["relu"]
    assert graph.toposort()[0].inputs == graph.inputs


def test_a_product_of_zeros_is_zero(dtype):
    a, b = tensor(3, 2, dtype=dtype, name="a"), tensor(3, 2, dtype=dtype, name="b")
    zeros = [call(aten.mul.Tensor, full(0.0, 3, 2, dtype=dtype), v) for v in (a, b)]
    graph = optimized([a, b], call(aten.mul.Tensor, *zeros), "OptimizeArithmeticNodes")
    assert ops(graph) == []
    assert held(graph.outputs[0]).number == 0


def test_a_splat_keeps_all_its_digits_and_needs_the_memory_of_one_number(dtype):
    precise = torch.tensor(1 / 3, dtype=dtype).item()
    kind = TensorType(dtype, (1, 1, 500))
    made = splat(kind, precise)
    assert made.number == precise
    assert made.data.untyped_storage().nbytes() == dtype.itemsize
    assert made.signature == full(precise, 1, 1, 500, dtype=dtype).signature
    assert splat(TensorType(dtype, (1, 1)), precise).signature == full(precise, 1, 1, dtype=dtype).signature


@pytest.mark.parametrize("make", [
    lambda x, one: call(aten.mul.Tensor, x, one),
    lambda x, one: call(aten.mul.Tensor, one, x),
    lambda x, one: call(aten.div.Tensor, x, one),
    lambda x, one: call(aten.pow.Tensor_Scalar, x, 1),
])  # fmt: skip
def test_a_product_with_1_is_removed(make, dtype):
    x = tensor(3, 2, dtype=dtype)
    graph = optimized([x], call(aten.relu.default, make(x, number(1.0, dtype))), "OptimizeArithmeticNodes")
    assert ops(graph) == ["relu"]


def test_a_constant_goes_to_the_right_where_the_inputs_may_change_places(dtype):
    x, c = tensor(3, 2, dtype=dtype), full(5.0, 3, 2, dtype=dtype)
    y = call(aten.add.Tensor, call(aten.sub.Tensor, c, call(aten.add.Tensor, c, x)), x)
    graph = optimized([x], y, "OptimizeArithmeticNodes")
    inner, middle, _ = graph.toposort()
    assert isinstance(inner.inputs[1], Constant)
    assert isinstance(middle.inputs[0], Constant)
    assert not run(graph, "OptimizeArithmeticNodes")[0].changed


def test_a_number_that_is_added_twice_is_on_the_right_of_both(dtype):
    """5 nodes stay: both sums, the operators that save them, and the number, which is not an operator here."""
    x, y, c = tensor(3, 2, dtype=dtype), tensor(3, 2, dtype=dtype, name="y"), full(5.0, 3, 2, dtype=dtype)
    sums = [call(aten.add.Tensor, c, v) for v in (x, y)]
    graph = optimized([x, y], sums, "OptimizeArithmeticNodes")
    assert ops(graph) == ["add", "add"]
    assert nodes(graph) + len(graph.constants) == 5
    assert [node.inputs[0] for node in graph.toposort()] == list(graph.inputs)
    assert {held(node.inputs[1]).number for node in graph.toposort()} == {5.0}


def test_a_sum_that_changes_the_type_or_the_shape_stays():
    n, x = tensor(3, dtype=torch.int64, name="n"), tensor(1, 3)
    graph = optimized([n], call(aten.add.Tensor, n, number(0.0, torch.float32)), "OptimizeArithmeticNodes")
    assert ops(graph) == ["add"]
    graph = optimized([x], call(aten.mul.Tensor, x, full(1.0, 4, 1)), "OptimizeArithmeticNodes")
    assert ops(graph) == ["mul"]


def test_squares_are_products(dtype):
    check_pass("OptimizeArithmeticNodes", "pow(x, 2)", "mul(x, x)", {"x": (3, 2)}, dtype)


def test_parts_of_a_splat_are_that_number(dtype):
    zeros = call(aten.full.default, [4, 6], 3.0, dtype=dtype)
    outputs = [
        call(aten.slice.Tensor, zeros, 0, 1, 3),
        call(aten.clamp.default, zeros, 0.0, 2.0),
        call(aten.permute.default, zeros, [1, 0]),
        call(aten.expand.default, zeros, [2, 4, 6]),
    ]
    graph = optimized([], outputs, "OptimizeSplat")
    assert ops(graph) == []
    assert [held(v).number for v in graph.outputs] == [3.0, 2.0, 3.0, 3.0]


def test_a_splat_is_reshaped_if_nothing_else_reads_it(dtype):
    ones = call(aten.ones.default, [4, 6], dtype=dtype)
    assert ops(optimized([], call(aten.view.default, ones, [24]), "OptimizeSplat")) == []
    declined = reasons([], [call(aten.view.default, ones, [24]), ones], "OptimizeSplat")
    assert declined == ["the tensor has other users"]
