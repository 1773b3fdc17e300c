"""DCE, pooling, regression, merging, means, copies, reshapes, conversions, constants."""

import math

import pytest
import torch

from explorer.rewrite import CompilationMode, Exactness, PassManager
from explorer.tensor import Constant, FunctionGraph, call, to_nhwc
from explorer.tensor.ir.library import regression_op
from explorer.tensor.passes import passes
from tests.tensor.passes.checking import (
    GLOW_PIPELINE,
    aten,
    check_pass,
    check_reason,
    constant,
    graph_pass,
    nodes,
    ops,
    reasons,
    results,
    run,
    tensor,
    values,
)
from tests.tensor.text_form import rewrites

SHAPES = {
    "x": (2, 3), "image": (2, 3, 4, 4), "a": (1, 5, 10, 15), "b": (1, 5, 10, 15),
    "n": "i32[3]", "f": "f32[3]", "A": (2, 3), "B": (3,),
}  # fmt: skip

# ---------------------------------------------------------------------- DCE


def chain_of_80(x):
    """40 times a relu, and the sum of it with itself."""
    for _ in range(40):
        relu = call(aten.relu.default, x)
        x = call(aten.add.Tensor, relu, relu)
    return x


def test_dead_nodes_are_removed_at_once():
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


def test_nodes_that_an_output_needs_stay():
    x = tensor(2, 3)
    graph = FunctionGraph([x], [call(aten.softmax.int, chain_of_80(x), 1)])
    before = graph.text()
    assert not any(entry.changed for entry in run(graph, "DCE", given=[-torch.ones(2, 3)]))
    assert graph.text() == before
    assert len(graph) == 81


def test_unused_inputs_stay_and_unused_constants_are_removed():
    x, unused = tensor(2, 3), tensor(4, name="unused")
    graph = FunctionGraph([x, unused], [call(aten.add.Tensor, call(aten.mul.Tensor, x, 0.0), x)])
    assert len(graph.constants) == 1
    graph.replace(graph.toposort()[0].outputs[0], graph.inputs[0])
    run(graph, "DCE")
    assert graph.constants == ()
    assert len(graph.inputs) == 2


@pytest.mark.parametrize(("names", "before", "after"), [
    ("DCE EliminateIndices", "[max_pool2d_with_indices(image, [2, 2])[0], max.dim(image, 1)[0]]",
     "max_pool2d(image, kernel_size=[2, 2]), amax(image, dim=[1])"),
    ("DCE", "p = max_pool2d_with_indices(image, [2, 2]); [p[0], p[1]]",
     "*1::0 -> max_pool2d_with_indices(image, kernel_size=[2, 2]), *1::1"),
])  # fmt: skip
def test_unused_indices_are_not_computed(names, before, after, dtype):
    check_pass(names, before, after, SHAPES, dtype)


# ---------------------------------------------------------------------- pooling


@pytest.mark.parametrize(("before", "after"), rewrites("""
    max_pool2d(relu(image), [3, 3], [1, 1], [0, 0]) -> relu(max_pool2d(image, kernel_size=[3, 3], stride=[1, 1]))
    max_pool2d(relu(image), [3, 3], [1, 1], [1, 1])
        -> relu(max_pool2d(image, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1]))
    max_pool2d_with_indices(relu(image), [2, 2])[0] -> relu(max_pool2d_with_indices(image, kernel_size=[2, 2])::0)
"""))  # fmt: skip
def test_a_relu_moves_below_max_pooling(before, after, dtype):
    given = torch.randn(2, 3, 4, 4, dtype=dtype)
    given[0, 0, 0, 0], given[1, 1, 2, 2], given[0, 2, 3, 3] = math.nan, math.inf, -math.inf
    check_pass("OptimizePool", before, after, SHAPES, dtype, given=[given])


