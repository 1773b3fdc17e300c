"""Channels last: transposes where a loader puts them, equal values, and few transposes once they have met."""

import copy

import pytest
import torch
from torch import nn

from explorer.errors import UnknownNameError
from explorer.tensor import from_exported, from_module, to_module, to_nhwc
from explorer.tensor.passes import passes
from explorer.tensor.recording.record_module import record_module
from explorer.tensor.torch_io.nhwc import activation_transposes, nhwc_rewriter
from tests.tensor.models import each, example, export_model, import_model, model, plain_kernels, with_fixed_weights
from tests.tensor.test_models import Small, losses

SINKING = ("EliminateNoop", "FoldChannelShuffle", "SinkCode", "OptimizeTransposeIntoReshape", "TransposeConstants")


@pytest.fixture(autouse=True, scope="module")
def with_plain_kernels():
    with plain_kernels():
        yield


def close(graph, name):
    """Whether a graph has the results of the model, in double precision."""
    x = example(name, dtype=torch.float64)
    with torch.no_grad():
        return torch.allclose(to_module(graph).double()(x), model(name).double()(x), rtol=1e-11, atol=1e-12)


def sunk(graph):
    for name in SINKING:
        before = -1
        while graph.checkpoint() != before:
            before = graph.checkpoint()
            passes[name].run(graph)
    return graph


@pytest.mark.parametrize(
    ("name", "at_first", "in_the_end"),
    each(
        ("resnet18", 43, 1),
        ("resnet_small", 15, 1),
        ("mobilenet_v2", 105, 1),
        ("mobilenet_small", 27, 1),
        ("squeezenet1_1", 59, 1),
        ("squeezenet_small", 21, 1),
        ("densenet121", 249, 1),
        ("densenet_small", 29, 1),
        ("shufflenet_v2", 115, 1),
        ("shufflenet_small", 33, 1),
    ),
)
def test_all_transposes_but_that_of_the_input_cancel(name, at_first, in_the_end):
    graph = to_nhwc(import_model(name).clone())
    graph.verify()
    assert len(activation_transposes(graph)) == at_first
    assert close(graph, name)
    sunk(graph)
    graph.verify()
    left = activation_transposes(graph)
    assert len(left) == in_the_end
    assert left[0].inputs[0] is graph.inputs[0]
    assert not any(node.op.name == "permute" for node in graph.nodes if node not in left)
    assert close(graph, name)


def test_every_image_operator_has_a_channels_last_form():
    for name, level in (("resnet_small", "functional"), ("resnet_small", "core"), ("squeezenet_small", "functional")):
        graph = to_nhwc(import_model(name, level).clone())
        found = {node.op.name for node in graph.nodes}
        assert not found & {"conv2d", "convolution", "max_pool2d", "max_pool2d_with_indices", "adaptive_avg_pool2d"}
        assert "conv2d_nhwc" in found
        assert close(graph, name)


def test_types_name_the_order_of_their_axes():
    graph = sunk(to_nhwc(import_model("resnet_small").clone()))
    assert graph.inputs[0].tensor_type.layout == "NCHW"
    layouts = {v.tensor_type.layout for node in graph.nodes for v in node.outputs if v.tensor_type.rank == 4}
    assert layouts == {"NHWC", ""}  # the last reshape, to one number per channel, has no name
    convolutions = [node for node in graph.nodes if node.op.name == "conv2d_nhwc"]
    assert {node.inputs[0].tensor_type.layout for node in convolutions} == {"NHWC"}


def test_an_import_can_ask_for_the_layout():
    graph = from_exported(export_model("densenet_small"), layout="nhwc")
    assert len(activation_transposes(graph)) == 29
    with pytest.raises(UnknownNameError, match="nchw"):
        from_exported(export_model("densenet_small"), layout="nchw")


def test_the_step_is_recorded_with_its_rewrites_and_can_be_run():
    x = example("densenet_small")
    trace = record_module(export_model("densenet_small"), (x,), nhwc_rewriter)
    last = trace.steps[-1]
    assert last.path == "nhwc"
    rules = [rewrite.rule for rewrite in last.rewrites]
    assert rules.count("convolution_with_channels_last") == 12
    assert rules.count("batch_norm_with_axis") == 13
    with torch.no_grad():
        wanted = model("densenet_small")(x)
        for step in trace.steps:
            assert torch.allclose(step.snapshot.results((x,))[0], wanted, rtol=1e-4, atol=1e-5)


class Others(nn.Module):
    """Operators without a form with channels last."""

    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(3, 4, 2)
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.line = nn.Conv1d(4, 2, 3)

    def forward(self, x):
        pooled, places = self.pool(self.up(x))
        return self.line(pooled.flatten(2)), places, x.mean((1, 2))


def test_operators_without_a_channels_last_form_are_declined_with_a_reason():
    module, x = Others(), torch.randn(2, 3, 5, 5)
    graph = from_module(module, (x,), level="core")
    before = graph.text()
    trace = record_module(graph, (x,), nhwc_rewriter)
    assert to_nhwc(graph).text() == before
    reasons = [str(near.refusal.found) for step in trace.steps for near in step.refusals]
    assert sorted(reasons) == sorted(
        [
            "it is a transposed convolution, which has no form with channels last",
            "its indices are used too",
            "it is not in two dimensions, or has no batch axis",
            "it is not over height and width",
        ]
    )


def test_a_graph_with_channels_last_trains_as_the_module():
    original = with_fixed_weights(Small, torch.randn(4, 3, 16, 16)).double().train()
    x = torch.randn(4, 3, 16, 16, dtype=torch.float64)
    graph = from_module(copy.deepcopy(original), (x,), layout="nhwc", training=True)
    sunk(graph)
    graph.verify()
    computed = to_module(graph)
    assert losses(computed) == pytest.approx(losses(original), rel=1e-10)


def test_a_module_with_channels_last_compiles_and_can_be_exported_again():
    x = example("resnet_small")
    graph = sunk(to_nhwc(import_model("resnet_small").clone()))
    module = to_module(graph)
    with torch.no_grad():
        wanted = module(x)
        assert torch.equal(torch.compile(module, backend="eager", fullgraph=True)(x), wanted)
    program = torch.export.export(module, (x,))
    again = from_exported(program)
    assert [node.op.name for node in again.nodes].count("conv2d_nhwc") == 6
    core = from_exported(program, level="core")
    assert not any(node.op.name.endswith("_nhwc") for node in core.nodes)
    assert torch.allclose(to_module(core)(x), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_transposed_weight_keeps_its_strides_and_every_bit(dtype):
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).to(dtype).eval()
    trace = record_module(
        net, (torch.randn(2, 3, 9, 9, dtype=dtype),), ["SinkCode", "TransposeConstants"], layout="nhwc"
    )
    checks = trace.check()
    assert any(check.path == "TransposeConstants" for check in checks)
    assert all(check.ok for check in checks)
