"""Transposes and SinkCode: moved and cancelled operators, with equal bits."""

import re

import pytest
import torch

from explorer.tensor import FunctionGraph
from tests.tensor.passes.checking import check_pass, check_reason, graph_pass, read, trained
from tests.tensor.text_form import rewrites

SHAPE = (1, 5, 10, 15)
SHAPES = {
    "x": SHAPE, "y": SHAPE, "z": (1, 4, 6, 8), "v": (2, 3, 4, 5), "w": (2, 2, 2), "u": (2, 2, 2),
    "m": (3, 4), "n": (4, 5), "C": (1, 15, 5, 10), "D": (2, 5, 4), "E": (10,), "F": (1, 10, 15, 5),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), rewrites("""
    relu(permute(permute(x, [0, 2, 3, 1]), [0, 3, 1, 2])) -> relu(x)
    relu(permute(x, [0, 1, 2, 3])) -> relu(x)
    relu(permute(transpose(x, -1, 1), [0, 3, 2, 1])) -> relu(x)
    relu(permute(permute(x, [0, -1, 2, 1]), [0, 3, 2, 1])) -> relu(x)
    relu(t(numpy_T(m))) -> relu(m)
"""))  # fmt: skip
def test_inverse_transposes_cancel(before, after, dtype):
    check_pass("SinkCode", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    permute(permute(permute(permute(x, [0, 3, 2, 1]), [0, 2, 3, 1]), [1, 0, 3, 2]), [3, 1, 2, 0])
        -> permute(x, dims=[1, 0, 3, 2])
    permute(channel_shuffle(permute(z, [0, 3, 1, 2]), 4), [0, 2, 3, 1]) -> channel_shuffle(z, groups=4, axis=3)
"""))  # fmt: skip
def test_transposes_are_merged(before, after, dtype):
    check_pass("SinkCode", before, after, SHAPES, dtype, until_fixed_point=True)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    permute(x, [1, 2, 0, 3]) -> reshape(x, shape=[3, 2, 1, 4])
    permute(x, [0, 2, 1, 3]) -> permute(x, dims=[0, 2, 1, 3])
"""))  # fmt: skip
def test_a_transpose_of_axes_of_size_1_is_a_reshape(before, after, dtype):
    check_pass("OptimizeTransposeIntoReshape", before, after, {"x": (1, 3, 2, 4)}, dtype)


def test_a_transpose_of_a_constant_is_a_constant(dtype):
    check_pass("TransposeConstants", "permute(C, [0, 2, 3, 1])", "C", SHAPES, dtype)


def test_a_transpose_of_a_parameter_that_may_change_stays(dtype):
    check_pass("TransposeConstants", "t(w)", "t(w)", {"w": trained(2, 3, dtype=dtype)}, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    relu(permute(x, [0, 2, 3, 1])) -> permute(relu(x), dims=[0, 2, 3, 1])
    leaky_relu(permute(x, [0, 2, 3, 1]), 0.3) -> permute(leaky_relu(x, negative_slope=0.3), dims=[0, 2, 3, 1])
    clamp(permute(x, [0, 2, 3, 1]), -0.3, 0.4) -> permute(clamp(x, min=-0.3, max=0.4), dims=[0, 2, 3, 1])
    hardtanh(permute(x, [0, 2, 3, 1]), -0.3, 0.4) -> permute(hardtanh(x, min_val=-0.3, max_val=0.4), dims=[0, 2, 3, 1])
    relu6(permute(x, [0, 2, 3, 1])) -> permute(relu6(x), dims=[0, 2, 3, 1])
    sigmoid(permute(x, [0, 2, 3, 1])) -> permute(sigmoid(x), dims=[0, 2, 3, 1])
    tanh(permute(x, [0, 2, 3, 1])) -> permute(tanh(x), dims=[0, 2, 3, 1])
    gelu(permute(x, [0, 2, 3, 1])) -> permute(gelu(x), dims=[0, 2, 3, 1])
    silu(permute(x, [0, 2, 3, 1])) -> permute(silu(x), dims=[0, 2, 3, 1])
    prelu(permute(x, [0, 2, 3, 1]), splat(0.25, 1)) -> permute(prelu(x, full(0.25)), dims=[0, 2, 3, 1])
"""))  # fmt: skip
def test_a_transpose_moves_below_an_operator_on_each_number(before, after, dtype):
    check_pass("SinkCode", before, after, SHAPES, dtype)


@pytest.mark.parametrize(("before", "reason"), [
    ("prelu(permute(x, [0, 2, 3, 1]), E)", "it has 10 slopes along axis 1, which the transpose moves"),
    ("add(permute(n, [1, 0]), D)", "its other input is neither transposed nor a constant"),
    ("add(permute(w, [1, 2, 0]), permute(u, [2, 0, 1]))", "its inputs are transposed differently"),
    ("pad(permute(x, [0, 2, 3, 1]), [1, 1, 1, 1], 'reflect')", "reflect padding works on the last axes only"),
])  # fmt: skip
def test_a_transpose_that_cannot_move_has_a_reason(before, reason, dtype):
    check_reason("SinkCode", before, reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    norm(permute(x, [0, 1, 3, 2])) -> permute(norm(x), dims=[0, 1, 3, 2])
    norm(view(v, [2, 3, 20])) -> reshape(norm(v), shape=[2, 3, 20])
"""))  # fmt: skip
def test_views_that_keep_the_channels_move_below_a_batch_norm(before, after, dtype):
    check_pass("SinkCode", before, after, SHAPES, dtype)


