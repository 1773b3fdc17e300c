"""Concats and slices."""

import pytest

from explorer.tensor import FunctionGraph, call
from tests.tensor.passes.checking import aten, nodes, ops, optimized, reasons, run, tensor


def cat(variables, axis):
    return call(aten.cat.default, variables, axis)


def part(x, axis, start, stop):
    return call(aten.slice.Tensor, x, axis, start, stop)


def test_nested_concats_along_one_axis_are_one_and_those_along_another_are_kept(dtype):
    a1, a2, a3 = (tensor(1, 5, 10, 15, dtype=dtype, name=f"a{i}") for i in range(1, 4))
    a4, a5 = (tensor(1, 1, 5, 15, dtype=dtype, name=f"a{i}") for i in (4, 5))
    inputs = [a1, a2, a3, a4, a5]
    joined = cat([a3, cat([a1, cat([a1, a2], 1)], 1), cat([a4, a5], 2)], 1)
    assert nodes(FunctionGraph(inputs, [joined])) == 5
    graph = optimized(inputs, joined, "OptimizeConcatNodes")
    assert (ops(graph), nodes(graph)) == (["cat", "cat"], 3)
    other, whole = graph.toposort()
    assert [v.name for v in other.inputs] == ["a4", "a5"]
    assert [v.name for v in whole.inputs[:4]] == ["a3", "a1", "a1", "a2"]
    assert len(whole.inputs) == 5
    assert whole.inputs[4] is other.outputs[0]


def test_a_concat_along_another_axis_is_kept(dtype):
    a, b = tensor(2, 4, dtype=dtype, name="a"), tensor(2, 2, dtype=dtype, name="b")
    inner = cat([b, b], 1)
    graph = optimized([a, b], cat([a, inner, a], 0), "OptimizeConcatNodes")
    assert ops(graph) == ["cat", "cat"]


def test_an_inner_concat_with_other_users_is_kept(dtype):
    a = tensor(2, 4, dtype=dtype)
    inner = cat([a, a], 0)
    told = reasons([a], [cat([a, inner], 0), call(aten.relu.default, inner)], "OptimizeConcatNodes")
    assert told == ["the inner concat has other users"]


def test_a_concat_of_one_tensor_is_gone(dtype):
    a = tensor(2, 4, dtype=dtype)
    assert ops(optimized([a], call(aten.relu.default, cat([a], 1)), "OptimizeConcatNodes")) == ["relu"]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_concat_of_all_slices_in_order_is_the_tensor(axis, dtype):
    x = tensor(10, 10, 10, dtype=dtype)
    slices = [part(x, axis, i, i + 1) for i in range(10)]
    graph = optimized([x], call(aten.relu.default, cat(slices, axis)), "OptimizeConcatNodes")
    assert ops(graph) == ["relu"]
    told = reasons([x], cat(slices[::-1], axis), "OptimizeConcatNodes")
    assert told == ["the slices do not cover the tensor in order"]


def test_a_concat_of_a_split_is_the_tensor(dtype):
    x = tensor(4, 6, dtype=dtype)
    for pieces in (call(aten.split.Tensor, x, 4, 1), call(aten.chunk.default, x, 3, 1)):
        assert ops(optimized([x], call(aten.relu.default, cat(list(pieces), 1)), "OptimizeConcatNodes")) == ["relu"]


def test_a_concat_of_reshapes_is_a_reshape_of_a_concat(dtype):
    x, y = tensor(2, 3, 4, dtype=dtype), tensor(2, 5, 4, dtype=dtype, name="y")
    reshaped = [call(aten.view.default, v, [2, v.tensor_type.shape[1], 2, 2]) for v in (x, y)]
    graph = optimized([x, y], cat(reshaped, 1), "OptimizeConcatNodes")
    assert ops(graph) == ["cat", "reshape"]
    told = reasons([x, y], cat([call(aten.view.default, v, [-1, 2]) for v in (x, y)], 0), "OptimizeConcatNodes")
    assert told == ["no axis of the reshaped tensors corresponds to the concatenated one"]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_that_take_a_concat_apart_again_are_removed_with_it(axis, dtype):
    inputs = [tensor(2, 2, 2, dtype=dtype, name=name) for name in "abc"]
    joined = cat(inputs, axis)
    slices = [call(aten.relu.default, part(joined, axis, 2 * i, 2 * i + 2)) for i in range(3)]
    graph = optimized(inputs, slices, "EliminateConcatSlice")
    assert ops(graph) == ["relu"] * 3


def test_a_split_that_takes_a_concat_apart_again_is_removed_with_it(dtype):
    inputs = [tensor(2, size, dtype=dtype, name=f"x{size}") for size in (1, 2, 3)]
    pieces = call(aten.split_with_sizes.default, cat(inputs, 1), [1, 2, 3], 1)
    graph = optimized(inputs, [call(aten.relu.default, piece) for piece in pieces], "EliminateConcatSlice")
    assert ops(graph) == ["relu"] * 3


