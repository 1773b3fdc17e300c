"""Batch norms: arithmetic into them, them into convolutions, and those that do nothing."""

import pytest
import torch

from explorer.passes import GLOW_OPTIMIZE
from explorer.rewrite import CompilationMode, FunctionPassPipeline, PassManager
from explorer.tensor import FunctionGraph, call, from_exported
from explorer.tensor.passes import passes
from tests.tensor.passes.checking import (
    aten,
    check_pass,
    check_reason,
    constant,
    held,
    nodes,
    norm,
    ops,
    read,
    run,
    tensor,
    trained,
)
from tests.tensor.text_form import rewrites

CHAIN = "FoldBatchNormalizationWithArithmeticChain"
UNDER_CONV = "FoldArithmeticChainUnderConvIntoBN"
NORM = "_native_batch_norm_legit_no_training"
SHAPES = {
    "x": (2, 3, 5, 6), "y": (2, 4, 5, 6), "one": (1, 4, 5, 6), "rows": (7, 3), "large": (1, 3, 10, 20),
    "z": (2, 4, 10, 10), "image": (2, 3, 12, 12), "last": (2, 5, 6, 3), "long": (1, 10, 20, 3),
    "FILTER": (4, 3, 3, 3), "BIAS": (4,), "GROUPED": (6, 2, 3, 3), "TURNED": (4, 6, 3, 3), "LINEAR": (4, 3),
    "WIDE": (16, 3, 5, 5), "B16": (16,), "SHIFT": (4, 1, 1), "ALL": (2, 4, 5, 6), "PLANES": (1, 4, 5, 6),
    "ROW": (1, 1, 1, 6), "RESULT": (2, 4, 3, 4),
    "A": (4,), "B": (4,), "C": (4,), "D": (4,), "E": (4,), "E3": (3,), "NHWC": (16, 5, 5, 3), "F": (16,), "G": (8,),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), rewrites("""
    norm(conv2d(x, FILTER, BIAS)) -> conv2d(x, FILTER, BIAS)
    norm(conv2d(x, FILTER)) -> conv2d(x, FILTER, constant)
    norm(convolution(y, GROUPED, None, [2, 1], [1, 1], [1, 1], False, [0, 0], 2))
        -> convolution(y, GROUPED, constant, stride=[2, 1], padding=[1, 1], dilation=[1, 1],
           transposed=False, output_padding=[0, 0], groups=2)
    norm(convolution(y, TURNED, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1))
        -> convolution(y, TURNED, constant, stride=[1, 1], padding=[0, 0], dilation=[1, 1],
           transposed=True, output_padding=[0, 0], groups=1)
    norm(linear(rows, LINEAR, BIAS)) -> linear(rows, LINEAR, BIAS)
    explorer.batch_norm(conv2d_nhwc(last, FILTER, BIAS), A, B, C, D, 0.001, 3) -> conv2d_nhwc(last, FILTER, BIAS)
"""))  # fmt: skip
def test_a_batch_norm_is_fused_into_the_layer_above_it(before, after, dtype):
    check_pass("OptimizeBatchNorm", before, after, SHAPES, dtype)


def test_in_training_a_batch_norm_stays_where_it_is(dtype):
    graph = FunctionGraph(*read("norm(conv2d(x, FILTER, BIAS))", SHAPES, dtype))
    done = PassManager(FunctionPassPipeline.of_listed(GLOW_OPTIMIZE), passes).run(graph, CompilationMode.TRAIN)
    assert ops(graph) == ["conv2d", NORM]
    skipped = [entry.pass_id for entry in done if entry.skipped]
    assert skipped == ["EliminateIndices", "OptimizeRegression", "TransposeConstants", CHAIN, "OptimizeBatchNorm"]


@pytest.mark.parametrize(("name", "before", "reason"), [
    (
        "OptimizeBatchNorm",
        "norm(convolution(y, FILTER, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 2))",
        "it is a transposed convolution with groups",
    ),
    ("OptimizeBatchNorm", "c = conv2d(x, FILTER, BIAS); [norm(c), c]", "the convolution has other users"),
    (
        "OptimizeBatchNorm",
        "explorer.batch_norm(conv2d_nhwc(last, FILTER), E3, E3, E3, E3, 0.001, 1)",
        "the channels of conv2d_nhwc are at axis 3, those of the batch norm at 1",
    ),
    (CHAIN, "n = norm(y); [add(n, splat(1.0, 1, 4, 1, 1)), n]", "the batch norm has other users"),
    (CHAIN, "add(norm(one), splat(1.0, 3, 1, 1, 1))", "the constant changes the shape or the type"),
    (CHAIN, "add(norm(y), ALL)", "the constant differs within a channel"),
    (CHAIN, "add(norm(y), PLANES)", "the constant differs within a channel"),
    (CHAIN, "add(norm(y), ROW)", "the constant differs within a channel"),
    (UNDER_CONV, "mul(conv2d(x, FILTER, BIAS), RESULT)", "the constant differs within a channel"),
    (CHAIN, "div(splat(2.0, 1, 4, 1, 1), norm(y))", "the constant is the dividend"),
    (UNDER_CONV, "div(splat(2.0, 1, 4, 1, 1), conv2d(x, FILTER, BIAS))", "the constant is the dividend"),
])  # fmt: skip
def test_batch_norms_and_arithmetic_that_stay_have_a_reason(name, before, reason, dtype):
    """Glow compares the wrong dimensions and never refuses a constant that differs; it takes c / x for x / c."""
    check_reason(name, before, reason, SHAPES, dtype)


