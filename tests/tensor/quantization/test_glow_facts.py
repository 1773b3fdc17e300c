"""The rules of OptimizeQuantization on the graphs of Glow's own tests, and on those that they must leave alone."""

import math

import pytest
import torch

from explorer.rewrite import Exactness
from explorer.tensor import Constant, FunctionGraph, Quantization, call, quantized
from explorer.tensor.passes.quantization import CHANGE_PARAMETERS, RULES, optimize_quantization
from tests.tensor.quantization.building import (
    A,
    B,
    C,
    aten,
    binary,
    exactness,
    integers,
    ops,
    optimize,
    reals,
    reasons,
    run,
    with_passes,
)

EXACT, LOSSY = "OptimizeQuantization", "OptimizeQuantizationLossy"
CONV = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}
WIDE = Quantization(8.0, 5)


def quanta(middle, last):
    """By how many quanta of the last scale a result may change if a rounding to the one in the middle is left out."""
    return math.floor(middle.scale / (2 * last.scale)) + 1


# ---------------------------------------------------------------------- pairs of conversions


def test_quantize_of_dequantize_with_another_scale_is_a_rescale():
    x = integers(A)
    graph = optimize([x], quantized.quantize(quantized.dequantize(x), B), EXACT)
    assert ops(graph) == ["rescale_quantized"]
    assert graph.outputs[0].type.quantization == B


def test_quantize_of_dequantize_with_the_same_scale_is_a_no_op():
    x = integers(A)
    same = quantized.quantize(quantized.dequantize(x), A)
    assert ops(optimize([x], quantized.dequantize(same), EXACT)) == ["dequantize"]
    declined = reasons([x], same, EXACT)
    assert declined == ["an output of the graph would share its memory with x"]


def test_quantize_of_dequantize_in_32_bits_stays():
    """float32 holds 24 bits: most integers would not come back."""
    x = integers(A)
    whole = quantized.quantize(quantized.dequantize(x), A, torch.int32)
    y = quantized.quantize(quantized.dequantize(whole), A)
    assert (
        reasons([x], [whole, y], EXACT)
        == ["its integers do not have 8 bits, and float32 does not represent all longer ones"] * 2
    )


def test_rescale_to_the_same_scale_is_a_no_op():
    x = integers(A)
    same = call(quantized.rescale_op, x, A.scale, A.offset, A.scale, A.offset)
    assert ops(optimize([x], quantized.dequantize(same), EXACT)) == ["dequantize"]


def test_dequantize_of_rescale_reads_the_input_of_the_rescale():
    x = integers(A)
    given = [torch.arange(-30, 66).reshape(2, 3, 4, 4).to(torch.int8)]  # what B can hold
    y = quantized.dequantize(quantized.rescale(x, B))
    graph = optimize([x], y, LOSSY, within=B.scale / 2 + 1e-6, given=given)
    assert ops(graph) == ["dequantize"]
    assert graph.toposort()[0].op["input_scale"] == A.scale


def test_dequantize_of_quantize_is_removed_only_on_request():
    x = reals()
    y = call(aten.neg.default, quantized.dequantize(quantized.quantize(x, A)))
    assert ops(optimize([x], y, EXACT)) == ["quantize", "dequantize", "neg"]
    given = [torch.linspace(-3, 3, 96).reshape(2, 3, 4, 4)]
    assert ops(optimize([x], y, LOSSY, within=A.scale / 2 + 1e-6, given=given)) == ["neg"]


def test_dequantize_of_quantize_clips_beyond_any_error_bound():
    """The error of the rule: it does not clip 1000 to the range of the integers."""
    x = reals(1)
    y = quantized.dequantize(quantized.quantize(x, A))
    optimize([x], y, LOSSY, within=1000 - (127 - A.offset) * A.scale + 1e-3, given=[torch.tensor([1000.0])])


def test_rescale_of_rescale_is_merged_within_quanta():
    x = integers(A)
    y = quantized.rescale(quantized.rescale(x, B), A)
    assert ops(optimize([x], y, EXACT)) == ["rescale_quantized"] * 2
    given = [torch.arange(-30, 66).reshape(2, 3, 4, 4).to(torch.int8)]
    graph = optimize([x], y, LOSSY, within=quanta(B, A), given=given)
    assert ops(graph) == []


