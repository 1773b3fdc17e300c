"""Random graphs as programs: the bits of the operators, after lowering and after each pass, with poisoned memory."""

import pytest
import torch
from hypothesis import given, strategies as st

from explorer.program.ir.parsing import parse_program
from explorer.program.ir.verify import verify
from explorer.program.lowering import lower
from explorer.program.memory.planning import peak_bytes, plan_memory
from explorer.program.passes import MEMORY_PIPELINE
from explorer.program.running.executor import Executor
from explorer.tensor import to_module
from explorer.tensor.rules import optdb
from tests.fuzzing import examples
from tests.program.programs import after, arguments_of, poison
from tests.tensor.random_networks import networks
from tests.tensor.rule_checks import same_bits, sample
from tests.tensor.test_random_rewriting import graphs

PASSES = MEMORY_PIPELINE.pass_ids


def check(graph, inputs):
    """Lower, run every pass, and compare with the operators one by one."""
    given_ = [value.clone() for value in inputs]
    wanted = to_module(graph)(*inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    program = lower(graph)
    states = [program]
    for name in PASSES:
        states.append(after(states[-1], name))
    for state in states:
        verify(state)
        assert parse_program(state.text()).text() == state.text()
        found = Executor(state, poison)(*arguments_of(state, graph, *given_))
        assert all(map(same_bits, found, wanted))
        assert all(map(same_bits, given_, inputs)), "the inputs of the caller stay"
    assert peak_bytes(states[-1]) <= peak_bytes(program)
    plan = plan_memory(states[-1])
    assert plan.size_bytes <= 1.25 * plan.lower_bound_bytes


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
@examples(40)
@given(data=st.data())
def test_random_graphs_of_small_operators(dtype, data):
    graph = data.draw(graphs(dtype))
    check(graph, sample(graph))


@examples(40)
@given(graph=graphs())
def test_random_graphs_after_rewriting_with_operators_in_place(graph):
    optdb.query("+fast_run").rewrite(graph)
    check(graph, sample(graph))


@examples(40)
@given(graph=networks(), names=st.permutations(PASSES) | st.lists(st.sampled_from(PASSES), max_size=16))
def test_passes_in_any_order_and_number(graph, names):
    inputs = sample(graph)
    wanted = to_module(graph)(*inputs)
    found = Executor(after(lower(graph), *names), poison)(*arguments_of(lower(graph), graph, *inputs))
    assert all(map(same_bits, found, wanted if isinstance(wanted, tuple) else (wanted,)))


@examples(40)
@given(graph=networks())
def test_random_networks(graph):
    check(graph, sample(graph))