def test_a_reshape_of_the_channels_stays_above_a_batch_norm(dtype):
    reason = "the reshape changes the batch or the channels"
    check_reason("SinkCode", "norm(view(z, [1, 8, 3, 8]))", reason, SHAPES, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    add(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1])) -> permute(add(x, y), dims=[0, 2, 3, 1])
    sub(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1])) -> permute(sub(x, y), dims=[0, 2, 3, 1])
    mul(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1])) -> permute(mul(x, y), dims=[0, 2, 3, 1])
    div(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1])) -> permute(div(x, y), dims=[0, 2, 3, 1])
    maximum(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1])) -> permute(maximum(x, y), dims=[0, 2, 3, 1])
    minimum(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1])) -> permute(minimum(x, y), dims=[0, 2, 3, 1])
    pow.Tensor_Tensor(permute(abs(x), [0, 2, 3, 1]), permute(y, [0, 2, 3, 1]))
        -> permute(pow(abs(x), y), dims=[0, 2, 3, 1])
    cat(permute(x, [0, 2, 3, 1]), permute(y, [0, 2, 3, 1]), dim=1) -> permute(cat(x, y, dim=2), dims=[0, 2, 3, 1])
    add(permute(x, [0, 3, 1, 2]), C) -> permute(add(x, C), dims=[0, 3, 1, 2])
    add(C, permute(x, [0, 3, 1, 2])) -> permute(add(C, x), dims=[0, 3, 1, 2])
"""))  # fmt: skip
def test_a_transpose_moves_below_an_operator_on_two_tensors(before, after, dtype):
    check_pass("SinkCode", before, after, SHAPES, dtype)


def test_two_transposes_sink_below_a_sum_and_a_power_as_one(dtype):
    before = "b = permute(y, [0, 3, 1, 2]); pow.Tensor_Tensor(add(permute(x, [0, 3, 1, 2]), b), b)"
    given = [torch.rand(SHAPE, dtype=dtype) + 0.1 for _ in range(2)]  # a power of a number below 0 is none
    after = "permute(pow(add(x, y), y), dims=[0, 3, 1, 2])"
    check_pass("SinkCode", before, after, SHAPES, dtype, until_fixed_point=True, given=given)


@pytest.mark.parametrize(("before", "after"), [
    ("sub(permute(x, [0, 2, 3, 1]), C)", "permute(sub(x, C), dims=[0, 2, 3, 1])"),
    ("sub(C, permute(x, [0, 2, 3, 1]))", "permute(sub(C, x), dims=[0, 2, 3, 1])"),
])  # fmt: skip
@pytest.mark.parametrize("shape", [(1, 10, 15, 5), (15, 5), (5,), ()])
def test_a_constant_operand_is_transposed_back(shape, before, after, dtype):
    check_pass("SinkCode", before, after, {"x": SHAPE, "C": shape}, dtype)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    constant_pad_nd(permute(x, [0, 2, 3, 1]), [1, 5, 3, 7, 2, 6, 0, 4], 23.0)
        -> permute(constant_pad_nd(x, pad=[3, 7, 2, 6, 1, 5, 0, 4], value=23.0), dims=[0, 2, 3, 1])
    repeat(permute(x, [0, 3, 1, 2]), [1, 4, 1, 1]) -> permute(repeat(x, repeats=[1, 1, 1, 4]), dims=[0, 3, 1, 2])
    repeat(permute(x, [0, 2, 3, 1]), [1, 4, 1, 2]) -> permute(repeat(x, repeats=[1, 2, 4, 1]), dims=[0, 2, 3, 1])
    tile(permute(x, [0, 2, 3, 1]), [3, 2]) -> permute(tile(x, dims=[1, 2, 1, 3]), dims=[0, 2, 3, 1])
"""))  # fmt: skip
def test_padding_and_repeating_follow_their_axes(before, after, dtype):
    """Padding begins with what is before and behind the last axis; Glow lists what is before all axes first."""
    check_pass("SinkCode", before, after, SHAPES, dtype)