def test_quantize_rescale_dequantize_is_a_no_op():
    """Glow: a constant splat of 4 to the scale 1/4, rescaled and dequantized, is 4 again: 4 nodes become 1."""
    four = Constant(torch.full((4, 10), 4.0))
    y = quantized.dequantize(quantized.rescale(quantized.quantize(four, Quantization(0.25, 4)), Quantization(0.5, 0)))
    graph = optimize([], y, EXACT)
    assert ops(graph) == []
    assert graph.outputs[0].number == 4.0
    x = reals(4, 10)
    y = quantized.dequantize(quantized.rescale(quantized.quantize(x, Quantization(0.25, 4)), Quantization(0.5, 0)))
    assert ops(optimize([x], call(aten.neg.default, y), LOSSY, within=0.125 + 0.25)) == ["neg"]


def test_rescale_of_quantize_quantizes_to_the_last_scale():
    x = reals()
    y = quantized.rescale(quantized.quantize(x, Quantization(0.1, 0)), B)
    assert ops(optimize([x], y, EXACT)) == ["quantize", "rescale_quantized"]
    graph = optimize([x], y, LOSSY, within=1)
    assert ops(graph) == ["quantize"]
    assert graph.outputs[0].type.quantization == B
    middle = quantized.quantize(x, A)
    declined = reasons([x], [quantized.rescale(middle, B), middle], LOSSY)
    assert declined == ["the result of quantize has other users"]


# ---------------------------------------------------------------------- what is known


def test_quantized_constant_has_integers_and_the_real_one_stays_for_other_users():
    tens = Constant(torch.full((4, 10), 10.0).index_fill(0, torch.tensor([0]), 6.0), "weight")
    inputs = [integers(A, 4, 10)]
    outputs = [quantized.quantize(tens, Quantization(2.0, 0)), call(aten.neg.default, tens)]
    graph = optimize(inputs, outputs, "ConvertQuantizedConstants")
    assert ops(graph) == ["neg"]
    assert graph.outputs[0].data.unique().tolist() == [3, 5]
    assert (graph.outputs[0].name, graph.outputs[0].type.dtype) == ("weight", torch.int8)
    assert torch.equal(graph.outputs[1].owner.inputs[0].data, tens.data)


def test_a_trained_constant_is_not_quantized_at_compile_time():
    weight = Constant(torch.rand(3, 4), "weight", trainable=True)
    assert reasons([], quantized.quantize(weight, A), "ConvertQuantizedConstants", EXACT) == []


def test_a_conversion_of_a_splat_is_a_splat():
    full = call(aten.full.default, [3, 4], 1.0)
    assert optimize([], quantized.quantize(full, A), EXACT).outputs[0].number == 23
    whole = Constant(torch.full((3, 4), 23, dtype=torch.int8), quantization=A)
    assert optimize([], quantized.dequantize(whole), EXACT).outputs[0].number == 1.0
    assert optimize([], quantized.rescale(whole, B), EXACT).outputs[0].number == -11


# ---------------------------------------------------------------------- the greatest of two


@pytest.mark.parametrize("swapped", [False, True])
def test_max_with_a_number_that_is_never_greater_is_removed(swapped):
    of = Quantization(1.0, -128)
    x, zero = integers(of), Constant(torch.full((2, 3, 4, 4), -128, dtype=torch.int8), quantization=of)
    greatest = binary(quantized.maximum, *((x, zero) if swapped else (zero, x)), of)
    assert ops(optimize([x], quantized.dequantize(greatest), EXACT)) == ["dequantize"]


def test_max_with_a_number_that_may_be_greater_stays():
    x, zero = integers(A), Constant(torch.full((1,), A.offset, dtype=torch.int8), quantization=A)
    assert reasons([x], binary(quantized.maximum, x, zero, A), EXACT) == [
        "0 is above -6.55, the minimum of the other input"
    ]
    low = Constant(torch.full((1,), -128, dtype=torch.int8), quantization=A)
    assert ops(optimize([x], binary(quantized.maximum, x, low, B), EXACT)) == ["quantized_max"]  # it rescales too


