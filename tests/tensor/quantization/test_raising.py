"""Raising PyTorch's quantization to quantized operators, and that nothing removes it before."""

from collections import Counter
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor import Constant, FunctionGraph, Quantization, call
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from tests.tensor.models import each, example, plain_kernels
from tests.tensor.quantization import pt2e
from tests.tensor.quantization.building import A, B, aten, manager, ops, optimize, reals, reasons, results, run

RAISE = "RaiseQuantization"
QUANTIZATION = (
    "OptimizeQuantization",
    "OptimizeQuantizationLossy",
    "OptimizeConcatQuantization",
    "OptimizeQuantizeClip",
    "OptimizeQuantizeClipLossy",
    "OptimizeQuantFCFloatRelu",
    "RemoveIdentityRelu",
    "RemoveIdentityClip",
    "ConvertQuantizedConstants",
    "ConstantFold",
)


def counts(graph):
    return Counter(ops(graph))


# ---------------------------------------------------------------------- graphs by hand


def pairs():
    """PyTorch's operators; registered by a module of torch that torchao imports."""
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    return torch.ops.quantized_decomposed


def put(x, of=A, low=-128, dtype=torch.int8):
    return call(pairs().quantize_per_tensor.default, x, of.scale, of.offset, low, torch.iinfo(dtype).max, dtype)


def get(x, of=A, dtype=torch.int8):
    return call(pairs().dequantize_per_tensor.default, x, of.scale, of.offset, -128, torch.iinfo(dtype).max, dtype)


def through(x, of=A):
    """Quantized and dequantized again."""
    return get(put(x, of), of)


def constant(*shape):
    generator = torch.Generator().manual_seed(1)
    return Constant(torch.randint(-127, 128, shape, generator=generator).to(torch.int8), "weight")


def test_a_pair_becomes_a_quantized_tensor():
    x = reals()
    graph = optimize([x], through(x), RAISE)
    assert [str(node.op.target) for node in graph.toposort()] == [
        "explorer.quantize.default",
        "explorer.dequantize.default",
    ]
    assert graph.toposort()[0].outputs[0].type.quantization == A


def test_all_dequantizations_of_a_tensor_become_one():
    x = reals()
    whole = put(x)
    graph = optimize([x], [get(whole), call(aten.neg.default, get(whole))], RAISE)
    assert counts(graph) == {"quantize": 1, "dequantize": 1, "neg": 1}


def test_a_convolution_between_pairs_becomes_one_on_integers():
    x = reals(1, 2, 5, 5)
    weight = get(constant(3, 2, 3, 3), B)
    y = through(call(aten.relu.default, call(aten.conv2d.default, through(x), weight, None, padding=[1, 1])), B)
    graph = optimize([x], y, RAISE)
    assert ops(graph) == ["quantize", "quantized_conv2d", "quantized_relu", "dequantize"]
    inner = graph.toposort()[1]
    assert inner.inputs[1].name == "weight"
    assert inner.inputs[1].type.dtype is torch.int8
    assert inner.op["padding"] == (1, 1)


@pytest.mark.parametrize(("make", "name"), [
    (lambda x: call(aten.add.Tensor, through(x), through(x, B)), "quantized_add"),
    (lambda x: call(aten.sub.Tensor, through(x), through(x, B)), "quantized_sub"),
    (lambda x: call(aten.mul.Tensor, through(x), through(x, B)), "quantized_mul"),
    (lambda x: call(aten.maximum.default, through(x), through(x, B)), "quantized_max"),
    (lambda x: call(aten.minimum.default, through(x), through(x, B)), "quantized_min"),
    (lambda x: call(aten.relu.default, through(x)), "quantized_relu"),
    (lambda x: call(aten.hardtanh.default, through(x), 0.0, 6.0), "quantized_clip"),
    (lambda x: call(aten.matmul.default, through(x), through(x)), "quantized_matmul"),
    (lambda x: call(aten.linear.default, through(x), get(constant(6, 4), B)), "quantized_linear"),
    (lambda x: call(aten.avg_pool2d.default, through(x), [2, 2]), "quantized_avg_pool2d"),
    (lambda x: call(aten.adaptive_avg_pool2d.default, through(x), [1, 1]), "quantized_adaptive_avg_pool2d"),
    (lambda x: call(aten.max_pool2d.default, through(x, B), [2, 2]), "max_pool2d"),
    (lambda x: call(aten.view.default, through(x, B), [6, 16]), "view"),
    (lambda x: call(aten.permute.default, through(x), [0, 2, 3, 1]), "permute"),
    (lambda x: call(aten.cat.default, [through(x), through(x, B)]), "cat"),
])  # fmt: skip
def test_an_operator_between_pairs_becomes_one_on_integers(make, name):
    x = reals()
    graph = optimize([x], through(make(x), B), RAISE)
    assert name in ops(graph)
    assert not [node for node in graph.nodes if node.op.target.namespace == "quantized_decomposed"]
    arithmetic = [node for node in graph.nodes if node.op.name not in ("quantize", "dequantize")]
    assert all(node.outputs[0].type.quantization is not None for node in arithmetic)