def test_a_relu_stays_above_average_pooling(dtype):
    after = "avg_pool2d(relu(image), kernel_size=[2, 2])"
    check_pass("OptimizePool", "avg_pool2d(relu(image), [2, 2])", after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "reason"), [
    ("r = relu(image); [max_pool2d(r, [2, 2]), r]", "the relu has other users"),
    (
        "p = max_pool2d_with_indices(relu(image), [2, 2]); [p[0], p[1]]",
        "the indices are used too; a relu makes several numbers equal",
    ),
])  # fmt: skip
def test_a_relu_that_stays_above_max_pooling_has_a_reason(before, reason, dtype):
    check_reason("OptimizePool", before, reason, SHAPES, dtype)


# ---------------------------------------------------------------------- regression


def test_in_inference_a_regression_is_its_input(dtype):
    x, expected = tensor(3, 2, dtype=dtype), tensor(3, 2, dtype=dtype, name="expected")
    graph = FunctionGraph([x, expected], [call(regression_op, call(aten.relu.default, x), expected)])
    requires_grad = graph.clone()
    PassManager(GLOW_PIPELINE, passes).run(requires_grad, CompilationMode.TRAIN)
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


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(add(x, splat(nan, 2, 3)), add(x, splat(nan, 2, 3))) -> add(*1 -> add(x, constant), *1)
    cat(cat(a, b, dim=1), cat(a, b, dim=1), dim=2) -> cat(*1 -> cat(a, b, dim=1), *1, dim=2)
    [clamp(x, 0.0, 1.0), clamp(x, 0.0, 2.0)] -> clamp(x, min=0.0, max=1.0), clamp(x, min=0.0, max=2.0)
"""))  # fmt: skip
def test_operators_with_equal_inputs_and_attributes_are_merged(before, after, dtype):
    """A second run reports no change; Glow's CSE always reports one."""
    graph = check_pass("CSE", before, after, SHAPES, dtype)
    assert not run(graph, "CSE")[0].changed


@pytest.mark.parametrize("number", ["10.0", "nan"])
def test_equal_constants_are_merged(number, dtype):
    before = f"[add(x, splat({number}, 2, 3)), mul(x, splat({number}, 2, 3)), sub(x, splat(7.0, 2, 3))]"
    kept = "constant" if number == "nan" else "full(10)"
    graph = check_pass("CSE", before, f"add(x, {kept}), mul(x, {kept}), sub(x, full(7))", SHAPES, dtype)
    assert len(graph.constants) == 2


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


def test_no_op_operators_are_removed(dtype):
    """The copy above an average goes after the average: averages add up numbers in an order that depends on strides."""
    before = """
y = expand(clone(image, memory_format=torch.contiguous_format), [2, 3, 4, 4])
y = constant_pad_nd(repeat(slice(y, 1, 0, 9223372036854775807), [1, 1, 1, 1]), [0, 0])
relu(avg_pool2d(dropout(y, 0.5, False), [1, 1]))
"""
    check_pass("EliminateNoop", before, "relu(image)", SHAPES, dtype, until_fixed_point=True)