def test_relu_of_a_nonnegative_quantized_range_is_removed():
    x = integers(of := Quantization(0.1, -128))
    for name in (EXACT, "RemoveIdentityRelu"):
        same = quantized.dequantize(quantized.apply(quantized.relu, [x], of))
        assert ops(optimize([x], same, name)) == ["dequantize"]
        assert ops(optimize([x], quantized.apply(quantized.relu, [x], B), name)) == ["rescale_quantized"]
    y = integers(A)
    assert reasons([y], quantized.apply(quantized.relu, [y], A), "RemoveIdentityRelu") == [
        "its input can represent -6.55"
    ]


def test_rescale_moves_above_a_max_of_equally_quantized_tensors():
    x, y = integers(A), integers(A, name="y")
    graph = optimize([x, y], quantized.rescale(binary(quantized.maximum, x, y, A), B), EXACT)
    assert ops(graph) == ["rescale_quantized", "rescale_quantized", "quantized_max"]
    assert graph.outputs[0].type.quantization == B


def test_rescale_stays_below_a_max_that_rounds():
    x, y = integers(A), integers(B, name="y")
    declined = reasons([x, y], quantized.rescale(binary(quantized.maximum, x, y, C), A), EXACT)
    assert declined == ["the maximum is rounded too: its inputs have other scales than its result"]


# ---------------------------------------------------------------------- into operators

FIVE = [
    (quantized.add, Quantization(0.2, 3)),
    (quantized.sub, Quantization(0.2, 3)),
    (quantized.mul, Quantization(1.5, 0)),
    (quantized.minimum, Quantization(0.2, -10)),
    (quantized.maximum, Quantization(0.2, -10)),
]


@pytest.mark.parametrize(("target", "middle"), FIVE, ids=lambda x: getattr(x, "_name", None))
def test_rescale_of_a_result_becomes_the_scale_of_the_result(target, middle):
    x, y = integers(A), integers(B, name="y")
    result = quantized.rescale(binary(target, x, y, middle), WIDE if target is quantized.mul else C)
    assert len(optimize([x, y], result, EXACT)) == 2
    graph = optimize([x, y], result, LOSSY, within=quanta(middle, result.tensor_type.quantization))
    assert len(graph) == 1
    assert graph.outputs[0].type == result.type


def test_rescale_of_a_quotient_becomes_the_scale_of_the_result():
    x, y = integers(A), integers(Quantization(0.1, -128), name="y")
    given = [torch.arange(96).reshape(2, 3, 4, 4).to(torch.int8), torch.full((2, 3, 4, 4), -50, dtype=torch.int8)]
    result = quantized.rescale(binary(quantized.div, x, y, Quantization(0.01, 0)), A)
    assert len(optimize([x, y], result, LOSSY, within=1, given=given)) == 1


def test_a_rescale_of_a_result_with_other_users_stays():
    x, y = integers(A), integers(B, name="y")
    total = binary(quantized.add, x, y)
    declined = reasons([x, y], [quantized.rescale(total, A), total], LOSSY)
    assert declined == ["the result of quantized_add has other users"] * len(declined)


def test_rescale_below_a_max_moves_above_it_and_is_merged():
    x, y = integers(A), integers(A, name="y")
    graph = optimize([x, y], quantized.rescale(binary(quantized.maximum, x, y, A), C), LOSSY, within=1)
    assert ops(graph) == ["quantized_max"]
    assert graph.toposort()[0].op["input_scale"] == A.scale


def test_four_rescales_around_a_convolution_are_fused_into_it():
    x, w, b = integers(A, 1, 2, 5, 5), integers(A, 3, 2, 3, 3, name="w"), integers(A, 3, name="b")
    inner = [quantized.rescale(v, B) for v in (x, w, b)]
    y = quantized.rescale(quantized.apply(quantized.conv2d, inner, Quantization(9.0, 0), **CONV), WIDE)
    # each of 18 products of numbers up to 6.6 has two factors that were rounded by up to B.scale / 2
    slack = (18 * 2 * 6.6 * B.scale / 2 + B.scale / 2) / WIDE.scale + quanta(Quantization(9.0, 0), WIDE)
    graph = optimize([x, w, b], y, LOSSY, within=slack)
    assert ops(graph) == ["quantized_conv2d"]
    op = graph.toposort()[0].op
    assert {op["input_scale"], op["weight_scale"], op["bias_scale"]} == {A.scale}
    assert op["out_scale"] == WIDE.scale


