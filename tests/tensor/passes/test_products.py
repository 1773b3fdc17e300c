"""Products of matrices, convolutions, softmax, channel shuffle and layer norm."""

import pytest

from explorer.tensor import FunctionGraph, call
from tests.tensor.passes.checking import aten, check_pass, check_reason, constant, run, tensor, trained
from tests.tensor.text_form import rewrites

SHAPES = {
    "x": (3, 4), "y": (3, 4), "z": (3, 4), "batch": (6, 3, 4), "image": (2, 3, 6, 7), "nhwc": (2, 6, 7, 3),
    "a": (1, 2, 3), "b": (2, 2, 3), "c": (2, 3, 4, 5), "d": (2, 6, 4, 6),
    "W2": (4, 2), "W3": (4, 3), "W4": (4, 4), "V4": (4, 4), "W5": (4, 5), "P2": (6, 4, 2), "P3": (6, 4, 3),
    "L2": (2, 4), "L3": (3, 4), "B2": (2,), "B3": (3,), "B4": (4,), "C4": (4,), "D4": (4,), "B5": (5,), "B7": (7,),
    "ROW": (1, 5), "COLUMN": (3, 1), "SCALE": (1, 1, 4), "OTHER": (3, 4), "FILTER": (4, 3, 3, 3), "WIDE": (4, 5, 3, 3),
    "K": (6, 1), "L": (6, 4), "M": (7, 60), "N": (60, 7),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), rewrites("""
    [mm(x, W5), mm(y, W5), mm(z, W5)]
        -> *1::0 -> split_with_sizes(mm(cat(x, y, z), W5), split_sizes=[3, 3, 3]), *1::1, *1::2
    [matmul(x, W5), matmul(y, W5), matmul(z, W5)]
        -> *1::0 -> split_with_sizes(matmul(cat(x, y, z), W5), split_sizes=[3, 3, 3]), *1::1, *1::2
    p = mm(x, W4); [p, mm(y, W4), mm(add(sigmoid(z), p), W4)]
        -> *1::0 -> split_with_sizes(mm(cat(x, y), W4), split_sizes=[3, 3]), *1::1, mm(add(sigmoid(z), *1::0), W4)
"""))  # fmt: skip
def test_products_with_the_same_weights_are_merged_unless_one_depends_on_another(before, after, dtype):
    check_pass("MergeMatMulOnRHS", before, after, SHAPES, dtype)


def test_products_stay_separate_if_merging_would_create_a_cycle(dtype):
    """p feeds the second product with V4, q the second one with W4: either can be merged, not both."""
    before = "p = mm(x, W4); q = mm(y, V4); [mm(neg(q), W4), mm(neg(p), V4)]"
    after = "mm(neg(*1::0 -> split_with_sizes(mm(cat(y, neg(mm(x, W4))), V4), split_sizes=[3, 3])), W4), *1::1"
    check_pass("MergeMatMulOnRHS", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    [linear(batch, L3, B3), linear(batch, L2, B2), linear(batch, L3, B3)]
        -> *1::0 -> split_with_sizes(linear(batch, constant, constant), split_sizes=[3, 2, 3], dim=2), *1::1, *1::2
    [mm(x, W2), mm(x, W3)] -> *1::0 -> split_with_sizes(mm(x, constant), split_sizes=[2, 3], dim=1), *1::1
    [addmm(B2, x, W2), addmm(B3, x, W3)]
        -> *1::0 -> split_with_sizes(addmm(constant, x, constant), split_sizes=[2, 3], dim=1), *1::1
    [bmm(batch, P2), bmm(batch, P3)]
        -> *1::0 -> split_with_sizes(bmm(batch, constant), split_sizes=[2, 3], dim=2), *1::1
    [matmul(batch, W2), matmul(batch, W3)]
        -> *1::0 -> split_with_sizes(matmul(batch, constant), split_sizes=[2, 3], dim=2), *1::1
    [linear(x, L2, B2), linear(x, L3)] -> linear(x, L2, B2), linear(x, L3)
"""))  # fmt: skip
def test_products_of_one_left_factor_are_merged_if_all_or_none_have_a_bias(before, after, dtype):
    check_pass("MergeMatMulOnLHS", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(B5, mm(x, W5)) -> linear(x, W5, B5)
    add(ROW, mm(x, W5)) -> linear(x, W5, ROW)
"""))  # fmt: skip
def test_a_product_and_a_sum_are_a_linear_layer(before, after, dtype):
    check_pass("FoldMatMulAddIntoFullyConnected", before, after, SHAPES, dtype)


