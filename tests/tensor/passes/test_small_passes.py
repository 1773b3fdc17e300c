"""DCE, pooling, regression, merging, means, copies, reshapes, conversions, constants."""

import math

import pytest
import torch

from explorer.rewrite import CompilationMode, Exactness, PassManager
from explorer.tensor import Constant, FunctionGraph, call, to_module, to_nhwc
from explorer.tensor.ir.library import regression_op
from explorer.tensor.passes import passes
from explorer.tensor.passes.pipelines import OPTIMIZATION_PIPELINE
from tests.tensor.passes.checking import (
    aten,
    check_pass,
    check_reason,
    constant,
    full,
    graph_pass,
    nodes,
    ops,
    optimized,
    reasons,
    results,
    run,
    tensor,
    values,
)
from tests.tensor.text_form import rewrites

# ---------------------------------------------------------------------- DCE


def chain_of_80(x):
    """40 times a relu, and the sum of it with itself."""
    for _ in range(40):
        relu = call(aten.relu.default, x)
        x = call(aten.add.Tensor, relu, relu)
    return x


def test_what_no_output_needs_any_more_is_removed_all_at_once():
    """Glow's DCE takes 80 operators that are not saved away; here they go with the last output that needs them."""
    x = tensor(2, 3)
    graph = FunctionGraph([x], [chain_of_80(x)])
    assert len(graph) == 80
    before, mark = graph.text(), graph.checkpoint()
    graph.replace(graph.outputs[0], graph.inputs[0])
    assert len(graph) == 0
    assert not any(entry.changed for entry in run(graph, "DCE"))
    assert graph.outputs == graph.inputs
    graph.undo(mark)
    assert graph.text() == before


def test_what_an_output_needs_stays():
    x = tensor(2, 3)
    graph = FunctionGraph([x], [call(aten.softmax.int, chain_of_80(x), 1)])
    before = graph.text()
    assert not any(entry.changed for entry in run(graph, "DCE", given=[-torch.ones(2, 3)]))
    assert graph.text() == before
    assert len(graph) == 81


def test_inputs_that_nothing_reads_stay_and_constants_that_nothing_reads_go():
    x, unused = tensor(2, 3), tensor(4, name="unused")
    graph = FunctionGraph([x, unused], [call(aten.add.Tensor, call(aten.mul.Tensor, x, 0.0), x)])
    assert len(graph.constants) == 1
    graph.replace(graph.toposort()[0].outputs[0], graph.inputs[0])
    run(graph, "DCE")
    assert graph.constants == ()
    assert len(graph.inputs) == 2


def test_indices_that_nothing_reads_are_not_computed(dtype):
    x = tensor(2, 3, 6, 6, dtype=dtype)
    pooled = call(aten.max_pool2d_with_indices.default, x, [2, 2])
    graph = optimized([x], [pooled[0], call(aten.max.dim, x, 1)[0]], "DCE", "EliminateIndices")
    assert sorted(ops(graph)) == ["amax", "max_pool2d"]
    assert ops(optimized([x], list(pooled), "DCE")) == ["max_pool2d_with_indices"]


# ---------------------------------------------------------------------- pooling


@pytest.mark.parametrize("padding", [0, 1])
def test_a_relu_moves_below_max_pooling(padding, dtype):
    x = tensor(2, 3, 6, 6, dtype=dtype)
    pooled = call(aten.max_pool2d.default, call(aten.relu.default, x), [3, 3], [1, 1], [padding, padding])
    given = torch.randn(2, 3, 6, 6, dtype=dtype)
    given[0, 0, 0, 0], given[1, 1, 2, 2], given[0, 2, 3, 3] = math.nan, math.inf, -math.inf
    graph = optimized([x], pooled, "OptimizePool", given=[given])
    assert ops(graph) == ["max_pool2d", "relu"]
    assert torch.equal(to_module(graph)(given).isnan(), to_module(FunctionGraph([x], [pooled]))(given).isnan())


def test_a_relu_stays_above_average_pooling(dtype):
    x = tensor(2, 3, 6, 6, dtype=dtype)
    pooled = call(aten.avg_pool2d.default, call(aten.relu.default, x), [2, 2])
    assert ops(optimized([x], pooled, "OptimizePool")) == ["relu", "avg_pool2d"]