@pytest.mark.parametrize("target", [quantized.linear, quantized.matmul])
def test_rescales_around_a_product_are_fused_into_it(target):
    x, w = integers(A, 4, 5), integers(A, 5, 5, name="w")
    inner = [quantized.rescale(v, B) for v in (x, w)]
    y = quantized.rescale(quantized.apply(target, inner, Quantization(3.0, 0)), WIDE)
    slack = 5 * 2 * 6.6 * B.scale / 2 / WIDE.scale + quanta(Quantization(3.0, 0), WIDE)
    assert len(optimize([x, w], y, LOSSY, within=slack)) == 1


def test_rescales_between_four_operators_are_removed():
    x, y = integers(A), integers(B, name="y")
    steps = [(quantized.add, Quantization(0.2, 0)), (quantized.sub, Quantization(0.3, 0))]
    steps += [(quantized.maximum, Quantization(0.3, 1)), (quantized.minimum, Quantization(0.3, 2))]
    result = x
    for target, to in steps:
        result = binary(target, quantized.rescale(result, Quantization(0.25, 9)), y, to)
    graph = optimize([x, y], result, LOSSY, within=4)
    assert ops(graph) == ["quantized_add", "quantized_sub", "quantized_max", "quantized_min"]


def factors(of, low, high):
    """Integers that represent numbers between two bounds, shuffled."""
    first, last = (round(number / of.scale) + of.offset for number in (low, high))
    return (first + torch.arange(96) * 7 % (last - first + 1)).reshape(2, 3, 4, 4).to(torch.int8)


def test_rescales_between_sum_difference_product_and_quotient_are_removed():
    x, y = integers(A), integers(B, name="y")
    middle, last = Quantization(0.25, 9), Quantization(0.15, 0)
    steps = [(quantized.add, Quantization(0.2, 0)), (quantized.sub, Quantization(0.2, 0))]
    steps += [(quantized.mul, Quantization(0.2, 1)), (quantized.div, last)]
    result = x
    for target, to in steps:
        result = binary(target, quantized.rescale(result, middle), y, to)
    assert len(FunctionGraph([x, y], [result])) == 8
    # four roundings to the one in the middle are left out; factors from 1 to 2 double and divide by no less than 1
    slack = 4 * 2 * middle.scale / 2 / last.scale + 4
    graph = optimize([x, y], result, LOSSY, within=slack, given=[factors(A, -4, 4), factors(B, 1, 2)])
    assert ops(graph) == ["quantized_add", "quantized_sub", "quantized_mul", "quantized_div"]


def test_rescales_of_six_operators_are_fused_into_them():
    """Of Glow's graph of 12 operators the rescales behind all, the greater one too, are part of the operators."""
    x, y = integers(A), integers(B, name="y")
    last = Quantization(0.2, 0)
    steps = [(quantized.add, Quantization(0.25, 9)), (quantized.sub, Quantization(0.25, 0))]
    steps += [(quantized.div, Quantization(0.25, 5)), (quantized.mul, Quantization(0.25, 1))]
    steps += [(quantized.minimum, Quantization(0.25, 2)), (quantized.maximum, Quantization(0.25, 3))]
    result = x
    for target, to in steps:
        result = quantized.rescale(binary(target, result, y, to), last)
    assert len(FunctionGraph([x, y], [result])) == 12
    slack = 6 * 2 * 0.25 / 2 / last.scale + 6  # six roundings to 0.25, at most doubled, and roundings of results
    graph = optimize([x, y], result, LOSSY, within=slack, given=[factors(A, -4, 4), factors(B, 1, 2)])
    names = ["add", "sub", "div", "mul", "min", "max"]
    assert ops(graph) == [f"quantized_{name}" for name in names]
    assert graph.outputs[0].type == result.type


