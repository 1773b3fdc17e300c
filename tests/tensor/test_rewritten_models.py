"""Real models through the default passes: what comes out is as near to the model as the passes promise."""

import pytest
import torch

from explorer.rewrite import Exactness, PassManager
from explorer.tensor import from_exported
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.pipelines import DEFAULT_PIPELINE
from tests.tensor.models import MODELS, assert_within_rounding, example, imported, model, plain_kernels

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