def test_a_relu_with_two_users_stays_above_max_pooling(dtype):
    x = tensor(2, 3, 6, 6, dtype=dtype)
    relu = call(aten.relu.default, x)
    declined = reasons([x], [call(aten.max_pool2d.default, relu, [2, 2]), relu], "OptimizePool")
    assert declined == ["the relu has other users"]


def test_a_relu_stays_where_the_places_of_the_greatest_numbers_are_read(dtype):
    x = tensor(2, 3, 6, 6, dtype=dtype)
    pooled = call(aten.max_pool2d_with_indices.default, call(aten.relu.default, x), [2, 2])
    assert len(reasons([x], list(pooled), "OptimizePool")) == 1
    assert ops(optimized([x], pooled[0], "OptimizePool")) == ["max_pool2d_with_indices", "relu"]


# ---------------------------------------------------------------------- regression


def test_in_inference_a_regression_passes_its_input_on(dtype):
    x, expected = tensor(3, 2, dtype=dtype), tensor(3, 2, dtype=dtype, name="expected")
    graph = FunctionGraph([x, expected], [call(regression_op, call(aten.relu.default, x), expected)])
    requires_grad = graph.clone()
    PassManager(OPTIMIZATION_PIPELINE, passes).run(requires_grad, CompilationMode.TRAIN)
    assert ops(requires_grad) == ["relu", "regression"]
    run(graph, "OptimizeRegression")
    assert ops(graph) == ["relu"]


def test_the_gradient_of_a_regression_is_input_minus_expected(dtype):
    given = torch.randn(3, 2, dtype=dtype, requires_grad=True)
    expected = torch.randn(3, 2, dtype=dtype, requires_grad=True)
    regression_op(given, expected).sum().backward()
    torch.testing.assert_close(given.grad, (given - expected).detach(), rtol=0, atol=0)
    torch.testing.assert_close(expected.grad, torch.zeros_like(expected), rtol=0, atol=0)
    torch.library.opcheck(regression_op, (given, expected))
    torch.library.opcheck(torch.ops.explorer.channel_shuffle.default, (torch.randn(2, 6, 3, requires_grad=True), 2, 1))


# ---------------------------------------------------------------------- CSE


def test_equal_operators_are_one_and_equal_constants_are_one(dtype):
    x = tensor(2, 3, dtype=dtype)
    constants = [full(math.nan, 2, 3, dtype=dtype) for _ in range(2)]
    outputs = [call(aten.add.Tensor, x, c) for c in constants]
    joined = call(aten.cat.default, [call(aten.cat.default, outputs), call(aten.cat.default, outputs)])
    graph = optimized([x], joined, "CSE")
    assert ops(graph) == ["add", "cat", "cat"]
    assert len(graph.constants) == 1


def test_of_two_equal_concats_that_are_joined_one_is_left(dtype):
    a1, a2 = tensor(1, 5, 10, 15, dtype=dtype, name="a1"), tensor(1, 5, 10, 15, dtype=dtype, name="a2")
    joined = call(aten.cat.default, [call(aten.cat.default, [a1, a2], 1) for _ in range(2)], 2)
    assert nodes(FunctionGraph([a1, a2], [joined])) == 4
    graph = optimized([a1, a2], joined, "CSE")
    assert (ops(graph), nodes(graph)) == (["cat", "cat"], 3)
    first, second = graph.toposort()
    assert list(second.inputs) == [first.outputs[0], first.outputs[0]]
    assert not run(graph, "CSE")[0].changed, "Glow's CSE says that it changed something whenever it ran"


@pytest.mark.parametrize("number", [10.0, math.nan])
def test_of_three_constants_two_are_equal_and_become_one(number, dtype):
    x = tensor(2, 3, dtype=dtype)
    constants = [full(value, 2, 3, dtype=dtype) for value in (number, number, 7.0)]
    targets = (aten.add.Tensor, aten.mul.Tensor, aten.sub.Tensor)
    outputs = [call(target, x, c) for target, c in zip(targets, constants, strict=True)]
    assert len(FunctionGraph([x], outputs).constants) == 3
    graph = optimized([x], outputs, "CSE")
    assert sorted(ops(graph)) == ["add", "mul", "sub"]
    assert len(graph.constants) == 2