def test_two_rescales_below_a_sum_are_fused_into_it():
    x, y = integers(A), integers(A, name="y")
    total = binary(quantized.add, x, y, Quantization(0.12, 0))
    result = quantized.rescale(quantized.rescale(total, Quantization(0.2, 5)), C)
    graph = optimize([x, y], result, LOSSY, within=quanta(Quantization(0.2, 5), C) + quanta(Quantization(0.12, 0), C))
    assert ops(graph) == ["quantized_add"]


# ---------------------------------------------------------------------- below operators


@pytest.mark.parametrize("move", [
    lambda x: call(aten.slice.Tensor, x, 1, 1, 3),
    lambda x: call(aten.view.default, x, [6, 16]),
    lambda x: call(aten.permute.default, x, [0, 2, 3, 1]),
    lambda x: call(aten.max_pool2d.default, x, [2, 2], [2, 2], [1, 1]),
    lambda x: call(aten.select.int, x, 1, 2),
])  # fmt: skip
def test_rescale_moves_below_operators_that_select_elements(move):
    x = integers(A)
    graph = optimize([x], move(quantized.rescale(x, B)), EXACT)
    assert ops(graph)[-1] == "rescale_quantized"
    assert len(graph) == 2


def test_rescales_are_merged_below_a_chain_of_moves():
    """Glow: slice, rescale, reshape, rescale, transpose, max pool: one rescale is left, and it is the last."""
    x = integers(A)
    y = quantized.rescale(call(aten.slice.Tensor, x, 1, 1, 3), B)
    y = quantized.rescale(call(aten.reshape.default, y, [2, 2, 2, 8]), C)
    y = call(aten.max_pool2d.default, call(aten.permute.default, y, [0, 2, 1, 3]), [2, 2])
    graph = optimize([x], y, LOSSY, within=quanta(B, C))
    assert ops(graph) == ["slice", "reshape", "permute", "max_pool2d", "rescale_quantized"]
    assert ops(optimize([x], y, EXACT))[-2:] == ["rescale_quantized"] * 2


def test_a_rescale_with_other_users_stays_above():
    x = integers(A)
    y = quantized.rescale(x, B)
    declined = reasons([x], [call(aten.select.int, y, 1, 0), y], EXACT)
    assert declined == ["the result of rescale_quantized has other users"]


# ---------------------------------------------------------------------- which rules a pass has


def test_the_default_pass_is_exact_and_the_other_is_lossy():
    assert exactness(EXACT) is Exactness.EXACT
    assert exactness(LOSSY) is Exactness.LOSSY
    assert [rule.label for rule in RULES if rule.exactness is Exactness.LOSSY] == [
        "dequantize_of_quantize",
        "dequantize_of_rescale",
        "rescale_of_rescale",
        "rescale_of_quantize",
        "rescale_into_result",
        "rescale_into_input",
        "rescale_below_average",
    ]


def test_without_permission_no_operator_changes_the_scale_of_its_result():
    careful = optimize_quantization("Careful", lossy=True, enable_quant_param_changes=False)
    assert not set(careful.rules) & set(CHANGE_PARAMETERS)
    registry = with_passes(careful)
    x, y = integers(A), integers(A, name="y")
    total = binary(quantized.add, x, y, Quantization(0.12, 0))
    graph = FunctionGraph(
        [x, y], [quantized.rescale(total, C), quantized.rescale(binary(quantized.maximum, x, y, A), C)]
    )
    before = graph.text()
    run(graph, "Careful", within=1, registry=registry)
    assert graph.text() == before


def test_without_permission_a_rescale_moves_below_an_average():
    x = integers(Quantization(0.1, 0))
    settings = {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0], "ceil_mode": False}
    settings |= {"count_include_pad": True, "divisor_override": None}
    y = quantized.apply(quantized.avg_pool2d, [quantized.rescale(x, B)], B, **settings)
    graph = FunctionGraph([x], [y])
    careful = optimize_quantization("Careful", lossy=True, enable_quant_param_changes=False)
    run(graph, "Careful", within=2, registry=with_passes(careful))
    assert ops(graph) == ["quantized_avg_pool2d", "rescale_quantized"]
    assert ops(optimize([x], y, LOSSY, within=2)) == ["rescale_quantized", "quantized_avg_pool2d"]
