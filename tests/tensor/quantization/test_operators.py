"""Quantized operators: their values, the types of their results, and errors for wrong inputs."""

import math

import pytest
import torch
from torch.nn import functional as F

from explorer.errors import OperatorError, ValueRangeError
from explorer.tensor import Constant, FunctionGraph, Quantization, call, from_module, quantized, to_module
from explorer.tensor.rewriting import in2out
from explorer.tensor.rules.constants import evaluate_constant
from tests.tensor.quantization.building import A, B, C, aten, integers, ops, optimize, reals, results, values

POOL = {"kernel_size": [2, 2], "stride": [2, 2], "padding": [0, 0]}
AVERAGE = {**POOL, "ceil_mode": False, "count_include_pad": True, "divisor_override": None}
CONV = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
WIDE = Quantization(4.0, 7)

CASES = [
    (quantized.add, [(2, 3), (2, 3)], {}, torch.add, C),
    (quantized.sub, [(2, 3), (3,)], {}, torch.sub, C),
    (quantized.mul, [(2, 3), (2, 3)], {}, torch.mul, C),
    (quantized.div, [(2, 3), (2, 3)], {}, torch.div, C),
    (quantized.maximum, [(2, 3), (2, 3)], {}, torch.maximum, B),
    (quantized.minimum, [(2, 3), (2, 3)], {}, torch.minimum, B),
    (quantized.relu, [(2, 3)], {}, torch.relu, B),
    (quantized.clip, [(2, 3)], {"min": -1.0, "max": 2.0}, lambda x: x.clamp(-1, 2), B),
    (quantized.matmul, [(4, 5), (5, 6)], {}, torch.matmul, WIDE),
    (quantized.linear, [(4, 5), (6, 5), (6,)], {}, F.linear, WIDE),
    (quantized.linear, [(4, 5), (6, 5)], {}, F.linear, WIDE),
    (quantized.conv2d, [(1, 2, 5, 5), (3, 2, 3, 3), (3,)], CONV, lambda *x: F.conv2d(*x, padding=1), WIDE),
    (quantized.avg_pool2d, [(1, 2, 4, 4)], AVERAGE, lambda x: F.avg_pool2d(x, 2), B),
    (quantized.adaptive_avg_pool2d, [(1, 2, 4, 4)], {"output_size": [1, 1]}, lambda x: x.mean((2, 3), True), B),
]


@pytest.mark.parametrize(
    ("target", "shapes", "settings", "function", "to"), CASES, ids=lambda x: getattr(x, "_name", None)
)
def test_a_quantized_operator_is_within_one_quantum_of_the_real_numbers(target, shapes, settings, function, to):
    """The reference computes in 64 bits, and adds the offset before it rounds; numbers near halves differ by one."""
    inputs = [integers(of, *shape, name=f"x{i}") for i, (of, shape) in enumerate(zip([A, B, C], shapes, strict=False))]
    result = quantized.apply(target, inputs, to, **settings)
    assert result.tensor_type.quantization == to
    assert result.tensor_type.dtype is torch.int8
    graph = FunctionGraph(inputs, [result])
    graph.verify()
    given = values(graph)
    if target is quantized.div:
        given[1] = torch.where(given[1] == B.offset, 5, given[1])
    (found,) = results(graph, given)
    exact = [
        (x.double() - v.type.quantization.offset) * v.type.quantization.scale
        for x, v in zip(given, inputs, strict=True)
    ]
    wanted = torch.clamp(torch.round(function(*exact) / to.scale + to.offset), -128, 127)
    assert found.dtype is torch.int8
    assert found.shape == result.tensor_type.shape
    assert (found.double() - wanted).abs().max() <= 1
    assert wanted.unique().numel() > 1


