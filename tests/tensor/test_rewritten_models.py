"""Real models through the default passes: what comes out is as near to the model as the passes promise."""

import pytest
import torch
from torch import nn

from explorer.rewrite import CompilationMode, Exactness, PassManager
from explorer.tensor import from_exported, from_module
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.pipelines import DEFAULT_PIPELINE
from tests.tensor.models import (
    MODELS,
    assert_within_rounding,
    example,
    imported,
    in_double,
    model,
    plain_kernels,
    stirred,
)

HERE = [name for name in MODELS if name != "densenet121"]
"""For that one see test_densenet.py."""


@pytest.fixture(autouse=True, scope="module")
def with_plain_kernels():
    with plain_kernels():
        yield


def test_no_default_pass_promises_less_than_equality_in_real_arithmetic():
    made = [passes[name] for name in DEFAULT_PIPELINE.pass_ids]
    assert {one.exactness for one in made if isinstance(one, GraphPass)} == {Exactness.EXACT, Exactness.REAL}


@pytest.mark.parametrize("name", HERE)
def test_a_model_in_single_precision_is_as_near_as_promised(name):
    graph = imported(name).clone()
    before = len(graph)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert len(graph) < before
    assert_within_rounding(graph, name)


@pytest.mark.parametrize("name", ["densenet_small", "transformer"])
def test_a_model_in_double_precision_is_as_near_as_promised(name):
    program = torch.export.export(model(name).double(), (example(name, dtype=torch.float64),))
    graph = from_exported(program)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert_within_rounding(graph, name, torch.float64)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "shufflenet_v2", "squeezenet1_1"])
def test_a_large_model_in_double_precision_is_as_near_as_promised(name):
    graph = in_double(imported(name))
    assert {v.tensor_type.dtype for node in graph.nodes for v in node.outputs} == {torch.float64}
    before = len(graph)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert len(graph) < before
    assert_within_rounding(graph, name, torch.float64)


def bounds(graph):
    """The operators that clip, each with its bounds, in their order."""
    names = {"clamp": ("min", "max"), "hardtanh": ("min_val", "max_val")}
    found = [node.op for node in graph.toposort() if node.op.name in names]
    return [(op.name, *(op[bound] for bound in names[op.name])) for op in found]


def test_35_clips_of_mobilenet_are_recognized():
    """They come in as hardtanh, PyTorch's relu6; clamp is the one form in which rules look for clips."""
    graph = imported("mobilenet_v2").clone()
    assert bounds(graph) == [("hardtanh", 0.0, 6.0)] * 35
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert bounds(graph) == [("clamp", 0.0, 6.0)] * 35


def test_in_training_clips_stay_as_they_are():
    """On the bounds hardtanh lets no gradient through, and clamp does; an input may ask for its gradient too."""

    def build():
        return nn.Sequential(nn.ReLU6(), nn.Conv2d(3, 4, 3), nn.ReLU6())

    x = torch.randn(2, 3, 6, 6)
    graph = from_module(stirred(build, x).train(), (x,), training=True)
    PassManager(DEFAULT_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert bounds(graph) == [("hardtanh", 0.0, 6.0)] * 2
