"""Batch norms: arithmetic into them, them into convolutions, and those that do nothing."""

import pytest
import torch

from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor import Constant, FunctionGraph, call, from_exported, library
from explorer.tensor.passes import passes
from explorer.tensor.passes.pipelines import OPTIMIZATION_PIPELINE
from tests.tensor.passes.checking import aten, constant, full, held, nodes, ops, optimize, reasons, run, tensor

NORM = "_native_batch_norm_legit_no_training"
CHAIN = "FoldBatchNormalizationWithArithmeticChain"
UNDER_CONV = "FoldArithmeticChainUnderConvIntoBN"


def norm(x, channels, dtype, parts=None, eps=1e-3):
    parts = parts or [constant(channels, dtype=dtype, seed=i) for i in range(4)]
    return call(aten._native_batch_norm_legit_no_training.default, x, *parts, 0.1, eps)[0]


def conv(x, dtype, outputs=4, bias=True, filter=None, **settings):
    inputs = x.tensor_type.shape[1]
    filter = filter or constant(outputs, inputs, 3, 3, dtype=dtype, seed=9, name="conv.weight")
    return call(aten.conv2d.default, x, filter, constant(outputs, dtype=dtype, seed=8) if bias else None, **settings)


@pytest.mark.parametrize("bias", [True, False])
def test_a_batch_norm_is_fused_into_the_convolution_above_it(bias, dtype):
    x = tensor(2, 3, 5, 6, dtype=dtype)
    graph = optimize([x], norm(conv(x, dtype, bias=bias), 4, dtype), "OptimizeBatchNorm")
    assert ops(graph) == ["conv2d"]


