"""Random small networks through the default pipeline: values, gradients, and back to the same text."""

import pytest
import torch
from hypothesis import given, strategies as st

from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor import Constant, FunctionGraph, Quantization, call, quantized
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.rules import overwrite
from tests.fuzzing import examples
from tests.tensor.models import plain_kernels
from tests.tensor.passes.checking import assert_same_bits, aten, results
from tests.tensor.passes.random_programs import random_values
from tests.tensor.passes.test_training import assert_same_gradients, gradients
from tests.tensor.quantization import building
from tests.tensor.quantization.building import A, B, C
from tests.tensor.quantization.test_raising import QUANTIZATION, RAISE, constant as integers_for, get, through
from tests.tensor.random_networks import networks

NEAR = {torch.float32: 1e-4, torch.float64: 1e-10}
"""Relative to the largest number: a few layers, with sums in another order."""


@pytest.fixture(autouse=True, scope="module")
def without_kernels_by_shape():
    with plain_kernels():
        yield


def assert_near(found, wanted):
    for new, old in zip(found, wanted, strict=True):
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        near = NEAR[old.dtype]
        torch.testing.assert_close(new, old, rtol=near, atol=near * (1 + float(old.detach().abs().max())))


def assert_undone(graph, mark, text, given_, before):
    """Back at a mark the graph has its text of then, byte for byte, is legal, and computes the same bits."""
    graph.undo(mark)
    assert graph.text().encode() == text.encode()
    graph.verify()
    assert_same_bits(results(graph, given_), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["f64", "f32"])
@examples(20)
@given(data=st.data())
def test_rewriting_for_inference_preserves_values_and_can_be_undone(dtype, data):
    graph = data.draw(networks(dtype))
    plain = random_values(graph, 0)
    before, text, mark = results(graph, plain), graph.text(), graph.checkpoint()
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    graph.verify()
    assert_near(results(graph, plain), before)
    middle = data.draw(st.integers(mark, graph.checkpoint()))
    graph.undo(middle)
    graph.verify()
    assert_near(results(graph, plain), before)
    assert_undone(graph, mark, text, plain, before)


@examples(20)
@given(graph=networks(requires_grad=True))
def test_rewriting_for_training_preserves_gradients_and_can_be_undone(graph):
    plain = random_values(graph, 0)
    before, text, mark = results(graph, plain), graph.text(), graph.checkpoint()
    wanted = gradients(graph, plain)
    PassManager(DEFAULT_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    graph.verify()
    assert_near(results(graph, plain), before)
    assert_same_gradients(gradients(graph, plain), wanted)
    assert_undone(graph, mark, text, plain, before)


@examples(20)
@given(graph=networks())
def test_rewriting_in_place_operators_preserves_bits_and_can_be_undone(graph):
    plain = random_values(graph, 0)
    before, text, mark = results(graph, plain), graph.text(), graph.checkpoint()
    overwrite.query("+inplace").rewrite(graph)
    graph.verify()
    assert_same_bits(results(graph, plain), before)
    assert_undone(graph, mark, text, plain, before)


POSITIVE = Quantization(0.05, -128)


def raised():
    """A small network that was quantized in PyTorch's own operators and raised, with work for each pass behind it."""
    x = building.reals()
    inner = call(aten.conv2d.default, through(x), get(integers_for(3, 3, 3, 3), B), None, [1, 1], [1, 1])
    inner = through(call(aten.relu.default, through(inner, C)), C)
    total = through(call(aten.add.Tensor, inner, through(call(aten.tanh.default, x), B)))
    pooled = through(call(aten.max_pool2d.default, total, [2, 2]))
    layer = call(aten.linear.default, call(aten.reshape.default, pooled, [2, 12]), get(integers_for(4, 12), B))
    graph = FunctionGraph([x], [through(layer, C), pooled])
    building.manager(RAISE).run(graph)
    assert {"quantized_conv2d", "quantized_add", "quantized_linear"} <= set(building.ops(graph))
    known = Constant(torch.linspace(-1, 1, 12).reshape(2, 6))
    x, (linear, pooled) = graph.inputs[0], graph.outputs
    above = quantized.quantize(x, POSITIVE)
    outputs = [
        call(aten.relu.default, linear),
        quantized.dequantize(quantized.quantize(pooled, B)),
        quantized.quantize(call(aten.cat.default, [pooled, pooled]), B),
        quantized.quantize(call(aten.clamp.default, call(aten.neg.default, x), -7.0, 6.5), A),
        quantized.dequantize(quantized.apply(quantized.relu, [above], POSITIVE)),
        quantized.dequantize(quantized.apply(quantized.clip, [above], POSITIVE, min=-1.0, max=99.0)),
        quantized.quantize(known, A),
        quantized.dequantize(quantized.rescale(quantized.rescale(above, A), B)),
        call(aten.clamp.default, quantized.dequantize(quantized.apply(quantized.add, [above, above], C)), 0.0, 6.0),
    ]
    return FunctionGraph(graph.inputs, outputs)


@pytest.mark.parametrize("names", [*((name,) for name in QUANTIZATION), QUANTIZATION], ids=lambda names: names[0])
def test_quantization_passes_can_be_undone(names):
    graph = raised()
    plain = building.values(graph)
    before, text, mark = results(graph, plain), graph.text(), graph.checkpoint()
    done = building.manager(*names).run(graph)
    assert any(entry.changed for entry in done)
    graph.verify()
    assert_undone(graph, mark, text, plain, before)


def test_raising_and_the_default_pipeline_can_be_undone():
    x = building.reals()
    graph = FunctionGraph([x], [through(call(aten.relu.default, through(x)), B)])
    plain = building.values(graph)
    before, text, mark = results(graph, plain), graph.text(), graph.checkpoint()
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert "quantize_per_tensor" not in building.ops(graph)
    assert_same_bits(results(graph, plain), before)
    assert_undone(graph, mark, text, plain, before)
