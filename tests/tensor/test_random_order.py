"""Random operators run in the order of the program, so that a seed draws the same numbers at every step."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout
from torch.utils._pytree import tree_leaves

import explorer
from explorer.tensor import Apply, FunctionGraph, TensorType, Variable, call, from_module, to_module

aten = torch.ops.aten
x = torch.arange(1.0, 7.0)


class LastFirst(nn.Module):
    """The first draw is returned last."""

    def forward(self, x):
        auxiliary = dropout(x * 2, 0.5, True)
        main = dropout(x + 1, 0.5, True)
        return main, auxiliary


class LastRead(nn.Module):
    """The first draw is read last, by another operator that draws."""

    def forward(self, x):
        noise = torch.rand_like(x)
        hidden = dropout(x + 1, 0.5, True)
        return dropout(hidden * torch.bernoulli(hidden.sigmoid()), 0.5, True) + noise


def run_with_seed(module, *arguments):
    torch.manual_seed(7)
    return tree_leaves(module(*arguments))


@pytest.mark.parametrize("module", [LastFirst(), LastRead()], ids=["returned", "read"])
def test_a_seed_draws_the_numbers_of_the_module_in_every_step_and_in_copies(module):
    wanted = run_with_seed(module, x)
    trace = explorer.record(module, (x,), mode="train")
    graph = from_module(module, (x,), training=True)
    modules = [trace.circuit_at(step) for step in trace.steps if step.changed] + [trace.compiled, trace.circuit_at(0)]
    modules += [to_module(graph), to_module(graph.clone()), to_module(graph.clone().clone())]
    for made in modules:
        assert all(map(torch.equal, run_with_seed(made, x), wanted))
    assert all(check.max_difference == 0.0 for check in trace.check())


def test_the_check_of_a_trace_sees_an_import_that_draws_in_another_order():
    trace = explorer.record(LastFirst(), (x,), (), mode="train")
    snapshot: Any = trace.steps[0].snapshot
    state = snapshot.state
    for node in state.nodes.values():
        if isinstance(node.value, Apply) and node.value.op.is_random:
            node.value.draw = 9 - node.value.draw
    (check,) = trace.check()
    assert not check.ok


def test_a_replaced_random_operator_keeps_its_position():
    a = Variable(TensorType(torch.float32, (6,)), name="a")
    graph = FunctionGraph([a], [call(aten.dropout.default, v, 0.5, True) for v in (a, call(aten.neg.default, a))])
    new = call(aten.dropout.default, call(aten.alias.default, graph.inputs[0]), 0.5, True)
    wanted = run_with_seed(to_module(graph), x)
    graph.replace_validate(graph.outputs[0], new)
    assert [node.inputs[0].owner is None for node in graph.toposort() if node.op.is_random] == [False, False]
    assert all(map(torch.equal, run_with_seed(to_module(graph), x), wanted))


def test_a_random_operator_that_needs_a_later_one_runs_after_it():
    a = Variable(TensorType(torch.float32, (6,)), name="a")
    first = call(aten.dropout.default, a, 0.5, True)
    graph = FunctionGraph([a], [call(aten.neg.default, first)])
    graph.change_node_input(next(iter(graph.nodes)), 0, call(aten.bernoulli.default, graph.inputs[0]))
    assert [node.op.name for node in graph.toposort()] == ["bernoulli", "dropout", "neg"]