def test_a_bias_of_32_bits_stays_quantized():
    x, step = reals(4, 5), Quantization(A.scale * B.scale, 0)
    bias = get(Constant(torch.arange(6, dtype=torch.int32) * 100, "bias"), step, torch.int32)
    y = call(aten.linear.default, through(x), get(constant(6, 5), B), bias)
    graph = optimize([x], through(y, Quantization(0.5, 0)), RAISE)
    assert ops(graph) == ["quantize", "quantized_linear", "dequantize"]
    assert graph.toposort()[1].inputs[2].type.quantization == step


@pytest.mark.parametrize(("make", "declined"), [
    (lambda x: call(aten.exp.default, through(x)), "exp has no quantized form"),
    (lambda x: call(aten.add.Tensor, through(x), through(x), alpha=2), "it multiplies one side with 2"),
    (lambda x: call(aten.add.Tensor, through(x), x), "its other is not dequantized from 8 bits"),
    (lambda x: call(aten.relu.default, call(aten.exp.default, x)), "exp above it has no quantized form"),
])  # fmt: skip
def test_operators_without_a_quantized_form_are_declined_with_a_reason(make, declined):
    x = reals()
    graph = optimize([x], through(make(x), B), RAISE)
    before = len(graph)
    assert any(declined in reason for reason in reasons(graph.inputs, list(graph.outputs), RAISE))
    assert len(graph) == before


def test_unsupported_ranges_and_users_are_declined_with_a_reason():
    x = reals()
    whole = put(x)
    assert "its plain integers, or interprets them differently" in reasons([x], [get(whole), whole], RAISE)[0]
    assert "its plain integers, or interprets them differently" in reasons([x], get(put(x), B), RAISE)[0]
    narrow = get(put(x, low=-127))
    assert reasons([x], narrow, RAISE)[0] == "it stores torch.int8 between -127 and 127; only whole int8 is raised"
    bytes_ = get(put(x, dtype=torch.uint8, low=0), dtype=torch.uint8)
    assert "only whole int8 is raised" in reasons([x], bytes_, RAISE)[0]


def test_a_result_that_others_read_in_floating_point_stays_so():
    x = reals()
    y = call(aten.relu.default, through(x))
    graph = optimize([x], [through(y, B), y], RAISE)
    assert "quantized_relu" not in ops(graph)
    declined = reasons(graph.inputs, list(graph.outputs), RAISE)
    assert declined == ["the result of relu has other users"]


@pytest.mark.parametrize("name", QUANTIZATION)
def test_no_other_pass_on_quantization_touches_the_pairs(name):
    x = reals()
    y = call(aten.cat.default, [through(call(aten.relu.default, through(x))), through(x, B)])
    y = through(call(aten.clamp.default, through(y), -100.0, 100.0))
    graph = FunctionGraph([x], [call(aten.add.Tensor, y, get(constant(4), B))])
    before = graph.text()
    manager(name).run(graph)
    assert graph.text() == before


# ---------------------------------------------------------------------- models


