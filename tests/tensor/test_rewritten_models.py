"""Real models through the default passes: their rewrites, and results as exact as they promise."""

import pytest
import torch
from torch import nn

from explorer.rewrite import CompilationMode, Exactness, PassManager
from explorer.tensor import from_exported, from_module
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from tests.tensor.models import (
    MODELS,
    assert_within_rounding,
    each,
    example,
    import_model,
    in_double,
    model,
    plain_kernels,
    with_fixed_weights,
)
from tests.tensor.passes.checking import GLOW_PIPELINE


@pytest.fixture(autouse=True, scope="module")
def with_plain_kernels():
    with plain_kernels():
        yield


def test_every_default_pass_is_exact_in_real_arithmetic():
    made = [passes[name] for name in DEFAULT_PIPELINE.pass_ids]
    assert {one.exactness for one in made if isinstance(one, GraphPass)} == {Exactness.EXACT, Exactness.REAL}


def counts(graph):
    names = [node.op.name for node in graph.toposort()]
    return {name: names.count(name) for name in dict.fromkeys(names)}


NORM = "_native_batch_norm_legit_no_training"

FOUND = {  # model: the operators before, and after, that the passes are about
    "resnet18": ({"conv2d": 20, NORM: 20}, {"conv2d": 20, NORM: 0}),
    "resnet_small": ({"conv2d": 6, NORM: 6}, {"conv2d": 6, NORM: 0}),
    "mobilenet_v2": ({"conv2d": 52, NORM: 52}, {"conv2d": 52, NORM: 0}),  # its clips: see below
    "mobilenet_small": ({"conv2d": 13, NORM: 13}, {"conv2d": 13, NORM: 0}),
    "densenet121": ({"conv2d": 120, NORM: 121}, {"conv2d": 120, NORM: 62}),
    "shufflenet_small": (
        {"conv2d": 15, NORM: 15, "channel_shuffle": 0},
        {"conv2d": 15, NORM: 0, "channel_shuffle": 3, "transpose": 0},
    ),
    "shufflenet_v2": (
        {"conv2d": 56, NORM: 56, "channel_shuffle": 0},
        {"conv2d": 56, NORM: 0, "channel_shuffle": 16, "transpose": 0},
    ),
    "squeezenet1_1": ({"relu": 26, "cat": 8, "max_pool2d": 3}, {"relu": 18, "cat": 8, "max_pool2d": 3}),
    "squeezenet_small": ({"relu": 8, "cat": 2, "max_pool2d": 2}, {"relu": 6, "cat": 2, "max_pool2d": 2}),
    "densenet_small": ({NORM: 13}, {NORM: 7}),
    "transformer": ({"linear": 6}, {"linear": 4, "split_with_sizes": 1}),
}


@pytest.mark.parametrize("name", each(*FOUND))
def test_rewrites_of_real_models_are_counted(name):
    before, after = FOUND[name]
    graph = import_model(name).clone()
    found = counts(graph)
    assert {key: found.get(key, 0) for key in before} == before
    PassManager(GLOW_PIPELINE, passes).run(graph)
    found = counts(graph)
    assert {key: found.get(key, 0) for key in after} == after
    assert found.get("clone", 0) == 0
    assert_within_rounding(graph, name)


@pytest.mark.parametrize("name", each(*MODELS))
def test_a_model_in_single_precision_stays_within_tolerance(name):
    graph = import_model(name).clone()
    before = len(graph)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert len(graph) < before
    assert_within_rounding(graph, name)


@pytest.mark.parametrize("name", ["resnet_small", "transformer"])
def test_a_model_in_double_precision_stays_within_tolerance(name):
    program = torch.export.export(model(name).double(), (example(name, dtype=torch.float64),))
    graph = from_exported(program)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert_within_rounding(graph, name, torch.float64)


@pytest.mark.parametrize("name", each("resnet18", "resnet_small", "mobilenet_v2", "shufflenet_v2", "shufflenet_small"))
def test_a_large_model_in_double_precision_stays_within_tolerance(name):
    graph = in_double(import_model(name))
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


@pytest.mark.parametrize(("name", "count"), each(("mobilenet_v2", 35), ("mobilenet_small", 9)))
def test_clips_of_mobilenet_are_recognized(name, count):
    """They come in as hardtanh, PyTorch's relu6; clamp is the one form in which rules look for clips."""
    graph = import_model(name).clone()
    assert bounds(graph) == [("hardtanh", 0.0, 6.0)] * count
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert bounds(graph) == [("clamp", 0.0, 6.0)] * count


def test_in_training_clips_are_not_rewritten():
    """On the bounds hardtanh lets no gradient through, and clamp does; an input may ask for its gradient too."""

    def build():
        return nn.Sequential(nn.ReLU6(), nn.Conv2d(3, 4, 3), nn.ReLU6())

    x = torch.randn(2, 3, 6, 6)
    graph = from_module(with_fixed_weights(build, x).train(), (x,), training=True)
    PassManager(DEFAULT_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert bounds(graph) == [("hardtanh", 0.0, 6.0)] * 2
