"""The first law at level 3: as programs, circuits and models return the bits of their graphs, in poisoned memory."""

import pytest
import torch

from explorer.program.lowering import lower
from explorer.program.memory.planning import plan_memory
from explorer.program.passes import MEMORY_PIPELINE
from explorer.rewrite import CompilationMode
from explorer.templates import gallery
from explorer.tensor import from_module
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.recording.record_module import ManagedPipeline
from tests.program.programs import after, assert_computes
from tests.program.trained import assert_trains, joint_of
from tests.tensor.circuits import compile_circuit, import_circuit, rows
from tests.tensor.models import MODELS, example, import_model, model, plain_kernels

QUICK_CIRCUITS = ("digits",)
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


def rewritten_for_training(module, x):
    """A module after the default passes of training."""
    graph = from_module(module, (x,), training=True)
    ManagedPipeline(DEFAULT_PIPELINE, CompilationMode.TRAIN).rewrite(graph)
    return graph


@pytest.mark.parametrize("name", each(gallery.names(), QUICK_CIRCUITS))
def test_a_circuit_of_the_gallery_has_the_same_bits_as_a_program(name):
    assert_law(import_circuit(name).clone(), rows(name))


@pytest.mark.parametrize("name", each(gallery.names(), ("blackboard",)))
def test_a_circuit_of_the_gallery_is_trained_with_the_same_bits(name):
    program = assert_trains(joint_of(rewritten_for_training(compile_circuit(name), rows(name))), rows(name))
    plan = plan_memory(program)
    assert plan.size_bytes <= 1.05 * plan.lower_bound_bytes


@pytest.mark.parametrize("name", each(MODELS, ("resnet_small",)))
def test_a_model_is_trained_with_the_same_bits(name):
    with plain_kernels():
        assert_trains(joint_of(rewritten_for_training(model(name).train(), example(name))), example(name))


@pytest.mark.parametrize("name", each(MODELS, QUICK_MODELS))
def test_a_model_has_the_same_bits_as_a_program(name):
    with plain_kernels():
        assert_law(import_model(name).clone(), example(name))
