"""The first law at level 3: as programs, circuits and models return the bits of their graphs, in poisoned memory."""

import pytest
import torch

from explorer.program.lowering.lower import lower
from explorer.program.passes.pipelines import MEMORY_PIPELINE
from explorer.templates import gallery
from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE
from explorer.tensor.recording.managed import ManagedPipeline
from tests.program.programs import after, assert_computes
from tests.tensor.circuits import import_circuit, rows
from tests.tensor.models import MODELS, example, import_model, plain_kernels

QUICK_CIRCUITS = ("blackboard", "digits")
"""The other exports take long, or are of kinds that these have too; `make fuzz` tests them."""
QUICK_MODELS = ("transformer", "squeezenet_small")


def each(names, quick):
    return [pytest.param(name, marks=[] if name in quick else [pytest.mark.fuzz]) for name in names]


def assert_law(graph, *inputs):
    """A graph and what the default passes make of it have the same bits as programs, before and after all passes."""
    rewritten = graph.clone()
    ManagedPipeline(DEFAULT_PIPELINE).rewrite(rewritten)
    for state in (graph, rewritten):
        program = lower(state)
        for found in (program, after(program, *MEMORY_PIPELINE.pass_ids)):
            with torch.no_grad():
                assert_computes(found, state, *inputs)


@pytest.mark.parametrize("name", each(gallery.names(), QUICK_CIRCUITS))
def test_a_circuit_of_the_gallery_has_the_same_bits_as_a_program(name):
    assert_law(import_circuit(name).clone(), rows(name))


@pytest.mark.parametrize("name", each(MODELS, QUICK_MODELS))
def test_a_model_has_the_same_bits_as_a_program(name):
    with plain_kernels():
        assert_law(import_model(name).clone(), example(name))
