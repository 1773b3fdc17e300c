"""Products of matrices, convolutions, softmax, channel shuffle and layer norm."""

import pytest
import torch

from explorer.tensor import Constant, FunctionGraph, call, library
from tests.tensor.passes.checking import aten, constant, full, held, ops, optimized, reasons, run, tensor


@pytest.mark.parametrize("target", [aten.mm.default, aten.matmul.default])
def test_products_with_the_same_weights_are_one(target, dtype):
    weight = constant(4, 5, dtype=dtype)
    inputs = [tensor(3, 4, dtype=dtype, name=f"x{i}") for i in range(10)]
    graph = optimized(inputs, [call(target, x, weight) for x in inputs], "MergeMatMulOnRHS")
    assert ops(graph) == ["cat", target._schema.name.rpartition("::")[2], "split_with_sizes"]


def test_a_product_that_depends_on_another_one_is_removed(dtype):
    weight = constant(4, 4, dtype=dtype)
    inputs = [tensor(3, 4, dtype=dtype, name=f"x{i}") for i in range(3)]
    last = inputs[2]
    products = [call(aten.mm.default, x, weight) for x in inputs[:2]]
    for _ in range(7):
        last = call(aten.sigmoid.default, last)
    behind = call(aten.mm.default, call(aten.add.Tensor, last, products[0]), weight)
    graph = optimized(inputs, [*products, behind], "MergeMatMulOnRHS")
    assert ops(graph).count("mm") == 2


def test_merged_products_stay_apart_where_merging_two_groups_would_make_a_cycle(dtype):
    """a1 feeds b2 and b1 feeds a2: either the a or the b can be merged, not both."""
    x, y = tensor(4, 4, dtype=dtype), tensor(4, 4, dtype=dtype, name="y")
    wa, wb = constant(4, 4, dtype=dtype, seed=1), constant(4, 4, dtype=dtype, seed=2)
    a1, b1 = call(aten.mm.default, x, wa), call(aten.mm.default, y, wb)
    a2 = call(aten.mm.default, call(aten.neg.default, b1), wa)
    b2 = call(aten.mm.default, call(aten.neg.default, a1), wb)
    graph = optimized([x, y], [a2, b2], "MergeMatMulOnRHS")
    assert ops(graph).count("mm") == 3


def test_query_key_and_value_are_one_linear_layer(dtype):
    x = tensor(2, 7, 4, dtype=dtype)
    layers = [
        call(aten.linear.default, x, constant(n, 4, dtype=dtype, seed=n), constant(n, dtype=dtype)) for n in (3, 5, 3)
    ]
    graph = optimized([x], layers, "MergeMatMulOnLHS")
    assert ops(graph) == ["linear", "split_with_sizes"]
    assert graph.toposort()[0].inputs[1].tensor_type.shape == (11, 4)


@pytest.mark.parametrize("form", ["mm", "addmm", "bmm", "matmul"])
def test_products_of_one_left_factor_are_one(form, dtype):
    x = tensor(3, 4, dtype=dtype)
    if form == "addmm":
        made = [call(aten.addmm.default, constant(n, dtype=dtype), x, constant(4, n, dtype=dtype)) for n in (2, 3)]
    elif form == "mm":
        made = [call(aten.mm.default, x, constant(4, n, dtype=dtype)) for n in (2, 3)]
    else:
        x = tensor(6, 3, 4, dtype=dtype)
        lead = (6,) if form == "bmm" else ()
        target = aten.bmm.default if form == "bmm" else aten.matmul.default
        made = [call(target, x, constant(*lead, 4, n, dtype=dtype)) for n in (2, 3)]
    graph = optimized([x], made, "MergeMatMulOnLHS")
    assert ops(graph) == [form, "split_with_sizes"]


def test_layers_with_and_without_bias_are_not_mixed(dtype):
    x = tensor(3, 4, dtype=dtype)
    made = [
        call(aten.linear.default, x, constant(2, 4, dtype=dtype), constant(2, dtype=dtype)),
        call(aten.linear.default, x, constant(2, 4, dtype=dtype)),
    ]
    assert ops(optimized([x], made, "MergeMatMulOnLHS")) == ["linear", "linear"]


