"""Transposes and SinkCode: moved and cancelled operators, with equal bits."""

import re

import pytest
import torch

from explorer.tensor import Constant, FunctionGraph, call
from tests.tensor.passes.checking import (
    aten,
    check_pass,
    constant,
    full,
    graph_pass,
    held,
    nodes,
    ops,
    optimized,
    reasons,
    tensor,
)
from tests.tensor.text_form import rewrites

NCHW2NHWC = [0, 2, 3, 1]
NHWC2NCHW = [0, 3, 1, 2]
SHAPE = (1, 5, 10, 15)


def transposed(variable, order=NCHW2NHWC):
    return call(aten.permute.default, variable, order)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    relu(permute(permute(x, [0, 2, 3, 1]), [0, 3, 1, 2])) -> relu(x)
    relu(permute(x, [0, 1, 2, 3])) -> relu(x)
    relu(permute(transpose(x, -1, 1), [0, 3, 2, 1])) -> relu(x)
    relu(permute(permute(x, [0, -1, 2, 1]), [0, 3, 2, 1])) -> relu(x)
    relu(t(numpy_T(m))) -> relu(m)
"""))  # fmt: skip
def test_transposes_that_undo_each_other_are_gone(before, after, dtype):
    check_pass("SinkCode", before, after, {"x": SHAPE, "m": (3, 4)}, dtype)


def test_four_transposes_are_one(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    y = x
    for order in ([0, 3, 2, 1], [0, 2, 3, 1], [1, 0, 3, 2], [3, 1, 2, 0]):
        y = transposed(y, order)
    assert nodes(FunctionGraph([x], [y])) == 5
    graph = optimized([x], y, "SinkCode", until_fixed_point=True)
    assert (ops(graph), nodes(graph)) == (["permute"], 2)
    assert graph.toposort()[0].inputs == graph.inputs
    assert graph.outputs[0].tensor_type.shape == (5, 1, 15, 10)


@pytest.mark.parametrize(("before", "after"), rewrites("""
    permute(x, [1, 2, 0, 3]) -> reshape(x, shape=[3, 2, 1, 4])
    permute(x, [0, 2, 1, 3]) -> permute(x, dims=[0, 2, 1, 3])