def test_relus_of_all_inputs_move_below_a_concat(dtype):
    check_pass("SinkCode", "cat(relu(x), relu(y), dim=1)", "relu(cat(x, y, dim=1))", SHAPES, dtype)
    other = "r = relu(x); [cat(r, relu(y), dim=1), r]"
    check_reason("SinkCode", other, "the relu of one of the inputs has other users", SHAPES, dtype)


def test_a_clip_moves_below_a_relu(dtype):
    check_pass("SinkCode", "relu(clamp(x, -1.5, 2.5))", "clamp(relu(x), min=0.0, max=2.5)", SHAPES, dtype)
    reason = "the upper bound -1 is below 0: it would be the result instead of 0"
    check_reason("SinkCode", "relu(clamp(x, -3.0, -1.0))", reason, SHAPES, dtype)


def test_a_batch_norm_moves_below_a_slice_that_keeps_the_channels(dtype):
    check_pass("SinkCode", "slice(norm(v), 2, 1, 3)", "norm(slice(v, dim=2, start=1, end=3))", SHAPES, dtype)
    check_reason("SinkCode", "slice(norm(v), 1, 1, 3)", "the slice is along the channels", SHAPES, dtype)


def test_a_transpose_is_sunk_through_a_whole_chain_in_one_round(dtype):
    before = "permute(mul(neg(relu(permute(x, [0, 2, 3, 1]))), F), [0, 3, 1, 2])"
    check_pass("SinkCode", before, "mul(neg(relu(x)), F)", SHAPES, dtype)


def test_values_hold_where_a_view_follows_a_moved_transpose(dtype):
    before = "view(relu(clone(permute(v, [0, 2, 3, 1]), memory_format=torch.contiguous_format)), [2, 60])"
    after = "view(permute(relu(v), dims=[0, 2, 3, 1]), size=[2, 60])"
    check_pass("EliminateNoop SinkCode", before, after, SHAPES, dtype)


def test_the_profile_of_a_pass_has_one_row_per_rule():
    graph = FunctionGraph(*read("relu(permute(x, [0, 2, 3, 1]))", SHAPES))
    profile = graph_pass("SinkCode").run(graph)
    counts = profile.rules["transpose_below_elementwise"]
    assert (counts.tried, counts.matched, counts.applied, counts.nodes_made) == (2, 1, 1, 2)
    head, *rows = str(profile).splitlines()
    assert head.split() == ["rule", "tried", "matched", "applied", "nodes", "ms"]
    assert len(rows) == len(profile.rules)
    (row,) = (row for row in rows if row.startswith("transpose_below_elementwise "))
    assert re.fullmatch(r"transpose_below_elementwise +2 +1 +1 +2 +\d+\.\d\d", row)
    assert all(re.fullmatch(r"\w+ +\d+ +0 +0 +0 +\d+\.\d\d", other) for other in rows if other is not row)


@pytest.mark.parametrize(("order", "axis", "back"), [
    ([0, 2, 3, 1], 2, [0, 3, 1, 2]),
    ([0, 3, 1, 2], 3, [0, 2, 3, 1]),
    ([1, 0, 2, 3], 0, [1, 0, 2, 3]),
])  # fmt: skip
def test_a_transpose_that_moves_the_channels_moves_below_a_batch_norm_with_an_axis(order, axis, back, dtype):
    normed = f"batch_norm(v, constant, constant, constant, constant, eps=0.001, axis={axis})"
    check_pass("SinkCode", f"norm(permute(v, {order}))", f"permute({normed}, dims={order})", SHAPES, dtype)
    check_pass("SinkCode", f"permute(norm(permute(v, {order})), {back})", normed, SHAPES, dtype)
