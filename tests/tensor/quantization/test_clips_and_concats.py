"""Clips, relus, concats and transposes next to quantization."""

import pytest
import torch

from explorer.tensor import Constant, FunctionGraph, Quantization, call, quantized
from explorer.tensor.passes.clips import optimize_quantize_clip
from tests.tensor.quantization.building import (
    A,
    B,
    C,
    aten,
    integers,
    ops,
    optimize,
    reals,
    reasons,
    run,
    with_passes,
)

EXACT, LOSSY = "OptimizeQuantizeClip", "OptimizeQuantizeClipLossy"
POSITIVE = Quantization(0.05, -128)
"""Of the numbers from 0 to 12.75."""


def clip(x, low, high):
    return call(aten.clamp.default, x, low, high)


def test_a_clip_wider_than_the_quantized_range_is_removed():
    x = reals()
    assert ops(optimize([x], quantized.quantize(clip(x, -7.0, 6.5), A), EXACT)) == ["quantize"]
    assert ops(optimize([x], quantized.quantize(call(aten.relu.default, x), POSITIVE), EXACT)) == ["quantize"]
    y = integers(A)
    assert ops(optimize([y], clip(quantized.dequantize(y), -7.0, 6.5), EXACT)) == ["dequantize"]


def test_a_clip_narrower_than_the_quantized_range_stays():
    x, y = reals(), integers(A, name="y")
    declined = reasons([x], quantized.quantize(clip(x, 0.0, 1.0), A), EXACT)
    assert declined == ["the clip is narrower than the range of the integers"]
    assert reasons([y], clip(quantized.dequantize(y), 0.0, 1.0), EXACT) == declined


def test_quantization_gets_the_range_of_a_clip_above_it():
    x, y = reals(), integers(B, name="y")
    sum_ = quantized.apply(quantized.add, [quantized.quantize(clip(x, 0.0, 6.0), A), y], C)
    graph = optimize([x, y], sum_, LOSSY, within=1)
    assert ops(graph) == ["quantize", "quantized_add"]
    assert graph.toposort()[0].outputs[0].type.quantization == Quantization(6.0 / 255, -128)


def test_an_operator_gets_the_range_of_the_following_clip():
    x, y = integers(A), integers(B, name="y")
    sum_ = quantized.dequantize(quantized.apply(quantized.add, [x, y], C))
    graph = optimize([x, y], clip(sum_, 0.0, 6.0), LOSSY, within=C.scale)
    assert ops(graph) == ["quantized_add", "dequantize"]
    graph = optimize([x, y], call(aten.relu.default, sum_), LOSSY, within=C.scale)
    assert ops(graph) == ["quantized_add", "dequantize"]


def test_a_concat_of_integers_keeps_their_scales_alike():
    """Glow: a quantize that a concat reads keeps its parameters."""
    x, y = reals(), integers(A, name="y")
    joined = call(aten.cat.default, [quantized.quantize(clip(x, 0.0, 6.0), A), y], 1)
    assert reasons([x, y], joined, LOSSY) == [
        "the clip is narrower than the range of the integers",
        "the user of the integers does not accept another scale",
    ]


def test_tensors_with_other_users_keep_their_scale():
    x, y = integers(A), integers(B, name="y")
    whole = quantized.apply(quantized.add, [x, y], C)
    declined = reasons([x, y], [clip(quantized.dequantize(whole), 0.0, 6.0), whole], LOSSY)
    assert declined[-1].startswith("the integers have other users, or their owner does not accept another scale")


@pytest.mark.parametrize("options", [{"lossy": False}, {"lossy": True, "enable_quant_param_changes": False}])
def test_ranges_change_only_with_both_permissions(options):
    x, y = integers(A), integers(B, name="y")
    made = optimize_quantize_clip("Careful", **options)
    graph = FunctionGraph([x, y], [clip(quantized.dequantize(quantized.apply(quantized.add, [x, y], C)), 0.0, 6.0)])
    (done,) = run(graph, "Careful", registry=with_passes(made))
    assert not done.changed


def test_a_quantized_clip_of_narrower_integers_is_removed():
    x = integers(A)
    y = quantized.apply(quantized.clip, [x], A, min=-7.0, max=6.5)
    assert ops(optimize([x], quantized.dequantize(y), "RemoveIdentityClip")) == ["dequantize"]
    y = quantized.apply(quantized.clip, [x], B, min=-7.0, max=6.5)
    assert ops(optimize([x], y, "RemoveIdentityClip")) == ["rescale_quantized"]
    y = quantized.apply(quantized.clip, [x], A, min=0.0, max=6.5)
    assert reasons([x], y, "RemoveIdentityClip") == ["its input can represent numbers from -6.55 to 6.2"]


# ---------------------------------------------------------------------- joins