def test_a_filter_shared_by_two_convolutions_is_duplicated(dtype):
    x = tensor(2, 3, 5, 6, dtype=dtype)
    filter, bias = constant(4, 3, 3, 3, dtype=dtype), constant(4, dtype=dtype)
    outputs = [
        norm(call(aten.conv2d.default, x, filter, bias, [s, s]), *[constant(4, dtype=dtype, seed=s)] * 4)
        for s in (1, 2)
    ]
    graph = FunctionGraph([x], outputs)
    run(graph, "CSE")
    assert len(graph.constants) == 4
    run(graph, "OptimizeBatchNorm")
    assert ops(graph) == ["conv2d", "conv2d"]
    assert len(graph.constants) == 4  # two filters and two biases, where there were one of each and two of the norms


def test_a_filter_and_a_bias_with_other_users_are_duplicated(dtype):
    """Of 6 constants 4 are left: the filter and the bias as they were, and both with the batch norm folded in.

    Glow keeps the graph that it was made of in the same module, so that it counts 8: the 6, and 2 new ones.
    """
    x = tensor(1, 3, 10, 20, dtype=dtype)
    filter, bias = constant(16, 3, 5, 5, dtype=dtype, name="filter"), constant(16, dtype=dtype, seed=9, name="bias")
    above = call(aten.conv2d.default, x, filter, bias, [1, 1], [2, 2])
    parts = [constant(16, dtype=dtype, seed=i + 1) for i in range(4)]
    graph = FunctionGraph([x], [norm(above, *parts), filter, bias])
    before = graph.clone()
    assert (nodes(graph), len(graph.constants)) == (5, 6)
    run(graph, "OptimizeBatchNorm")
    assert (ops(graph), nodes(graph), len(graph.constants)) == (["conv2d"], 4, 4)
    assert len({c.signature for c in (*before.constants, *graph.constants)}) == 8
    assert torch.equal(held(graph.outputs[1]).data, filter.data)
    assert torch.equal(held(graph.outputs[2]).data, bias.data)


def test_parameters_that_may_change_stay(dtype):
    shapes = {**SHAPES, "w": trained(4, dtype=dtype)}
    reason = "the parameters of the batch norm are trained"
    check_reason("OptimizeBatchNorm", "norm(conv2d(x, FILTER, BIAS), w, A, B, C)", reason, shapes, dtype)


@pytest.mark.parametrize("parts", [  # weight, bias, mean, var
    "splat(1.0, 4), splat(0.0, 4), splat(0.0, 4), splat(1.0, 4), eps=0.0",
    "splat(1.0, 4), splat(33.0, 4), splat(33.0, 4), splat(1.0, 4), eps=0.0",
    "splat(1.0, 4), splat(33.0, 4), splat(33.0, 4), splat(0.99999, 4), eps=0.00001",
    "splat(1.0, 4), splat(33.0, 4), splat(33.0, 4), splat(0.999999, 4), eps=0.000001",
    "splat(15.0, 4), splat(-3.0, 4), splat(-3.0, 4), splat(225.0, 4), eps=0.0",
])  # fmt: skip
def test_a_no_op_batch_norm_is_removed(parts, dtype):
    given = [torch.randn(2, 4, 5, 6, dtype=dtype) / 10]
    check_pass("OptimizeBatchNorm", f"relu(norm(y, {parts}))", "relu(y)", SHAPES, dtype, given=given)