"""))  # fmt: skip
def test_a_transpose_of_axes_of_size_1_is_a_reshape(before, after, dtype):
    check_pass("OptimizeTransposeIntoReshape", before, after, {"x": (1, 3, 2, 4)}, dtype)


def test_a_transpose_of_a_constant_is_a_constant(dtype):
    c = constant(2, 3, 4, 5, dtype=dtype)
    graph = optimized([], transposed(c), "TransposeConstants")
    assert ops(graph) == []
    assert torch.equal(held(graph.outputs[0]).data, c.data.permute(NCHW2NHWC))


def test_a_transpose_of_a_parameter_that_may_change_stays(dtype):
    weight = Constant(torch.nn.Parameter(torch.rand(2, 3, dtype=dtype)), "weight", trainable=True)
    graph = optimized([], call(aten.t.default, weight), "TransposeConstants")
    assert ops(graph) == ["t"]


ELEMENTWISE = {
    "relu": lambda x: call(aten.relu.default, x),
    "leaky_relu": lambda x: call(aten.leaky_relu.default, x, 0.3),
    "clamp": lambda x: call(aten.clamp.default, x, -0.3, 0.4),
    "hardtanh": lambda x: call(aten.hardtanh.default, x, -0.3, 0.4),
    "relu6": lambda x: call(aten.relu6.default, x),
    "sigmoid": lambda x: call(aten.sigmoid.default, x),
    "tanh": lambda x: call(aten.tanh.default, x),
    "gelu": lambda x: call(aten.gelu.default, x),
    "silu": lambda x: call(aten.silu.default, x),
    "prelu": lambda x: call(aten.prelu.default, x, full(0.25, 1, dtype=x.tensor_type.dtype)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_transpose_moves_below_an_operator_on_each_number(name, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    graph = optimized([x], ELEMENTWISE[name](transposed(x)), "SinkCode")
    assert ops(graph) == [name, "permute"]
    assert graph.toposort()[0].outputs[0].tensor_type.shape == SHAPE


def test_prelu_with_slopes_along_a_moved_axis_stays_where_it_is(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    slopes = call(aten.prelu.default, transposed(x), constant(10, dtype=dtype))
    assert reasons([x], slopes, "SinkCode") == ["it has 10 slopes along axis 1, which the transpose moves"]


def norm(x, channels, dtype, seed=0):
    parts = [constant(channels, dtype=dtype, seed=seed + i) for i in range(4)]
    return call(aten._native_batch_norm_legit_no_training.default, x, *parts, 0.1, 1e-3)[0]


def test_a_transpose_moves_below_a_batch_norm_whose_channels_it_leaves(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    graph = optimized([x], norm(transposed(x, [0, 1, 3, 2]), 5, dtype), "SinkCode")
    assert ops(graph)[-1] == "permute"
    assert len(graph) == 2


def test_a_reshape_of_the_inner_axes_moves_below_a_batch_norm(dtype):
    x = tensor(2, 5, 4, 3, dtype=dtype)
    flat = call(aten.view.default, x, [2, 5, 12])
    graph = optimized([x], norm(flat, 5, dtype), "SinkCode")
    assert ops(graph) == ["_native_batch_norm_legit_no_training", "reshape"]


def test_a_reshape_of_the_channels_stays_above_a_batch_norm(dtype):
    x = tensor(2, 10, 2, 3, dtype=dtype)
    declined = reasons([x], norm(call(aten.view.default, x, [2, 5, 4, 3]), 5, dtype), "SinkCode")
    assert declined == ["the reshape changes the batch or the channels"]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum"])
def test_a_transpose_moves_below_arithmetic_of_two_transposed_tensors(name, dtype):
    x, y = tensor(*SHAPE, dtype=dtype), tensor(*SHAPE, dtype=dtype, name="y")
    target = aten.maximum.default if name == "maximum" else aten.minimum.default if name == "minimum" else None
    target = target or getattr(aten, name).Tensor
    graph = optimized([x, y], call(target, transposed(x), transposed(y)), "SinkCode")
    assert ops(graph) == [name, "permute"]


def test_a_transpose_moves_below_powers(dtype):
    x, y = tensor(*SHAPE, dtype=dtype), tensor(*SHAPE, dtype=dtype, name="y")
    above = call(aten.abs.default, x)
    graph = optimized([x, y], call(aten.pow.Tensor_Tensor, transposed(above), transposed(y)), "SinkCode")
    assert ops(graph) == ["abs", "pow", "permute"]


def test_of_two_transposes_below_a_sum_and_a_power_one_is_left(dtype):
    x, y = tensor(*SHAPE, dtype=dtype), tensor(*SHAPE, dtype=dtype, name="y")
    a, b = transposed(x, NHWC2NCHW), transposed(y, NHWC2NCHW)
    power = call(aten.pow.Tensor_Tensor, call(aten.add.Tensor, a, b), b)
    assert nodes(FunctionGraph([x, y], [power])) == 5
    given = [torch.rand(SHAPE, dtype=dtype) + 0.1 for _ in range(2)]  # a power of a number below 0 is none
    graph = optimized([x, y], power, "SinkCode", until_fixed_point=True, given=given)
    assert (ops(graph), nodes(graph)) == (["add", "pow", "permute"], 4)
    assert graph.toposort()[1].outputs[0].tensor_type.shape == SHAPE


@pytest.mark.parametrize("first", [True, False])
def test_a_constant_that_is_added_to_a_transpose_is_transposed_back(first, dtype):
    p, c = tensor(*SHAPE, dtype=dtype, name="p"), constant(1, 15, 5, 10, dtype=dtype)
    pair = (c, transposed(p, NHWC2NCHW)) if first else (transposed(p, NHWC2NCHW), c)
    graph = optimized([p], call(aten.add.Tensor, *pair), "SinkCode")
    assert (ops(graph), nodes(graph)) == (["add", "permute"], 3)
    total = graph.toposort()[0]
    assert total.inputs[first] is graph.inputs[0]
    assert torch.equal(held(total.inputs[not first]).data, c.data.permute(NCHW2NHWC))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("shape", [(1, 10, 15, 5), (15, 5), (5,), ()])
def test_a_constant_on_one_side_is_transposed_back(shape, first, dtype):
    x, c = tensor(*SHAPE, dtype=dtype), constant(*shape, dtype=dtype)
    pair = (c, transposed(x)) if first else (transposed(x), c)
    graph = optimized([x], call(aten.sub.Tensor, *pair), "SinkCode")
    assert ops(graph) == ["sub", "permute"]


def test_a_constant_with_more_axes_stops_a_transpose(dtype):
    x = tensor(4, 5, dtype=dtype)
    declined = reasons([x], call(aten.add.Tensor, transposed(x, [1, 0]), constant(2, 5, 4, dtype=dtype)), "SinkCode")
    assert declined == ["its other input is neither transposed nor a constant"]


def test_tensors_transposed_in_different_ways_stay_so(dtype):
    x, y = tensor(2, 2, 2, dtype=dtype), tensor(2, 2, 2, dtype=dtype, name="y")
    mixed = call(aten.add.Tensor, transposed(x, [1, 2, 0]), transposed(y, [2, 0, 1]))
    assert reasons([x, y], mixed, "SinkCode") == ["its inputs are transposed differently"]


def test_padding_goes_with_its_axes(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    # Glow lists what is before all axes, then what is behind them: 0 2 3 1, 4 6 7 5 of (N, H, W, C). PyTorch begins
    # with what is before and behind the last axis.
    padded = call(aten.constant_pad_nd.default, transposed(x), [1, 5, 3, 7, 2, 6, 0, 4], 23.0)
    assert padded.tensor_type.shape == (5, 18, 25, 11)
    graph = optimized([x], padded, "SinkCode")
    assert (ops(graph), nodes(graph)) == (["constant_pad_nd", "permute"], 3)
    pad = graph.toposort()[0]
    assert pad.op["pad"] == (3, 7, 2, 6, 1, 5, 0, 4), "0 1 2 3, 4 5 6 7 of (N, C, H, W)"
    assert pad.outputs[0].tensor_type.shape == (5, 11, 18, 25)


def test_padding_by_reflection_stays_below_a_transpose(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    declined = reasons([x], call(aten.pad.default, transposed(x), [1, 1, 1, 1], "reflect"), "SinkCode")
    assert declined == ["reflect padding works on the last axes only"]


def test_repeating_goes_with_its_axis(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    graph = optimized([x], call(aten.repeat.default, transposed(x, NHWC2NCHW), [1, 4, 1, 1]), "SinkCode")
    assert (ops(graph), nodes(graph)) == (["repeat", "permute"], 3)
    assert graph.toposort()[0].op["repeats"] == (1, 1, 1, 4), "4 times along axis 1 are 4 times along axis 3"
    graph = optimized([x], call(aten.repeat.default, transposed(x), [1, 4, 1, 2]), "SinkCode")
    assert graph.toposort()[0].op["repeats"] == (1, 2, 4, 1)
    tiled = optimized([x], call(aten.tile.default, transposed(x), [3, 2]), "SinkCode")
    assert tiled.toposort()[0].op["dims"] == (1, 2, 1, 3)


def test_a_transpose_moves_below_a_channel_shuffle_and_meets_its_inverse(dtype):
    x = tensor(1, 4, 6, 8, dtype=dtype)
    back = transposed(call(aten.channel_shuffle.default, transposed(x, NHWC2NCHW), 4), NCHW2NHWC)
    assert nodes(FunctionGraph([x], [back])) == 4
    graph = optimized([x], back, "SinkCode", until_fixed_point=True)
    assert (ops(graph), nodes(graph)) == (["channel_shuffle"], 2)
    shuffle = graph.toposort()[0].op
    assert (shuffle["groups"], shuffle["axis"]) == (4, 3)


def test_a_transpose_moves_below_a_concat(dtype):
    x, y = tensor(*SHAPE, dtype=dtype), tensor(*SHAPE, dtype=dtype, name="y")
    joined = call(aten.cat.default, [transposed(x), transposed(y)], 1)
    assert nodes(FunctionGraph([x, y], [joined])) == 4
    graph = optimized([x, y], joined, "SinkCode")
    assert (ops(graph), nodes(graph)) == (["cat", "permute"], 3)
    assert graph.toposort()[0].op["dim"] == 2
    assert graph.toposort()[0].outputs[0].tensor_type.shape == (1, 5, 20, 15)


def test_relus_of_all_inputs_move_below_a_concat(dtype):
    x, y = tensor(*SHAPE, dtype=dtype), tensor(*SHAPE, dtype=dtype, name="y")
    relus = [call(aten.relu.default, v) for v in (x, y)]
    graph = optimized([x, y], call(aten.cat.default, relus, 1), "SinkCode")
    assert (ops(graph), nodes(graph)) == (["cat", "relu"], 3)
    assert graph.toposort()[0].outputs[0].tensor_type.shape == (1, 10, 10, 15)
    declined = reasons([x, y], [call(aten.cat.default, relus, 1), relus[0]], "SinkCode")
    assert declined == ["one of the relus has other users"]


def test_a_clip_moves_below_a_relu(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    clipped = call(aten.clamp.default, x, -1.5, 2.5)
    graph = optimized([x], call(aten.relu.default, clipped), "SinkCode")
    assert ops(graph) == ["relu", "clamp"]
    assert (graph.toposort()[1].op["min"], graph.toposort()[1].op["max"]) == (0.0, 2.5)


def test_a_clip_below_0_stays_above_a_relu(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    declined = reasons([x], call(aten.relu.default, call(aten.clamp.default, x, -3.0, -1.0)), "SinkCode")
    assert declined == ["the upper bound -1 is below 0: it would be the result instead of 0"]


def test_a_batch_norm_moves_below_a_slice_that_keeps_the_channels(dtype):
    x = tensor(2, 5, 6, 3, dtype=dtype)
    graph = optimized([x], call(aten.slice.Tensor, norm(x, 5, dtype), 2, 1, 4), "SinkCode")
    assert ops(graph) == ["slice", "_native_batch_norm_legit_no_training"]
    declined = reasons([x], call(aten.slice.Tensor, norm(x, 5, dtype), 1, 1, 4), "SinkCode")
    assert declined == ["the slice is along the channels"]


def test_a_transpose_is_sunk_through_a_whole_chain_in_one_round(dtype):
    x = tensor(*SHAPE, dtype=dtype)
    y = call(aten.neg.default, call(aten.relu.default, transposed(x)))
    y = call(aten.mul.Tensor, y, constant(1, 10, 15, 5, dtype=dtype))
    graph = optimized([x], transposed(y, NHWC2NCHW), "SinkCode")
    assert ops(graph) == ["relu", "neg", "mul"]


def test_values_hold_where_a_view_follows_a_moved_transpose(dtype):
    x = tensor(2, 3, 4, 5, dtype=dtype)
    copied = call(aten.clone.default, transposed(x), memory_format=torch.contiguous_format)
    flat = call(aten.view.default, call(aten.relu.default, copied), [2, 60])
    graph = optimized([x], flat, "EliminateNoop", "SinkCode")
    assert ops(graph) == ["relu", "permute", "view"]


def test_a_graph_of_the_passes_says_what_it_did_in_one_line_for_each_rewrite():
    x = tensor(*SHAPE)
    graph = FunctionGraph([x], [call(aten.relu.default, transposed(x))])
    profile = graph_pass("SinkCode").run(graph)
    counts = profile.rules["transpose_below_elementwise"]
    assert (counts.tried, counts.matched, counts.applied, counts.nodes_made) == (2, 1, 1, 2)
    head, *rows = str(profile).splitlines()
    assert head.split() == ["rule", "tried", "matched", "applied", "nodes", "ms"]
    assert len(rows) == len(profile.rules)
    (row,) = (row for row in rows if row.startswith("transpose_below_elementwise "))
    assert re.fullmatch(r"transpose_below_elementwise +2 +1 +1 +2 +\d+\.\d\d", row)
    assert all(re.fullmatch(r"\w+ +\d+ +0 +0 +0 +\d+\.\d\d", other) for other in rows if other is not row)


@pytest.mark.parametrize("order", [NCHW2NHWC, NHWC2NCHW, [1, 0, 2, 3]])
def test_a_transpose_that_moves_the_channels_moves_below_a_batch_norm_with_an_axis(order, dtype):
    x = tensor(*SHAPE, dtype=dtype)
    y = transposed(x, order)
    graph = optimized([x], norm(y, y.tensor_type.shape[1], dtype), "SinkCode")
    assert ops(graph) == ["batch_norm", "permute"]
    assert graph.toposort()[0].op["axis"] == order[1]
    assert graph.toposort()[0].outputs[0].tensor_type.shape == SHAPE
    again = optimized(
        [x], transposed(norm(y, y.tensor_type.shape[1], dtype), sorted(range(4), key=order.__getitem__)), "SinkCode"
    )
    assert ops(again) == ["batch_norm"]