def test_a_product_and_a_sum_are_a_linear_layer(dtype):
    x = tensor(3, 4, dtype=dtype)
    product = call(aten.mm.default, x, constant(4, 5, dtype=dtype))
    for bias in (constant(5, dtype=dtype), constant(1, 5, dtype=dtype)):
        graph = optimized([x], call(aten.add.Tensor, bias, product), "FoldMatMulAddIntoFullyConnected")
        assert ops(graph) == ["linear"]
    weight = Constant(torch.nn.Parameter(torch.rand(4, 5, dtype=dtype)), "weight", trainable=True)
    learned = call(aten.add.Tensor, call(aten.mm.default, x, weight), constant(5, dtype=dtype))
    assert ops(optimized([x], learned, "FoldMatMulAddIntoFullyConnected")) == ["addmm"]
    declined = reasons(
        [x], call(aten.add.Tensor, product, constant(3, 1, dtype=dtype)), "FoldMatMulAddIntoFullyConnected"
    )
    assert declined == ["the other summand does not have one number per column"]


def test_a_transpose_before_a_product_is_done_to_the_weight(dtype):
    x = tensor(1, 2, 3, dtype=dtype)
    weight = Constant(torch.arange(6, dtype=dtype).reshape(6, 1))
    flat = call(aten.view.default, call(aten.clone.default, call(aten.permute.default, x, [0, 2, 1])), [1, 6])
    graph = optimized([x], call(aten.mm.default, flat, weight), "EliminateNoop", "MergeTransposeIntoMatMulOrFC")
    assert ops(graph) == ["reshape", "mm"]
    assert held(graph.toposort()[1].inputs[1]).data.flatten().tolist() == [0, 2, 4, 1, 3, 5]


def test_flattening_channels_last_is_done_to_the_weight_of_a_linear_layer(dtype):
    x = tensor(2, 3, 4, 5, dtype=dtype)
    flat = call(aten.reshape.default, call(aten.permute.default, x, [0, 3, 1, 2]), [2, 60])
    layer = call(aten.linear.default, flat, constant(7, 60, dtype=dtype), constant(7, dtype=dtype))
    assert ops(optimized([x], layer, "MergeTransposeIntoMatMulOrFC")) == ["reshape", "linear"]
    added = call(aten.addmm.default, constant(7, dtype=dtype), flat, constant(60, 7, dtype=dtype))
    assert ops(optimized([x], added, "MergeTransposeIntoMatMulOrFC")) == ["reshape", "addmm"]


def test_a_transpose_that_moves_the_batch_stays_before_a_product(dtype):
    x = tensor(2, 2, 3, dtype=dtype)
    flat = call(aten.reshape.default, call(aten.permute.default, x, [1, 0, 2]), [2, 6])
    declined = reasons([x], call(aten.mm.default, flat, constant(6, 4, dtype=dtype)), "MergeTransposeIntoMatMulOrFC")
    assert declined == ["the transpose moves the batch, or the reshape keeps more than the first axis"]


@pytest.mark.parametrize("form", ["conv2d", "convolution", "conv2d_nhwc"])
def test_padding_with_zeros_becomes_part_of_a_convolution(form, dtype):
    filter = constant(4, 3, 3, 3, dtype=dtype)
    if form == "conv2d_nhwc":
        x = tensor(2, 6, 7, 3, dtype=dtype)
        y = call(library.conv2d_nhwc, call(aten.constant_pad_nd.default, x, [0, 0, 2, 2, 1, 1]), filter)
    else:
        x = tensor(2, 3, 6, 7, dtype=dtype)
        padded = call(aten.pad.default, x, [2, 2, 1, 1])
        more = ([1, 1], [1, 0], [1, 1], False, [0, 0], 1) if form == "convolution" else ([1, 1], [1, 0])
        y = call(getattr(aten, form).default, padded, filter, None, *more)
    graph = optimized([x], y, "MergePadIntoConvolution")
    assert ops(graph) == [form]
    assert graph.toposort()[0].op["padding"] == ((1, 2) if form == "conv2d_nhwc" else (2, 2))