def test_operators_with_an_effect_stay(dtype):
    before = "slice(max_pool2d(repeat(slice(image, 1, 0, 2), [1, 2, 1, 1]), [1, 1], [2, 2]), 1, 0, 4, 2)"
    after = (
        "slice(max_pool2d(repeat(slice(image, dim=1, start=0, end=2), repeats=[1, 2, 1, 1]), "
        "kernel_size=[1, 1], stride=[2, 2]), dim=1, start=0, end=4, step=2)"
    )
    check_pass("EliminateNoop", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    reshape(reshape(x, [6, 4]), [12, 2]) -> reshape(x, shape=[12, 2])
    view(unsqueeze(flatten(x), 0), [4, 6]) -> reshape(x, shape=[4, 6])
    relu(view(view(unsqueeze(flatten(x), 0), [4, 6]), [2, 3, 4])) -> relu(x)
    view(C, [6]) -> C
"""))  # fmt: skip
def test_nested_reshapes_are_merged(before, after, dtype):
    check_pass("OptimizeReshape", before, after, {"x": (2, 3, 4), "C": (2, 3)}, dtype)


def test_removing_a_reshape_that_does_nothing_counts_as_a_change(dtype):
    """Glow says that nothing changed here."""
    x = tensor(2, 3, dtype=dtype)
    graph = FunctionGraph([x], [call(aten.relu.default, call(aten.view.default, x, [2, 3]))])
    assert [entry.changed for entry in run(graph, "OptimizeReshape")] == [True]


def test_a_reshape_moves_below_operators_on_each_number(dtype):
    before, after = "tanh(relu(view(x, [3, 2])))", "reshape(tanh(relu(x)), shape=[3, 2])"
    check_pass("SinkReshapes", before, after, SHAPES, dtype, until_fixed_point=True)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    neg(_to_copy(_to_copy(n, dtype=torch.int64), dtype=torch.int32)) -> neg(n)
    neg(_to_copy(f, dtype=torch.float32)) -> neg(f)
    _to_copy(_to_copy(f, dtype=torch.float64), dtype=torch.int32) -> _to_copy(f, dtype=torch.int32)
    _to_copy(_to_copy(f, dtype=torch.int32), dtype=torch.float32)
        -> _to_copy(_to_copy(f, dtype=torch.int32), dtype=torch.float32)
    _to_copy(_to_copy(n, dtype=torch.float32), dtype=torch.int32)
        -> _to_copy(_to_copy(n, dtype=torch.float32), dtype=torch.int32)
"""))  # fmt: skip
def test_nested_conversions_are_merged_if_lossless(before, after):
    check_pass("OptimizeConversions", before, after, SHAPES)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    exp(upsample_nearest2d.vec(p, [2, 3], None)) -> exp(p)
    exp(_upsample_nearest_exact2d.vec(p, None, [1.0, 1.0])) -> exp(p)
    exp(upsample_bilinear2d.vec(p, [2, 3], False, None)) -> exp(p)
    exp(upsample_bilinear2d.vec(p, [2, 3], True, None)) -> exp(p)
    exp(upsample_bicubic2d.vec(p, [2, 3], False, None)) -> exp(p)
    upsample_bilinear2d.vec(p, [2, 3], False, None)
        -> upsample_bilinear2d(p, output_size=[2, 3], align_corners=False, scale_factors=None)
    exp(upsample_nearest2d.vec(p, None, [1.1, 1.1]))
        -> exp(upsample_nearest2d(p, output_size=None, scale_factors=[1.1, 1.1]))
    exp(upsample_nearest2d.vec(p, [2, 4], None))
        -> exp(upsample_nearest2d(p, output_size=[2, 4], scale_factors=None))
"""))  # fmt: skip
def test_a_resize_to_the_same_size_is_removed(before, after):
    check_pass("EliminateNoop", before, after, {"p": (1, 2, 2, 3)})


# ---------------------------------------------------------------------- constants


def test_constant_expressions_are_evaluated(dtype):
    before = "c = add(mul(A, B), 1.0); m = max.dim(c, 0); [add(x, c), m[0], m[1]]"
    check_pass("ConstantFold", before, "add(x, constant), constant, constant", SHAPES, dtype)
    assert graph_pass("ConstantFold").exactness is Exactness.EXACT


def test_random_trained_and_large_expressions_are_not_evaluated():
    drawn = call(aten.rand_like.default, constant(2, 3))
    weight = Constant(torch.nn.Parameter(torch.rand(2, 3)), "weight", trainable=True)
    assert ops(FunctionGraph([], [drawn])) == ["rand_like"]
    graph = FunctionGraph([], [drawn, call(aten.t.default, weight)])
    PassManager(GLOW_PIPELINE, passes).run(graph)
    assert ops(graph) == ["rand_like", "t"]
    large = call(aten.repeat.default, constant(1000), [1000, 100])
    assert reasons([], large, "ConstantFold") == [
        "its result needs 400,000,000 bytes and its inputs 4,000; "
        "more than 1,048,576 bytes are stored only if they replace as many"
    ]