def test_operators_with_different_settings_are_two():
    """The nearest to Glow's operators with different predicates: PyTorch's have none."""
    x = tensor(2, 3)
    graph = optimized([x], [call(aten.clamp.default, x, 0.0, 1.0), call(aten.clamp.default, x, 0.0, 2.0)], "CSE")
    assert ops(graph) == ["clamp", "clamp"]


# ---------------------------------------------------------------------- mean


@pytest.mark.parametrize(("before", "after"), rewrites("""
    mean(x, [2, 3]) -> reshape(avg_pool2d(x, kernel_size=[4, 5]), shape=[2, 3])
    mean(x, [-1, -2], True) -> avg_pool2d(x, kernel_size=[4, 5])
"""))  # fmt: skip
def test_a_mean_over_height_and_width_is_average_pooling(before, after, dtype):
    check_pass("OptimizeReduceMean", before, after, {"x": (2, 3, 4, 5)}, dtype)


@pytest.mark.parametrize("before", ["mean(x, [1, 2])", "mean(x, [3])", "mean(x, [1, 2, 3])"])
def test_a_mean_over_other_axes_stays(before, dtype):
    check_reason("OptimizeReduceMean", before, "it is not over the last two axes", {"x": (2, 3, 4, 5)}, dtype)


def test_with_channels_last_a_mean_is_average_pooling_between_two_transposes(dtype):
    """Glow's count, 5: transpose, pool, transpose, reshape, and what saves the result."""
    x = tensor(2, 2, 2, 2, dtype=dtype)
    graph = FunctionGraph([x], [call(aten.mean.dim, x, [2, 3])])
    given, wanted = values(graph), results(graph, values(graph))
    assert nodes(graph) == 2
    run(graph, "OptimizeReduceMean")
    assert (ops(graph), nodes(graph)) == (["avg_pool2d", "reshape"], 3)
    assert graph.toposort()[0].op["kernel_size"] == (2, 2)
    to_nhwc(graph)
    assert (ops(graph), nodes(graph)) == (["permute", "avg_pool2d_nhwc", "permute", "reshape"], 5)
    torch.testing.assert_close(results(graph, given), wanted)


# ---------------------------------------------------------------------- copies, reshapes, conversions


def test_operators_that_do_nothing_are_gone(dtype):
    x = tensor(2, 3, 4, 4, dtype=dtype)
    y = call(aten.clone.default, x, memory_format=torch.contiguous_format)
    y = call(aten.expand.default, y, [2, 3, 4, 4])
    y = call(aten.slice.Tensor, y, 1, 0, 9223372036854775807)
    y = call(aten.repeat.default, y, [1, 1, 1, 1])
    y = call(aten.constant_pad_nd.default, y, [0, 0])
    y = call(aten.dropout.default, y, 0.5, False)
    y = call(aten.avg_pool2d.default, y, [1, 1])
    graph = optimized([x], call(aten.relu.default, y), "EliminateNoop", until_fixed_point=True)
    assert ops(graph) == ["relu"], "what stands above the average goes when that has gone: averages add up"


def test_operators_that_do_something_stay(dtype):
    x = tensor(2, 3, 4, 4, dtype=dtype)
    y = call(aten.slice.Tensor, x, 1, 0, 2)
    y = call(aten.repeat.default, y, [1, 2, 1, 1])
    y = call(aten.max_pool2d.default, y, [1, 1], [2, 2])
    y = call(aten.slice.Tensor, y, 1, 0, 4, 2)
    assert ops(optimized([x], y, "EliminateNoop")) == ["slice", "repeat", "max_pool2d", "slice"]