def test_the_general_convolution_is_supported_too(dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    filter = constant(6, 2, 3, 3, dtype=dtype)
    general = call(aten.convolution.default, x, filter, None, [2, 1], [1, 1], [1, 1], False, [0, 0], 2)
    assert ops(optimize([x], norm(general, 6, dtype), "OptimizeBatchNorm")) == ["convolution"]


@pytest.mark.parametrize("groups", [1, 2])
def test_the_channels_of_a_transposed_convolution_are_its_second_axis(groups, dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    filter = constant(4, 6 // groups, 3, 3, dtype=dtype)
    turned = call(aten.convolution.default, x, filter, None, [1, 1], [0, 0], [1, 1], True, [0, 0], groups)
    if groups == 1:
        assert ops(optimize([x], norm(turned, 6, dtype), "OptimizeBatchNorm")) == ["convolution"]
    else:
        declined = reasons([x], norm(turned, 6, dtype), "OptimizeBatchNorm")
        assert "it is a transposed convolution with groups" in declined


def test_a_batch_norm_is_fused_into_a_linear_layer(dtype):
    x = tensor(7, 3, dtype=dtype)
    layer = call(aten.linear.default, x, constant(4, 3, dtype=dtype), constant(4, dtype=dtype))
    assert ops(optimize([x], norm(layer, 4, dtype), "OptimizeBatchNorm")) == ["linear"]


def test_in_training_a_batch_norm_stays_where_it_is(dtype):
    x = tensor(2, 3, 5, 6, dtype=dtype)
    graph = FunctionGraph([x], [norm(conv(x, dtype), 4, dtype)])
    done = PassManager(OPTIMIZATION_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert ops(graph) == ["conv2d", NORM]
    skipped = [entry.pass_id for entry in done if entry.skipped]
    assert skipped == ["EliminateIndices", "OptimizeRegression", "TransposeConstants", CHAIN, "OptimizeBatchNorm"]


def test_a_convolution_with_other_users_keeps_its_weight(dtype):
    x = tensor(2, 3, 5, 6, dtype=dtype)
    above = conv(x, dtype)
    declined = reasons([x], [norm(above, 4, dtype), above], "OptimizeBatchNorm")
    assert declined == ["the convolution has other users"]


def test_a_filter_shared_by_two_convolutions_is_duplicated(dtype):
    x = tensor(2, 3, 5, 6, dtype=dtype)
    filter, bias = constant(4, 3, 3, 3, dtype=dtype), constant(4, dtype=dtype)
    outputs = [
        norm(call(aten.conv2d.default, x, filter, bias, [s, s]), 4, dtype, [constant(4, dtype=dtype, seed=s)] * 4)
        for s in (1, 2)
    ]
    graph = FunctionGraph([x], outputs)
    run(graph, "CSE")
    assert len(graph.constants) == 4
    run(graph, "OptimizeBatchNorm")
    assert ops(graph) == ["conv2d", "conv2d"]
    assert len(graph.constants) == 4  # two filters and two biases, where there were one of each and two of the norms


def test_a_filter_and_a_bias_with_other_users_are_duplicated(dtype):
    """Of 6 constants 4 are left: the filter and the bias as they were, and those of the batch norm in them.

    Glow keeps the graph that it was made of in the same module, so that it counts 8: the 6, and 2 new ones.
    """
    x = tensor(1, 3, 10, 20, dtype=dtype)
    filter, bias = constant(16, 3, 5, 5, dtype=dtype, name="filter"), constant(16, dtype=dtype, seed=9, name="bias")
    above = call(aten.conv2d.default, x, filter, bias, [1, 1], [2, 2])
    parts = [constant(16, dtype=dtype, seed=i + 1) for i in range(4)]
    graph = FunctionGraph([x], [norm(above, 16, dtype, parts), filter, bias])
    before = graph.clone()
    assert (nodes(graph), len(graph.constants)) == (5, 6)
    run(graph, "OptimizeBatchNorm")
    assert (ops(graph), nodes(graph), len(graph.constants)) == (["conv2d"], 4, 4)
    assert len({c.signature for c in (*before.constants, *graph.constants)}) == 8
    assert torch.equal(held(graph.outputs[1]).data, filter.data)
    assert torch.equal(held(graph.outputs[2]).data, bias.data)


def test_parameters_that_may_change_stay(dtype):
    x = tensor(2, 3, 5, 6, dtype=dtype)
    weight = Constant(torch.nn.Parameter(torch.rand(4, dtype=dtype)), "norm.weight", trainable=True)
    parts = [weight, *(constant(4, dtype=dtype) for _ in range(3))]
    declined = reasons([x], norm(conv(x, dtype), 4, dtype, parts), "OptimizeBatchNorm")
    assert declined == ["the parameters of the batch norm are trained"]


NOTHING = [  # var, mean, weight, bias, eps
    (1.0, 0.0, 1.0, 0.0, 0.0),
    (1.0, 33.0, 1.0, 33.0, 0.0),
    (1.0 - 1e-5, 33.0, 1.0, 33.0, 1e-5),
    (1.0 - 1e-6, 33.0, 1.0, 33.0, 1e-6),
    (225.0, -3.0, 15.0, -3.0, 0.0),
]


@pytest.mark.parametrize(("var", "mean", "weight", "bias", "eps"), NOTHING)
def test_a_no_op_batch_norm_is_removed(var, mean, weight, bias, eps, dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    parts = [full(number, 4, dtype=dtype) for number in (weight, bias, mean, var)]
    given = [torch.randn(2, 4, 5, 6, dtype=dtype) / 10]
    graph = FunctionGraph([x], [call(aten.relu.default, norm(x, 4, dtype, parts, eps))])
    done = run(graph, "OptimizeBatchNorm", given=given)
    assert done[0].changed
    assert ops(graph) == ["relu"]


def test_a_batch_norm_that_is_almost_a_no_op_stays(dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    parts = [full(number, 4, dtype=dtype) for number in (1.0, 0.0, 0.0, 1.0)]
    assert ops(optimize([x], norm(x, 4, dtype, parts, 1e-5), "OptimizeBatchNorm")) == [NORM]


def test_a_reshape_between_convolution_and_batch_norm_is_moved(dtype):
    x = tensor(1, 3, 10, 20, dtype=dtype)
    filter = constant(16, 3, 5, 5, dtype=dtype, seed=9)
    above = conv(x, dtype, 16, filter=filter, padding=[2, 2])
    for shape in ([1, 16, 20, 10], [1, 16, 200]):
        normed = norm(call(aten.view.default, above, shape), 16, dtype)
        assert nodes(FunctionGraph([x], [normed])) == 4
        graph = optimize([x], normed, "SinkCode", "OptimizeBatchNorm")
        assert (ops(graph), nodes(graph)) == (["conv2d", "reshape"], 3)
    mixed = norm(call(aten.view.default, above, [1, 32, 10, 10]), 32, dtype)
    graph = optimize([x], mixed, "SinkCode", "OptimizeBatchNorm")
    assert (ops(graph), nodes(graph)) == (["conv2d", "view", NORM], 4)


def per_channel(value, dtype):
    return full(value, 1, 4, 1, 1, dtype=dtype)


def arithmetic(y, dtype):
    """((y - s) * 4 + 3) / 2."""
    y = call(aten.sub.Tensor, y, constant(4, 1, 1, dtype=dtype, seed=5))
    y = call(aten.mul.Tensor, y, full(4.0, 2, 4, 10, 10, dtype=dtype))
    y = call(aten.add.Tensor, y, per_channel(3.0, dtype))
    return call(aten.div.Tensor, y, per_channel(2.0, dtype))


def test_a_chain_of_arithmetic_is_fused_into_the_batch_norm_above_it(dtype):
    x = tensor(2, 4, 10, 10, dtype=dtype)
    parts = [constant(4, dtype=dtype, seed=i) for i in range(4)]
    chain = arithmetic(norm(x, 4, dtype, parts), dtype)
    assert nodes(FunctionGraph([x], [chain])) == 6
    graph = optimize([x], chain, CHAIN)
    assert (ops(graph), nodes(graph)) == ([NORM], 2)
    new = graph.toposort()[0]
    shift = constant(4, dtype=dtype, seed=5).data
    torch.testing.assert_close(held(new.inputs[1]).data, parts[0].data * 4 / 2)
    torch.testing.assert_close(held(new.inputs[2]).data, ((parts[1].data - shift) * 4 + 3) / 2)


def test_a_chain_of_arithmetic_under_a_convolution_becomes_a_batch_norm(dtype):
    x = tensor(2, 3, 12, 12, dtype=dtype)
    chain = arithmetic(conv(x, dtype), dtype)
    assert nodes(FunctionGraph([x], [chain])) == 6
    graph = optimize([x], chain, UNDER_CONV)
    assert (ops(graph), nodes(graph)) == (["conv2d", NORM], 3)
    graph = optimize([x], arithmetic(conv(x, dtype), dtype), UNDER_CONV, "OptimizeBatchNorm")
    assert ops(graph) == ["conv2d"]


@pytest.mark.parametrize("scalar", [True, False])
def test_a_batch_norm_taken_from_a_constant_changes_its_sign(scalar, dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    parts = [constant(4, dtype=dtype, seed=i) for i in range(4)]
    below = norm(x, 4, dtype, parts)
    taken = call(aten.rsub.Scalar, below, 3.0) if scalar else call(aten.sub.Tensor, full(3.0, dtype=dtype), below)
    graph = optimize([x], taken, CHAIN)
    assert ops(graph) == [NORM]
    torch.testing.assert_close(held(graph.toposort()[0].inputs[1]).data, -parts[0].data)
    torch.testing.assert_close(held(graph.toposort()[0].inputs[2]).data, 3 - parts[1].data)


def test_a_factor_of_the_second_summand_counts(dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    for pair in ((norm(x, 4, dtype), per_channel(2.0, dtype)), (per_channel(2.0, dtype), norm(x, 4, dtype))):
        graph = optimize([x], call(aten.add.Tensor, *pair, alpha=3), CHAIN)
        assert ops(graph) == [NORM]


def test_a_constant_that_differs_within_a_channel_stays_out_of_the_batch_norm(dtype):
    """Glow compares the wrong dimensions here and never refuses: its result is wrong."""
    x = tensor(2, 4, 5, 6, dtype=dtype)
    for shape in ((2, 4, 5, 6), (1, 4, 5, 6), (1, 1, 1, 6)):
        summed = call(aten.add.Tensor, norm(x, 4, dtype), constant(*shape, dtype=dtype))
        assert reasons([x], summed, CHAIN) == ["the constant differs within a channel"]
    under = call(aten.mul.Tensor, conv(x, dtype), constant(2, 4, 3, 4, dtype=dtype))
    assert reasons([x], under, UNDER_CONV) == ["the constant differs within a channel"]


def test_a_constant_that_is_divided_stays_out_of_the_batch_norm(dtype):
    """Glow takes c / x for x / c."""
    x = tensor(2, 4, 5, 6, dtype=dtype)
    divided = call(aten.div.Tensor, per_channel(2.0, dtype), norm(x, 4, dtype))
    assert reasons([x], divided, CHAIN) == ["the constant is the dividend"]
    under = call(aten.div.Tensor, per_channel(2.0, dtype), conv(x, dtype))
    assert reasons([x], under, UNDER_CONV) == ["the constant is the dividend"]


def test_a_batch_norm_with_other_users_keeps_its_parameters(dtype):
    x = tensor(2, 4, 5, 6, dtype=dtype)
    below = norm(x, 4, dtype)
    declined = reasons([x], [call(aten.add.Tensor, below, per_channel(1.0, dtype)), below], CHAIN)
    assert declined == ["the batch norm has other users"]


def test_arithmetic_that_changes_the_shape_stays(dtype):
    x = tensor(1, 4, 5, 6, dtype=dtype)
    declined = reasons([x], call(aten.add.Tensor, norm(x, 4, dtype), full(1.0, 3, 1, 1, 1, dtype=dtype)), CHAIN)
    assert declined == ["the constant changes the shape or the type"]


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


def test_channels_last_is_supported_too(dtype):
    x = tensor(2, 5, 6, 3, dtype=dtype)
    filter, bias = constant(4, 3, 3, 3, dtype=dtype), constant(4, dtype=dtype)
    above = call(library.conv2d_nhwc, x, filter, bias)
    parts = [constant(4, dtype=dtype, seed=i) for i in range(4)]
    normed = call(library.batch_norm, above, *parts, 1e-3, 3)
    assert ops(optimize([x], normed, "OptimizeBatchNorm")) == ["conv2d_nhwc"]
    chain = call(aten.add.Tensor, call(aten.mul.Tensor, normed, constant(4, dtype=dtype)), 1.0)
    assert ops(optimize([x], chain, CHAIN)) == ["conv2d_nhwc", "batch_norm"]
    chain = call(aten.add.Tensor, call(aten.mul.Tensor, above, constant(4, dtype=dtype)), 1.0)
    assert ops(optimize([x], chain, UNDER_CONV)) == ["conv2d_nhwc", "batch_norm"]


def test_a_batch_norm_along_a_non_channel_axis_stays(dtype):
    x = tensor(2, 5, 6, 3, dtype=dtype)
    above = call(library.conv2d_nhwc, x, constant(4, 3, 3, 3, dtype=dtype))
    parts = [constant(3, dtype=dtype, seed=i) for i in range(4)]
    declined = reasons([x], call(library.batch_norm, above, *parts, 1e-3, 1), "OptimizeBatchNorm")
    assert declined == ["the channels of conv2d_nhwc are at axis 3, those of the batch norm at 1"]


def test_with_channels_last_a_reshape_in_between_is_moved_too(dtype):
    x = tensor(1, 10, 20, 3, dtype=dtype)
    above = call(library.conv2d_nhwc, x, constant(16, 5, 5, 3, dtype=dtype), constant(16, dtype=dtype), [1, 1], [2, 2])
    parts = [constant(16, dtype=dtype, seed=i) for i in range(4)]
    turned = call(aten.view.default, above, [1, 20, 10, 16])
    graph = optimize([x], call(library.batch_norm, turned, *parts, 1e-5, 3), "SinkCode", "OptimizeBatchNorm")
    assert ops(graph) == ["conv2d_nhwc", "reshape"]
    mixed = call(aten.view.default, above, [1, 20, 20, 8])
    normed = call(library.batch_norm, mixed, *[constant(8, dtype=dtype, seed=i) for i in range(4)], 1e-5, 3)
    assert reasons([x], normed, "SinkCode") == ["the reshape changes the batch or the channels"]
