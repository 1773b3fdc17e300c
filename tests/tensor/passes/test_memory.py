"""Results: no pass makes an output the caller's memory, and new constants are on the device of their users."""

import pytest
import torch

from explorer.rewrite import PassManager
from explorer.tensor import (
    Constant,
    FunctionGraph,
    Quantization,
    TensorType,
    Variable,
    call,
    library,
    quantized,
    to_module,
)
from explorer.tensor.passes import passes
from tests.tensor.passes.checking import (
    GLOW_PIPELINE,
    aten,
    check_reason,
    constant,
    full,
    held,
    ops,
    read,
    reasons,
    run,
    tensor,
    trained,
)

ALREADY = Quantization(0.1, 0)


@pytest.mark.parametrize(("name", "whole"), [
    ("EliminateNoop", "clone(x)"),
    ("EliminateNoop", "repeat(x, [1, 1, 1])"),
    ("EliminateNoop", "constant_pad_nd(x, [0, 0])"),
    ("EliminateNoop", "max_pool2d(x, [1, 1])"),
    ("EliminateNoop", "avg_pool2d(x, [1, 1])"),
    ("OptimizeConversions", "_to_copy(x, dtype=torch.float32)"),
    ("OptimizeConversions", "_to_copy(_to_copy(x, dtype=torch.float64), dtype=torch.float32)"),
    ("OptimizeArithmeticNodes", "add(x, splat(0.0))"),
    ("OptimizeArithmeticNodes", "mul(x, splat(1.0))"),
    ("OptimizeArithmeticNodes", "pow(x, 1)"),
    ("OptimizeConcatNodes", "cat(x)"),
    ("OptimizeConcatNodes", "cat(slice(x, 0, 0, 1), slice(x, 0, 1, 3))"),
    ("EliminateSliceConcat", "cat(slice(x, 0, 0, 1), slice(x, 0, 1, 2))"),
    ("EliminateSliceConcat", "cat(slice(x, 0, 0, 1), slice(x, 0, 1, 2), slice(x, 0, 2, 3), dim=1)"),
    ("EliminateConcatSlice", "slice(cat(x, x), 0, 3, 6)"),
    ("EliminateConcatSlice", "slice(cat(x, x), 0, 4, 6)"),
    ("EliminateConcatSlice", "split(cat(x, x), 3)[1]"),
    ("OptimizeBatchNorm", "explorer.batch_norm(x, splat(1.0, 4), splat(0.0, 4), splat(0.0, 4), splat(1.0, 4), 0.0, 1)"),
])  # fmt: skip
def test_an_output_does_not_alias_an_input(name, whole):
    inputs, (output,) = read(whole, {"x": (3, 4, 5)})
    declined = reasons(inputs, output, name)
    assert [reason for reason in declined if reason.startswith("an output of the graph would share its memory with x")]
    inner = FunctionGraph(inputs, [call(aten.relu.default, output)])
    assert any(entry.changed for entry in run(inner, name))


def test_an_output_does_not_become_a_parameter():
    check_reason("EliminateNoop", "clone(w)", "an output of the graph would share its memory with w", {"w": trained(2)})


def test_a_regression_stays_if_an_output_would_alias_its_input():
    x, expected = tensor(3), tensor(3, name="expected")
    graph = FunctionGraph([x, expected], [call(library.regression_op, x, expected)])
    PassManager(GLOW_PIPELINE, passes).run(graph)
    given = [torch.zeros(3), torch.zeros(3)]
    assert to_module(graph)(*given).data_ptr() != given[0].data_ptr()


@pytest.mark.parametrize("make", [
    lambda x: quantized.quantize(quantized.dequantize(x), ALREADY),
    lambda x: quantized.apply(quantized.maximum, [x, x], ALREADY),
])  # fmt: skip
def test_quantized_outputs_do_not_alias_an_input(make):
    x = Variable(TensorType(torch.int8, (3,), quantization=ALREADY), name="x")
    graph = FunctionGraph([x], [make(x)])
    PassManager(GLOW_PIPELINE, passes).run(graph)
    given = torch.ones(3, dtype=torch.int8)
    assert to_module(graph)(given).data_ptr() != given.data_ptr()