def test_quantizing_rounds_halves_to_even_and_clips():
    x = reals(8)
    graph = FunctionGraph([x], [quantized.quantize(x, Quantization(0.5, 10))])
    (found,) = results(graph, [torch.tensor([0.0, 0.25, 0.75, -0.25, 0.3, 1e9, -1e9, math.inf])])
    assert found.tolist() == [10, 10, 12, 10, 11, 127, -128, 127]
    graph = FunctionGraph([x], [quantized.dequantize(quantized.quantize(x, Quantization(0.5, 10)))])
    (found,) = results(graph, [torch.tensor([0.0, 0.25, 0.75, -0.25, 0.3, 1e9, -1e9, math.inf])])
    assert found.tolist() == [0.0, 0.0, 1.0, 0.0, 0.5, 58.5, -69.0, 58.5]


def test_adding_an_odd_offset_before_rounding_moves_halves_only():
    """Glow's formula: the difference is one quantum, at halves, and nowhere else."""
    x = torch.arange(-400, 400) / 8
    ours = quantized.quantize_tensor(x, 1.0, 3).double()
    glow = torch.clamp(torch.round(x + 3), -128, 127).double()
    halves = (x - x.floor()) == 0.5
    assert ((ours - glow).abs() == halves).all()


def test_all_8_bit_integers_round_trip_through_real_numbers():
    every = torch.arange(-128, 128).to(torch.int8)
    for scale in (2.0**-100, 1e-7, 0.1, 1 / 3, 0.7, 1.0, 12345.678, 2.0**100):
        for offset in (-128, -1, 0, 77, 127):
            assert torch.equal(
                quantized.quantize_tensor(quantized.dequantize_tensor(every, scale, offset), scale, offset), every
            )


def test_a_bias_has_32_bits_or_is_real():
    x, w = integers(A, 4, 5), integers(B, 6, 5, name="w")
    real = torch.linspace(-3, 3, 6)
    step = Quantization(A.scale * B.scale, 0)
    whole = quantized.quantize_constant(Constant(real), step, torch.int32)
    assert whole.tensor_type.dtype is torch.int32
    both = [quantized.apply(quantized.linear, [x, w, bias], WIDE) for bias in (Constant(real), whole)]
    graph = FunctionGraph([x, w], both)
    graph.verify()
    plain, integer = results(graph, values(graph))
    assert (plain.int() - integer.int()).abs().max() <= 1
    assert quantized.quantize_tensor(torch.tensor([1e30, -1e30]), 1.0, 0, torch.int32).tolist() == [2**30, -(2**30)]


def test_a_graph_refuses_inputs_whose_quantization_contradicts_the_operator():
    x, y = integers(A), integers(B, name="y")
    node = quantized.apply(quantized.add, [x, y], C).owner
    assert node is not None
    with pytest.raises(
        OperatorError, match=r"quantized_add expects a tensor other quantized by s0.11o-20, got i8.*s0.05o3"
    ):
        node.op(x, x)
    with pytest.raises(OperatorError, match="got f32"):
        node.op(x, reals())
    plain = call(aten.alias.default, reals(), location=node.location)
    with pytest.raises(OperatorError, match="expected a quantized tensor"):
        quantized.dequantize(plain)
    with pytest.raises(OperatorError, match="is not a quantized operator"):
        quantized.apply(aten.add.Tensor, [x, y], C)


def test_verify_finds_a_type_that_no_longer_agrees_with_an_operator():
    x, y = integers(A), integers(A, name="y")
    graph = FunctionGraph([x, y], [quantized.apply(quantized.add, [x, y], C)])
    graph.verify()
    graph.inputs[1].type = integers(B).type
    with pytest.raises(OperatorError, match=r"quantized_add expects a tensor other quantized by s0\.05o3"):
        graph.verify()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 1e-40])
def test_a_scale_that_32_bits_cannot_divide_by_is_refused(scale):
    with pytest.raises(ValueRangeError, match="is not between"):
        Quantization(scale, 0)


