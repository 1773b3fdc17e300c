"""DenseNet-121, the largest of the real models: exporting it takes so long that all that looks at it stands here."""

import pytest
import torch

from explorer.rewrite import PassManager
from explorer.tensor import to_module, to_nhwc
from explorer.tensor.passes import passes
from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE
from explorer.tensor.torch_io.nhwc import activation_transposes
from tests.tensor.models import assert_within_rounding, example, imported, model, plain_kernels
from tests.tensor.test_models import below, named
from tests.tensor.test_nhwc import close, sunk

NORM = "_native_batch_norm_legit_no_training"


@pytest.fixture(autouse=True, scope="module")
def with_plain_kernels():
    with plain_kernels():
        yield


def test_the_graph_computes_what_the_model_does_bit_by_bit():
    graph, x = imported("densenet121"), example("densenet121")
    norms = named(graph, NORM)
    assert sum(below(norm) == "conv2d" for norm in norms) == 59
    assert len(norms) == 59 + 62
    with torch.no_grad():
        assert torch.equal(to_module(graph)(x), model("densenet121")(x))


def test_all_transposes_but_that_of_the_input_meet():
    graph = to_nhwc(imported("densenet121").clone())
    assert len(activation_transposes(graph)) == 249
    sunk(graph)
    graph.verify()
    (left,) = activation_transposes(graph)
    assert left.inputs[0] is graph.inputs[0]
    assert close(graph, "densenet121")


def test_all_batch_norms_behind_convolutions_are_part_of_them_after_the_default_passes():
    graph = imported("densenet121").clone()
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    norms = named(graph, NORM)
    assert len(norms) == 62
    assert not any(below(norm) == "conv2d" for norm in norms)
    assert len(named(graph, "conv2d")) == 120
    assert_within_rounding(graph, "densenet121")