def test_a_relu_of_bytes_that_is_an_output_stays():
    reason = "an output of the graph would share its memory with x"
    check_reason("RemoveIdentityRelu", "relu(x)", reason, {"x": "u8[4]"})


# ---------------------------------------------------------------------- devices


def elsewhere(*shape):
    """A constant on another device than the processor's."""
    return Constant(torch.empty(shape, device="meta"), "w", trainable=True)


def test_devices_are_inferred_from_inputs_and_attributes():
    x = tensor(2, 3)
    assert call(aten.relu.default, call(aten.add.Tensor, x, elsewhere(2, 3))).device == torch.device("meta")
    assert call(aten.full.default, [2], 1.0, device="meta").device == torch.device("meta")
    assert tensor(2).device is None
    assert call(aten.add.Tensor, tensor(2), 1.0).device is None


@pytest.mark.parametrize("make", [
    lambda x: call(aten.mul.Tensor, x, full(0.0)),
    lambda x: call(aten.pow.Tensor_Scalar, x, 0),
])  # fmt: skip
@pytest.mark.parametrize("below", [True, False])
def test_a_splat_is_on_the_device_of_its_users(make, below):
    x = tensor(2, 3)
    x.device = None if below else torch.device("meta")
    y = make(call(aten.add.Tensor, x, elsewhere(2, 3))) if below else call(aten.atan2.default, elsewhere(2, 3), make(x))
    graph = FunctionGraph([x], [y])
    passes["OptimizeArithmeticNodes"].run(graph)
    made = graph.outputs[0] if below else graph.toposort()[0].inputs[1]
    assert held(made).data.device.type == "meta"


def test_slices_of_a_splat_are_on_its_device():
    whole = call(aten.full.default, [4, 6], 3.0, device="meta")
    graph = FunctionGraph([], [call(aten.slice.Tensor, whole, 0, 1, 3), call(aten.clamp.default, whole, 0.0, 2.0)])
    passes["OptimizeSplat"].run(graph)
    assert [held(v).data.device.type for v in graph.outputs] == ["meta", "meta"]


def test_a_transposed_splat_is_on_the_device_of_the_tensor():
    x = tensor(2, 3)
    turned = call(aten.permute.default, call(aten.add.Tensor, x, elsewhere(2, 3)), [1, 0])
    ones = call(aten.full.default, [3, 1], 5.0, device="meta")
    graph = FunctionGraph([x], [call(aten.mul.Tensor, turned, ones)])
    passes["SinkCode"].run(graph)
    assert ops(graph) == ["add", "mul", "permute"]
    assert held(graph.toposort()[1].inputs[1]).data.device.type == "meta"


NEEDS_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@NEEDS_CUDA
def test_passes_run_on_a_gpu():
    def here(variable):
        return Constant(variable.data.cuda())

    x = tensor(2, 3, 8, 8)
    y = call(aten.conv2d.default, x, here(constant(4, 3, 3, 3)), here(constant(4)))
    y = call(aten.add.Tensor, call(aten.mul.Tensor, y, 2.0), 1.0)
    parts = [here(constant(4, seed=i)) for i in range(2)]
    y = call(aten._native_batch_norm_legit_no_training.default, y, None, None, *parts, 0.1, 1e-3)[0]
    y = call(aten.mul.Tensor, y, 0.5)
    y = call(aten.mul.Tensor, call(aten.layer_norm.default, y, [6]), 3.0)
    y = call(aten.add.Tensor, y, call(aten.mul.Tensor, y, 0.0))
    graph = FunctionGraph([x], [y])
    given = torch.randn(2, 3, 8, 8, device="cuda")
    wanted = to_module(graph)(given)
    PassManager(GLOW_PIPELINE, passes).run(graph)
    torch.testing.assert_close(to_module(graph)(given), wanted, rtol=1e-4, atol=1e-4)
    assert all(c.data.is_cuda for c in graph.constants if c.data.ndim)