def test_an_offset_that_does_not_fit_the_dtype_is_refused():
    with pytest.raises(OperatorError, match="the offset 128 of a tensor of quantize does not fit its dtype i8"):
        quantized.quantize(reals(), Quantization(1.0, 128))
    with pytest.raises(OperatorError, match="the offset -200 of"):
        quantized.dequantize(integers(Quantization(1.0, -200)))


def test_operators_that_move_numbers_keep_scale_and_offset():
    x = integers(A)
    for moved in (
        call(aten.permute.default, x, [0, 2, 3, 1]),
        call(aten.view.default, x, [6, 16]),
        call(aten.cat.default, [x, x], 1),
        call(aten.slice.Tensor, x, 1, 0, 2),
        call(aten.max_pool2d.default, x, [2, 2]),
        call(aten.numpy_T.default, call(aten.view.default, x, [6, 16])),
    ):
        assert moved.tensor_type.quantization == A
    with pytest.raises(OperatorError, match="cat expects tensors of the same quantization"):
        call(aten.cat.default, [x, integers(B)])
    with pytest.raises(OperatorError, match="cat expects tensors of the same quantization"):
        call(aten.cat.default, [x, reals()])


def test_a_quantized_graph_round_trips_through_pytorch():
    x = reals(4, 5)
    weight = quantized.quantize_constant(Constant(torch.linspace(-1, 1, 30).reshape(6, 5)), B)
    y = quantized.apply(quantized.linear, [quantized.quantize(x, A), weight], WIDE)
    graph = FunctionGraph([x, z := integers(WIDE, 4, 6)], [quantized.dequantize(y), quantized.dequantize(z)])
    given = values(graph)
    back = from_module(to_module(graph), given)
    assert [str(v.type) for v in back.inputs] == ["f32[4,5]", "i8[4,6] s4o7"]
    assert sorted(ops(back)) == ["dequantize", "dequantize", "quantize", "quantized_linear"]
    back.verify()
    for one, other in zip(results(graph, given), results(back, given), strict=True):
        assert torch.equal(one, other)


def test_evaluating_constants_keeps_quantized_integers():
    """Else the weights would take four times the memory; a quantized constant is computed."""
    weight = Constant(torch.arange(12, dtype=torch.int8).reshape(3, 4), quantization=A)
    graph = optimize([], quantized.dequantize(weight), "ConstantFold")
    assert ops(graph) == ["dequantize"]
    in2out(evaluate_constant).rewrite(graph)
    assert ops(graph) == ["dequantize"]
    graph = optimize([], quantized.quantize(Constant(torch.rand(3, 4)), A), "ConstantFold")
    assert ops(graph) == []
    assert graph.outputs[0].type.quantization == A


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 6.0), (2.0, 5.0), (-3.0, -1.0), (-0.1, 9.9)])
def test_a_range_is_spread_over_all_integers_and_holds_0(low, high):
    of = quantized.quantization_of_range(low, high)
    least, greatest = quantized.real_range(of)
    assert least <= min(low, 0) + of.scale / 2
    assert greatest >= max(high, 0) - of.scale / 2
    assert (greatest - least) == pytest.approx(max(high, 0) - min(low, 0), rel=1e-5)
    with pytest.raises(ValueRangeError):
        quantized.quantization_of_range(0.0, 0.0)


def test_inputs_with_equal_names_get_unique_names_in_pytorch():
    x, y = integers(A), integers(A)
    graph = FunctionGraph([x, y], [quantized.apply(quantized.sub, [x, y], C)])
    given = values(graph)
    assert torch.equal(to_module(graph)(given[0], given[0]), torch.zeros_like(given[0]) + C.offset)


def test_an_offset_that_is_not_an_integer_is_refused():
    for offset in (10**30, -(2**31) - 1):
        with pytest.raises(ValueRangeError, match=rf"the offset {offset} does not fit into 32 bits"):
            Quantization(0.5, offset)
    for offset in (0.5, True):
        with pytest.raises(ValueRangeError, match=rf"expected an integer as the offset, got {offset}"):
            Quantization(0.02, offset)  # pyright: ignore[reportArgumentType]