def test_a_product_and_a_sum_that_are_not_a_linear_layer(dtype):
    shapes = {**SHAPES, "w": trained(4, 5, dtype=dtype)}
    check_pass("FoldMatMulAddIntoFullyConnected", "add(mm(x, w), B5)", "addmm(B5, x, w)", shapes, dtype)
    reason = "the other summand does not have one number per column"
    check_reason("FoldMatMulAddIntoFullyConnected", "add(mm(x, W5), COLUMN)", reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    mm(view(clone(permute(a, [0, 2, 1])), [1, 6]), K) -> mm(reshape(a, shape=[1, 6]), K)
    linear(reshape(permute(c, [0, 3, 1, 2]), [2, 60]), M, B7) -> linear(reshape(c, shape=[2, 60]), M, B7)
    addmm(B7, reshape(permute(c, [0, 3, 1, 2]), [2, 60]), N) -> addmm(B7, reshape(c, shape=[2, 60]), N)
"""))  # fmt: skip
def test_a_transpose_before_a_product_is_applied_to_the_weight(before, after, dtype):
    check_pass("EliminateNoop MergeTransposeIntoMatMulOrFC", before, after, SHAPES, dtype)


def test_a_transpose_that_moves_the_batch_stays_before_a_product(dtype):
    before = "mm(reshape(permute(b, [1, 0, 2]), [2, 6]), L)"
    reason = "the transpose moves the batch, or the reshape keeps more than the first axis"
    check_reason("MergeTransposeIntoMatMulOrFC", before, reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    conv2d(pad(image, [2, 2, 1, 1]), FILTER, None, [1, 1], [1, 0]) -> conv2d(image, FILTER, padding=[2, 2])
    convolution(pad(image, [2, 2, 1, 1]), FILTER, None, [1, 1], [1, 0], [1, 1], False, [0, 0], 1)
        -> convolution(image, FILTER, bias=None, stride=[1, 1], padding=[2, 2], dilation=[1, 1], transposed=False,
           output_padding=[0, 0], groups=1)
    conv2d_nhwc(constant_pad_nd(nhwc, [0, 0, 2, 2, 1, 1]), FILTER) -> conv2d_nhwc(nhwc, FILTER, padding=[1, 2])
"""))  # fmt: skip
def test_zero_padding_is_fused_into_a_convolution(before, after, dtype):
    check_pass("MergePadIntoConvolution", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("padded", "reason"), [
    ("constant_pad_nd(image, [1, 1, 1, 1], 2.0), FILTER", "it is not padded with zeros"),
    ("constant_pad_nd(image, [1, 0, 1, 1]), FILTER", "the padding is asymmetric"),
    ("constant_pad_nd(image, [-1, -1, -1, -1]), FILTER", "the padding is negative"),
    ("constant_pad_nd(image, [0, 0, 0, 0, 1, 1]), WIDE", "the batch or the channels are padded too"),
])  # fmt: skip
def test_other_padding_stays_before_a_convolution(padded, reason, dtype):
    check_reason("MergePadIntoConvolution", f"conv2d({padded}, None, [1, 1], [2, 2])", reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    div(exp(c), sum(exp(c), [0], True)) -> softmax(c, dim=0)
    div(exp(c), sum(exp(c), [1], True)) -> softmax(c, dim=1)
    div(exp(c), sum(exp(c), [-1], True)) -> softmax(c, dim=3)
"""))  # fmt: skip
def test_exponentials_over_their_sum_are_a_softmax(before, after, dtype):
    check_pass("FoldExpSumDivIntoSoftmax", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "reason"), [
    ("div(exp(x), sum(exp(y), [1], True))", "the sum is of the exponentials of another tensor"),
    ("e = exp(x); div(e, sum(e, [0, 1], True))", "the sum is not over one axis with keepdim=True"),
])  # fmt: skip
def test_exponentials_over_a_different_sum_are_not_a_softmax(before, reason, dtype):
    check_reason("FoldExpSumDivIntoSoftmax", before, reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    view(clone(permute(view(d, [2, 2, 3, 4, 6]), [0, 2, 1, 3, 4]), memory_format=torch.contiguous_format), [2, 6, 4, 6])
        -> channel_shuffle(d, groups=2)
    view(clone(permute(view(d, [2, 6, 4, 2, 3]), [0, 1, 2, 4, 3]), memory_format=torch.contiguous_format), [2, 6, 4, 6])
        -> channel_shuffle(d, groups=2, axis=3)
"""))  # fmt: skip
def test_two_reshapes_and_a_transpose_are_a_channel_shuffle(before, after, dtype):
    check_pass("FoldChannelShuffle", before, after, SHAPES, dtype)


def test_a_transpose_of_other_axes_is_not_a_channel_shuffle(dtype):
    before = "reshape(permute(view(d, [2, 2, 3, 4, 6]), [0, 3, 2, 1, 4]), [2, 6, 4, 6])"
    reason = "the transpose does not exchange two adjacent axes"
    check_reason("FoldChannelShuffle", before, reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(add(SCALE, mul(layer_norm(batch, [4], B4, C4), D4), alpha=2), splat(2.0))
        -> layer_norm(batch, B4, C4, normalized_shape=[4])
    add(add(SCALE, mul(layer_norm(batch, [4]), D4), alpha=2), splat(2.0))
        -> layer_norm(batch, constant, constant, normalized_shape=[4])
"""))  # fmt: skip
def test_arithmetic_is_fused_into_a_layer_norm(before, after, dtype):
    check_pass("FoldLayerNormArithmetic", before, after, SHAPES, dtype)


@pytest.mark.parametrize("before", ["add(layer_norm(batch, [4], B4, C4), OTHER)", "add(layer_norm(batch, [4]), OTHER)"])
def test_arithmetic_of_another_shape_stays_behind_a_layer_norm(before, dtype):
    reason = "the constant does not have the normalized shape"
    check_reason("FoldLayerNormArithmetic", before, reason, SHAPES, dtype)


def test_merging_is_recorded_as_one_rewrite(dtype):
    weight = constant(4, 5, dtype=dtype)
    inputs = [tensor(3, 4, dtype=dtype, name=f"x{i}") for i in range(3)]
    graph = FunctionGraph(inputs, [call(aten.mm.default, x, weight) for x in inputs])
    done = run(graph, "MergeMatMulOnRHS", until_fixed_point=True)
    assert [(entry.changed, entry.rounds) for entry in done] == [(True, 2)]