@dataclass(frozen=True, slots=True)
class Resnet:
    """A quantized ResNet, a graph of it to rewrite, its input, and the number of operators of each kind."""

    module: nn.Module
    graph: FunctionGraph
    data: torch.Tensor
    pairs: tuple[int, int]  # quantizations and dequantizations
    convolutions: int
    relus: int
    additions: int

    @property
    def nodes(self):
        """The number of nodes of the raised graph without relus."""
        return self.convolutions + self.additions + 6

    def outputs(self):
        """The outputs of the module and of the graph."""
        with plain_kernels(), torch.no_grad():
            return self.module(self.data), results(self.graph, [self.data])[0]


RESNETS = {"resnet_small": ((13, 22), 6, 5, 2), "resnet18": ((33, 62), 20, 17, 8)}


@pytest.fixture(params=each(*RESNETS))
def resnet(request):
    module, graph = pt2e.quantized_model(request.param)
    return Resnet(module, graph.clone(), example(request.param), *RESNETS[request.param])


def test_resnet_runs_on_integers_with_the_same_bits(resnet):
    before = counts(resnet.graph)
    assert (before["quantize_per_tensor"], before["dequantize_per_tensor"]) == resnet.pairs
    manager(RAISE).run(resnet.graph)
    resnet.graph.verify()
    assert counts(resnet.graph) == {
        "quantize": 1,
        "quantized_conv2d": resnet.convolutions,
        "quantized_relu": resnet.relus,
        "max_pool2d": 1,
        "quantized_add": resnet.additions,
        "quantized_adaptive_avg_pool2d": 1,
        "view": 1,
        "quantized_linear": 1,
        "dequantize": 1,
    }
    with_weights = [node for node in resnet.graph.nodes if node.op.name in ("quantized_conv2d", "quantized_linear")]
    assert {node.inputs[1].tensor_type.dtype for node in with_weights} == {torch.int8}
    assert torch.equal(*resnet.outputs())


def test_resnet_loses_its_relus_to_the_range_of_the_integers(resnet):
    """PyTorch's scales start at 0 after a relu, which is then a no-op."""
    manager(RAISE, "OptimizeQuantization").run(resnet.graph)
    assert counts(resnet.graph)["quantized_relu"] == 0
    assert len(resnet.graph) == resnet.nodes
    assert torch.equal(*resnet.outputs())


def test_the_default_pipeline_raises_resnet_and_keeps_its_bits(resnet):
    PassManager(DEFAULT_PIPELINE, passes).run(resnet.graph)
    assert len(resnet.graph) == resnet.nodes
    assert torch.equal(*resnet.outputs())


def test_pairs_are_not_raised_in_training():
    x = reals()
    graph = FunctionGraph([x], [through(x)])
    PassManager(DEFAULT_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert counts(graph) == {"quantize_per_tensor": 1, "dequantize_per_tensor": 1}


def test_lossy_rules_keep_a_raised_resnet_on_integers(resnet):
    manager(RAISE, "OptimizeQuantizationLossy", "OptimizeQuantizeClipLossy").run(resnet.graph)
    assert len(resnet.graph) == resnet.nodes
    expected, found = resnet.outputs()
    quantum = resnet.graph.toposort()[-1].op["input_scale"]
    assert (found - expected).abs().max() <= quantum, "no operators have a rescale between them that could be removed"
    quantized = [name for name in ops(resnet.graph) if name.startswith("quantized_")]
    assert len(quantized) == resnet.convolutions + resnet.additions + 2


def test_the_rules_keep_the_pairs_of_resnet_unless_it_was_raised(resnet):
    """Glow's DQ(Q(x)) → x would delete the quantization of this graph."""
    manager(*QUANTIZATION).run(resnet.graph)
    left = counts(resnet.graph)
    assert (left["quantize_per_tensor"], left["dequantize_per_tensor"]) == resnet.pairs


def test_per_channel_scales_are_declined_with_a_reason():
    def make():
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())

    data = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    graph = pt2e.pt2e_graph(make, data, is_per_channel=True)
    before = counts(graph)
    given = [data]
    run(graph, RAISE, given=given)
    assert counts(graph)["conv2d"] == counts(graph)["dequantize_per_channel"] == before["conv2d"] == 1
    declined = reasons(graph.inputs, list(graph.outputs), RAISE)
    assert "dequantize_per_channel does not have one scale and offset for the whole tensor" in declined