def test_a_concat_between_dequantize_and_quantize_concats_integers():
    x, y = integers(A), integers(B, name="y")
    joined = call(aten.cat.default, [quantized.dequantize(x), quantized.dequantize(y)], 1)
    graph = optimize([x, y], quantized.quantize(joined, B), "OptimizeConcatQuantization")
    assert ops(graph) == ["rescale_quantized", "cat"]
    assert graph.outputs[0].type.quantization == B


def test_a_concat_with_real_inputs_or_users_stays():
    x, y = integers(A), reals(name="y")
    parts = [quantized.dequantize(x), y]
    declined = reasons([x, y], quantized.quantize(call(aten.cat.default, parts), A), "OptimizeConcatQuantization")
    assert declined == ["not all inputs of the concat are dequantized"]
    joined = call(aten.cat.default, parts[:1] * 2)
    declined = reasons([x], [quantized.quantize(joined, A), joined], "OptimizeConcatQuantization")
    assert declined == ["the concat has other users in floating point"]


# ---------------------------------------------------------------------- linear layer and relu


def linear(x, outputs=6):
    """A quantized linear layer, dequantized."""
    features = x.type.shape[-1]
    weight = Constant(torch.arange(outputs * features, dtype=torch.int8).reshape(outputs, features), quantization=B)
    return quantized.dequantize(quantized.apply(quantized.linear, [x, weight], Quantization(4.0, 20)))


def test_a_relu_of_a_linear_layer_is_quantized():
    x = integers(A, 4, 5)
    graph = optimize([x], call(aten.relu.default, linear(x)), "OptimizeQuantFCFloatRelu")
    assert ops(graph) == ["quantized_linear", "quantized_relu", "dequantize"]


def test_a_relu_of_something_else_does_not_end_the_search():
    """Glow ends the pass at the first relu that is not of a linear layer."""
    x, y = integers(A, 4, 5), reals(4, 5, name="y")
    other = call(aten.relu.default, quantized.dequantize(quantized.apply(quantized.mul, [x, x], C)))
    outputs = [call(aten.relu.default, y), other, call(aten.relu.default, linear(x))]
    graph = optimize([x, y], outputs, "OptimizeQuantFCFloatRelu")
    assert ops(graph).count("quantized_relu") == 1
    assert ops(graph).count("relu") == 2


def test_a_linear_layer_with_other_users_keeps_its_relu():
    x = integers(A, 4, 5)
    y = linear(x)
    declined = reasons([x], [call(aten.relu.default, y), y], "OptimizeQuantFCFloatRelu")
    assert declined == ["the result of the linear layer has other users"]


# ---------------------------------------------------------------------- transposes and reshapes

CONVERSIONS = [
    (lambda x: quantized.quantize(x, A), reals(1, 5, 10, 15)),
    (quantized.dequantize, integers(A, 1, 5, 10, 15)),
    (lambda x: quantized.rescale(x, B), integers(A, 1, 5, 10, 15)),
]


@pytest.mark.parametrize(("convert", "x"), CONVERSIONS, ids=["quantize", "dequantize", "rescale"])
def test_a_transpose_moves_below_a_conversion(convert, x):
    graph = optimize([x], convert(call(aten.permute.default, x, [0, 2, 3, 1])), "SinkCode")
    assert len(graph) == 2
    assert ops(graph)[1] == "permute"
    assert graph.toposort()[0].outputs[0].type.shape == (1, 5, 10, 15)


def test_a_transpose_with_other_users_stays_above_quantize():
    x = reals(1, 5, 10, 15)
    moved = call(aten.permute.default, x, [0, 2, 3, 1])
    declined = reasons([x], [quantized.quantize(moved, A), moved], "SinkCode")
    assert declined == ["the transposed tensor has other users in floating point"]
    graph = optimize([x], [quantized.quantize(moved, A), quantized.quantize(moved, B)], "SinkCode")
    assert ops(graph) == ["quantize", "permute"] * 2


def test_a_reshape_moves_below_quantize():
    x = reals()
    assert ops(optimize([x], quantized.quantize(call(aten.view.default, x, [6, 16]), A), "SinkCode")) == [
        "quantize",
        "reshape",
    ]


def test_a_transpose_of_a_quantized_constant_is_evaluated():
    """Glow: Transpose(Quantize(Constant)) is Quantize(Constant), the constant transposed."""
    weight = Constant(torch.rand(1, 10, 20, 3), "weight")
    y = call(aten.permute.default, quantized.quantize(weight, A), [0, 3, 1, 2])
    graph = optimize([], y, "TransposeConstants")
    assert ops(graph) == ["quantize"]
    assert graph.toposort()[0].inputs[0].type.shape == (1, 3, 10, 20)


def test_a_transpose_without_quantized_type_inference_stays_below_a_rescale():
    x = integers(A, 2, 3)
    turned = call(aten.mT.default, quantized.rescale(x, B))
    assert ops(optimize([x], turned, "OptimizeQuantization")) == ["rescale_quantized", "mT"]