@pytest.mark.parametrize(("before", "after"), rewrites("""
    reshape(reshape(x, [6, 4]), [12, 2]) -> reshape(x, shape=[12, 2])
    view(unsqueeze(flatten(x), 0), [4, 6]) -> reshape(x, shape=[4, 6])
    relu(view(view(unsqueeze(flatten(x), 0), [4, 6]), [2, 3, 4])) -> relu(x)
"""))  # fmt: skip
def test_reshapes_of_reshapes_are_one(before, after, dtype):
    check_pass("OptimizeReshape", before, after, {"x": (2, 3, 4)}, dtype)


def test_a_reshape_of_a_constant_is_a_constant(dtype):
    assert ops(optimized([], call(aten.view.default, constant(2, 3, dtype=dtype), [6]), "OptimizeReshape")) == []


def test_removing_a_reshape_that_does_nothing_counts_as_a_change(dtype):
    """Glow says that nothing changed here."""
    x = tensor(2, 3, dtype=dtype)
    graph = FunctionGraph([x], [call(aten.relu.default, call(aten.view.default, x, [2, 3]))])
    assert [entry.changed for entry in run(graph, "OptimizeReshape")] == [True]


def test_a_reshape_moves_below_operators_on_each_number(dtype):
    x = tensor(2, 6, dtype=dtype)
    y = call(aten.tanh.default, call(aten.relu.default, call(aten.view.default, x, [3, 4])))
    graph = optimized([x], y, "SinkReshapes", until_fixed_point=True)
    assert ops(graph) == ["relu", "tanh", "reshape"]


def test_conversions_there_and_back_are_gone():
    n, x = tensor(3, dtype=torch.int32, name="n"), tensor(3)
    there = call(aten._to_copy.default, n, dtype=torch.int64)
    back = call(aten._to_copy.default, there, dtype=torch.int32)
    graph = optimized([n], call(aten.neg.default, back), "OptimizeConversions")
    assert ops(graph) == ["neg"]
    same = call(aten._to_copy.default, x, dtype=torch.float32)
    assert ops(optimized([x], call(aten.neg.default, same), "OptimizeConversions")) == ["neg"]
    wide = call(aten._to_copy.default, call(aten._to_copy.default, x, dtype=torch.float64), dtype=torch.int32)
    assert ops(optimized([x], wide, "OptimizeConversions")) == ["_to_copy"]


def test_a_conversion_that_loses_numbers_stays():
    x = tensor(3)
    there = call(aten._to_copy.default, x, dtype=torch.int32)
    graph = optimized([x], call(aten._to_copy.default, there, dtype=torch.float32), "OptimizeConversions")
    assert ops(graph) == ["_to_copy", "_to_copy"]
    n = tensor(3, dtype=torch.int32, name="n")
    over = call(aten._to_copy.default, call(aten._to_copy.default, n, dtype=torch.float32), dtype=torch.int32)
    assert len(optimized([n], over, "OptimizeConversions")) == 2


# ---------------------------------------------------------------------- constants


def test_what_needs_only_constants_is_computed_now(dtype):
    x = tensor(2, 3, dtype=dtype)
    c = call(aten.add.Tensor, call(aten.mul.Tensor, constant(2, 3, dtype=dtype), constant(3, dtype=dtype)), 1.0)
    pair = call(aten.max.dim, c, 0)
    graph = optimized([x], [call(aten.add.Tensor, x, c), *pair], "ConstantFold")
    assert ops(graph) == ["add"]
    assert graph_pass("ConstantFold").exactness is Exactness.EXACT


def test_random_numbers_parameters_and_large_results_are_not_computed_now():
    drawn = call(aten.rand_like.default, constant(2, 3))
    weight = Constant(torch.nn.Parameter(torch.rand(2, 3)), "weight", trainable=True)
    assert ops(FunctionGraph([], [drawn])) == ["rand_like"]
    graph = FunctionGraph([], [drawn, call(aten.t.default, weight)])
    PassManager(OPTIMIZATION_PIPELINE, passes).run(graph)
    assert ops(graph) == ["rand_like", "t"]
    large = call(aten.repeat.default, constant(1000), [1000, 100])
    assert reasons([], large, "ConstantFold") == [
        "its result needs 400,000,000 bytes and its inputs 4,000; "
        "more than 1,048,576 bytes are stored only if they replace as many"
    ]