def test_a_batch_norm_that_is_almost_a_no_op_stays(dtype):
    before = "norm(y, splat(1.0, 4), splat(0.0, 4), splat(0.0, 4), splat(1.0, 4), eps=0.00001)"
    after = "norm(y, full(1), full(0), full(0), full(1), momentum=0.1, eps=1e-05)::0"
    check_pass("OptimizeBatchNorm", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    norm(view(conv2d(large, WIDE, B16, [1, 1], [2, 2]), [1, 16, 20, 10]))
        -> reshape(conv2d(large, WIDE, B16, padding=[2, 2]), shape=[1, 16, 20, 10])
    norm(view(conv2d(large, WIDE, B16, [1, 1], [2, 2]), [1, 16, 200]))
        -> reshape(conv2d(large, WIDE, B16, padding=[2, 2]), shape=[1, 16, 200])
    explorer.batch_norm(view(conv2d_nhwc(long, NHWC, B16, [1, 1], [2, 2]), [1, 20, 10, 16]), F, F, F, F, 0.00001, 3)
        -> reshape(conv2d_nhwc(long, NHWC, B16, padding=[2, 2]), shape=[1, 20, 10, 16])
"""))  # fmt: skip
def test_a_reshape_between_convolution_and_batch_norm_is_moved(before, after, dtype):
    check_pass("SinkCode OptimizeBatchNorm", before, after, SHAPES, dtype)


@pytest.mark.parametrize("before", [
    "norm(view(conv2d(large, WIDE, B16, [1, 1], [2, 2]), [1, 32, 10, 10]))",
    "explorer.batch_norm(view(conv2d_nhwc(long, NHWC, B16, [1, 1], [2, 2]), [1, 20, 20, 8]), G, G, G, G, 0.00001, 3)",
])  # fmt: skip
def test_a_reshape_of_the_channels_stays_above_a_batch_norm(before, dtype):
    check_reason("SinkCode OptimizeBatchNorm", before, "the reshape changes the batch or the channels", SHAPES, dtype)


ARITHMETIC = "div(add(mul(sub(v, SHIFT), splat(4.0, 2, 4, 10, 10)), splat(3.0, 1, 4, 1, 1)), splat(2.0, 1, 4, 1, 1))"


@pytest.mark.parametrize(("names", "before", "after"), [
    (CHAIN, f"v = norm(z); {ARITHMETIC}", "norm(z)"),
    (CHAIN, "rsub.Scalar(norm(y), 3.0)", "norm(y)"),
    (CHAIN, "sub(splat(3.0), norm(y))", "norm(y)"),
    (CHAIN, "add(norm(y), splat(2.0, 1, 4, 1, 1), alpha=3)", "norm(y)"),
    (CHAIN, "add(splat(2.0, 1, 4, 1, 1), norm(y), alpha=3)", "norm(y)"),
    (
        CHAIN,
        "add(mul(explorer.batch_norm(conv2d_nhwc(last, FILTER, BIAS), A, B, C, D, 0.001, 3), E), 1.0)",
        "batch_norm(conv2d_nhwc(last, FILTER, BIAS), A, B, C, D, eps=0.001, axis=3)",
    ),
    (
        UNDER_CONV,
        f"v = conv2d(image, FILTER, BIAS); {ARITHMETIC}",
        "norm(conv2d(image, FILTER, BIAS), full(2), constant, full(0), full(1), momentum=0.1, eps=0.0)::0",
    ),
    (
        f"{UNDER_CONV} OptimizeBatchNorm",
        f"v = conv2d(image, FILTER, BIAS); {ARITHMETIC}",
        "conv2d(image, FILTER, BIAS)",
    ),
    (
        UNDER_CONV,
        "add(mul(conv2d_nhwc(last, FILTER, BIAS), A), 1.0)",
        "batch_norm(conv2d_nhwc(last, FILTER, BIAS), constant, full(1), full(0), full(1), eps=0.0, axis=3)",
    ),
])  # fmt: skip
def test_a_chain_of_arithmetic_is_fused_into_a_batch_norm(names, before, after, dtype):
    """Under a convolution, arithmetic becomes a batch norm, which becomes part of the convolution."""
    check_pass(names, before, after, SHAPES, dtype)


def test_a_module_with_batch_norms_is_left_with_convolutions(dtype):
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU6()]
    layers += [torch.nn.Conv2d(8, 8, 1, bias=False), torch.nn.BatchNorm2d(8)]
    model = torch.nn.Sequential(*layers).eval().to(dtype)
    for layer in (layers[1], layers[4]):
        layer.running_mean.normal_()
        layer.running_var.uniform_(0.5, 2.0)
        torch.nn.init.uniform_(layer.weight, 0.5, 2.0)
    program = torch.export.export(model, (torch.randn(2, 3, 8, 8, dtype=dtype),))
    for level in ("functional", "core"):
        graph = from_exported(program, level=level)
        run(graph, "OptimizeBatchNorm")
        assert [name for name in ops(graph) if "norm" in name] == []
        assert len(graph) == 3