@pytest.mark.parametrize(("pad", "value", "why"), [
    ([1, 1, 1, 1], 2.0, "it is not padded with zeros"),
    ([1, 0, 1, 1], 0.0, "the padding is asymmetric"),
    ([-1, -1, -1, -1], 0.0, "the padding is negative"),
    ([0, 0, 0, 0, 1, 1], 0.0, "the batch or the channels are padded too"),
])  # fmt: skip
def test_other_padding_stays_before_a_convolution(pad, value, why, dtype):
    x = tensor(2, 3, 6, 7, dtype=dtype)
    padded = call(aten.constant_pad_nd.default, x, pad, value)
    filter = constant(4, padded.tensor_type.shape[1], 3, 3, dtype=dtype)
    declined = reasons([x], call(aten.conv2d.default, padded, filter, None, [1, 1], [2, 2]), "MergePadIntoConvolution")
    assert declined == [why]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_exponentials_over_their_sum_are_a_softmax(axis, dtype):
    x = tensor(3, 4, 5, dtype=dtype)
    exponential = call(aten.exp.default, x)
    total = call(aten.sum.dim_IntList, call(aten.exp.default, x), [axis], True)
    graph = optimized([x], call(aten.div.Tensor, exponential, total), "FoldExpSumDivIntoSoftmax")
    assert ops(graph) == ["softmax"]


def test_exponentials_over_another_sum_are_no_softmax(dtype):
    x, y = tensor(3, 4, dtype=dtype), tensor(3, 4, dtype=dtype, name="y")
    exponential = call(aten.exp.default, x)
    other = call(aten.sum.dim_IntList, call(aten.exp.default, y), [1], True)
    declined = reasons([x, y], call(aten.div.Tensor, exponential, other), "FoldExpSumDivIntoSoftmax")
    assert declined == ["the sum is of the exponentials of another tensor"]
    whole = call(aten.sum.dim_IntList, exponential, [0, 1], True)
    declined = reasons([x], call(aten.div.Tensor, exponential, whole), "FoldExpSumDivIntoSoftmax")
    assert declined == ["the sum is not over one axis with keepdim=True"]


@pytest.mark.parametrize("axis", [1, 3])
def test_two_reshapes_and_a_transpose_are_a_channel_shuffle(axis, dtype):
    shape = (2, 6, 4, 6)
    x = tensor(*shape, dtype=dtype)
    divided = (*shape[:axis], 2, 3, *shape[axis + 1 :])
    order = list(range(5))
    order[axis], order[axis + 1] = axis + 1, axis
    y = call(aten.permute.default, call(aten.view.default, x, divided), order)
    y = call(aten.view.default, call(aten.clone.default, y, memory_format=torch.contiguous_format), shape)
    graph = optimized([x], y, "FoldChannelShuffle")
    assert ops(graph) == ["channel_shuffle"]


def test_a_transpose_of_other_axes_is_not_a_channel_shuffle(dtype):
    x = tensor(2, 6, 4, dtype=dtype)
    y = call(aten.permute.default, call(aten.view.default, x, [2, 2, 3, 4]), [0, 3, 2, 1])
    declined = reasons([x], call(aten.reshape.default, y, [2, 6, 4]), "FoldChannelShuffle")
    assert declined == ["the transpose does not exchange two adjacent axes"]


@pytest.mark.parametrize("affine", [True, False])
def test_arithmetic_becomes_part_of_a_layer_norm(affine, dtype):
    x = tensor(2, 3, 4, dtype=dtype)
    parts = [constant(4, dtype=dtype, seed=i) if affine else None for i in range(2)]
    y = call(aten.layer_norm.default, x, [4], *parts)
    y = call(aten.mul.Tensor, y, constant(4, dtype=dtype, seed=3))
    y = call(aten.add.Tensor, constant(1, 1, 4, dtype=dtype, seed=4), y, alpha=2)
    y = call(aten.add.Tensor, y, full(2.0, dtype=dtype))
    graph = optimized([x], y, "FoldLayerNormArithmetic")
    assert ops(graph) == ["layer_norm"]
    declined = reasons(
        [x],
        call(aten.add.Tensor, call(aten.layer_norm.default, x, [4], *parts), constant(3, 4, dtype=dtype)),
        "FoldLayerNormArithmetic",
    )
    assert declined == ["the constant does not have the normalized shape"]


def test_merging_is_recorded_as_one_rewrite(dtype):
    weight = constant(4, 5, dtype=dtype)
    inputs = [tensor(3, 4, dtype=dtype, name=f"x{i}") for i in range(3)]
    graph = FunctionGraph(inputs, [call(aten.mm.default, x, weight) for x in inputs])
    done = run(graph, "MergeMatMulOnRHS", until_fixed_point=True)
    assert [(entry.changed, entry.rounds) for entry in done] == [(True, 2)]