def test_a_slice_across_two_inputs_of_a_concat_stays(dtype):
    x, y = tensor(2, 4, dtype=dtype), tensor(2, 4, dtype=dtype, name="y")
    told = reasons([x, y], part(cat([x, y], 0), 0, 1, 3), "EliminateConcatSlice")
    assert told == ["it spans several inputs of the concat"]


def test_slices_side_by_side_are_one_slice(dtype):
    a, b = tensor(3, 10, 4, dtype=dtype, name="a"), tensor(3, 10, 4, dtype=dtype, name="b")
    pieces = [part(a, 1, 0, 2), part(a, 1, 2, 5), part(b, 1, 3, 4), part(b, 1, 4, 6)]
    graph = optimized([a, b], cat(pieces, 1), "EliminateSliceConcat")
    assert ops(graph) == ["slice", "slice", "cat"]
    mixed = [part(a, 1, 0, 2), part(b, 1, 0, 2), part(a, 1, 2, 5)]
    assert ops(optimized([a, b], cat(mixed, 1), "EliminateSliceConcat")) == ["slice"] * 3 + ["cat"]


def test_of_five_slices_in_three_concats_only_neighbours_of_one_tensor_are_one(dtype):
    """With the nodes in which Glow saves results, 11 operators become 10."""
    x, y = tensor(10, 4, dtype=dtype), tensor(10, 4, dtype=dtype, name="y")
    a, b, e = (part(x, 0, *ends) for ends in ((0, 2), (2, 5), (5, 8)))
    c, d = part(y, 0, 0, 2), part(y, 0, 2, 5)
    joins = [cat([a, b, c], 0), cat([c, e, d], 0), cat([e, c], 0)]
    assert nodes(FunctionGraph([x, y], joins)) == 11
    graph = optimized([x, y], joins, "EliminateSliceConcat")
    assert nodes(graph) == 10
    assert sorted(ops(graph)) == ["cat"] * 3 + ["slice"] * 4
    first, second, third = (list(node.inputs) for node in graph.toposort() if node.op.name == "cat")
    assert [len(first), len(second), len(third)] == [2, 3, 2]
    merged = first[0].owner
    assert merged is not None
    assert (merged.inputs[0].name, merged.op["start"], merged.op["end"]) == ("x", 0, 5)
    assert first[1] is second[0] is third[1]


def test_slices_of_the_neighbouring_axis_are_one_slice_that_is_reshaped(dtype):
    x = tensor(3, 7, 4, dtype=dtype)
    after = cat([part(x, 1, i, i + 1) for i in range(3)], 2)
    graph = optimized([x], call(aten.relu.default, after), "EliminateSliceConcat")
    assert ops(graph) == ["slice", "reshape", "relu"]
    before = cat([part(x, 1, i, i + 1) for i in range(2, 6)], 0)
    graph = optimized([x], call(aten.relu.default, before), "EliminateSliceConcat")
    assert ops(graph) == ["slice", "permute", "reshape", "relu"]


def test_seven_slices_in_two_concats_are_two_slices_two_reshapes_and_a_transpose(dtype):
    """Glow's graph: three joined behind their axis, four before it."""
    x, y = tensor(3, 7, 4, dtype=dtype), tensor(3, 7, 4, dtype=dtype, name="y")
    joins = [cat([part(x, 1, i, i + 1) for i in range(3)], 2), cat([part(y, 1, i, i + 1) for i in range(2, 6)], 0)]
    read = [call(aten.relu.default, joined) for joined in joins]  # outputs must not share memory with inputs
    before = ops(FunctionGraph([x, y], read))
    assert (before.count("slice"), before.count("cat")) == (7, 2)
    graph = optimized([x, y], read, "EliminateSliceConcat")
    assert sorted(ops(graph)) == ["permute", "relu", "relu", "reshape", "reshape", "slice", "slice"]


def test_few_slices_of_the_neighbouring_axis_stay(dtype):
    x = tensor(3, 7, 4, dtype=dtype)
    told = reasons([x], cat([part(x, 1, i, i + 1) for i in range(2)], 2), "EliminateSliceConcat")
    assert told == ["only 2 slices; it is cheaper for more than 2"]


def test_a_concat_that_converts_its_inputs_is_not_taken_apart(dtype):
    import torch

    x, n = tensor(2, 2, dtype=dtype), tensor(2, 2, dtype=torch.int64, name="n")
    graph = FunctionGraph([x, n], [part(cat([x, n], 0), 0, 2, 4)])
    run(graph, "EliminateConcatSlice")
    assert ops(graph) == ["cat", "slice"]
