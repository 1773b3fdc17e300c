"""Random graphs with gradients: the bits of autograd, after lowering and after each pass, with poisoned memory."""

import pytest
import torch
from hypothesis import assume, given, strategies as st

from explorer.errors import ExportError
from explorer.program import MEMORY_PIPELINE
from tests.fuzzing import examples
from tests.program.trained import assert_trains, joint_of
from tests.tensor.random_networks import networks
from tests.tensor.rule_checks import sample
from tests.tensor.test_random_rewriting import graphs

PASSES = MEMORY_PIPELINE.pass_ids


def check(graph, names=PASSES):
    """Lower the joint graph of a graph, run passes, and compare with autograd after each."""
    try:
        joint = joint_of(graph)
    except ExportError as error:
        assume("no output depends on" not in str(error))
        raise
    assert_trains(joint, *sample(graph), names=names)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@examples(12)
@given(data=st.data())
def test_random_graphs_of_small_operators(dtype, data):
    check(data.draw(graphs(dtype)))


@examples(12)
@given(graph=networks(requires_grad=True))
def test_random_networks(graph):
    check(graph)


@examples(12)
@given(
    graph=networks(requires_grad=True), names=st.permutations(PASSES) | st.lists(st.sampled_from(PASSES), max_size=16)
)
def test_passes_in_any_order_and_number(graph, names):
    check(graph, names)
