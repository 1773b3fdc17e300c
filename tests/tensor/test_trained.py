"""A graph in which nothing is trained is not searched for what is; strides stay where something looks at them."""

import pytest
import torch

from explorer.tensor import Constant, FunctionGraph, call, running
from explorer.tensor.rules import canonicalize
from tests.tensor.passes.checking import aten, graph_pass, ops, reasons, results, tensor


def clips_of(x, count):
    """Pairs of clips, each behind a negation; hardtanh has no gradient on its bounds, clamp has."""
    for i in range(count):
        x = call(aten.neg.default, call(aten.clamp.default, call(aten.hardtanh.default, x, -5.0, 1.0), -2.0, 1.0 + i))
    return x


def parameter(*shape):
    return Constant(torch.nn.Parameter(torch.ones(shape)), "w", trainable=True)


@pytest.mark.parametrize("trained", [True, False])
def test_what_is_trained_is_looked_for_only_where_something_is(trained, monkeypatch):
    looked = []
    found = running.trained_below
    monkeypatch.setattr(running, "trained_below", lambda variable: (looked.append(variable), found(variable))[1])
    x = tensor(2, 2)
    other = call(aten.mul.Tensor, x, parameter(2, 2)) if trained else x
    graph = FunctionGraph([x], [clips_of(x, 3), other])
    graph_pass("OptimizeClips").run(graph)
    assert ops(graph).count("clamp") == 3
    assert bool(looked) is trained


def test_what_is_trained_is_found_where_a_pass_brings_it_in():
    x = tensor(2, 2)
    graph = FunctionGraph([x], [call(aten.relu.default, x)])
    with running.running_on(graph):
        assert running.trained_among(graph.outputs[0]) is None
        graph.replace(graph.inputs[0], call(aten.mul.Tensor, graph.inputs[0], parameter(2, 2)))
        found = running.trained_among(graph.outputs[0])
        assert found is not None
        assert found.name == "w"
    assert graph.feature(running._Trained) is None


def test_clips_above_what_is_trained_stay():
    x = tensor(2, 2)
    told = reasons([x], clips_of(call(aten.mul.Tensor, x, parameter(2, 2)), 1), "OptimizeClips")
    assert told == ["w is trained, and its gradient would be another one where numbers are equal"]


def test_strides_stay_in_whatever_leads_the_rules():
    """Reshaped twice, a transposed matrix lies in the order of its axes; `as_strided` would see it turned around."""
    x = tensor(3, 4)
    turned = call(aten.reshape.default, call(aten.t.default, x), [12])
    output = call(aten.as_strided.default, call(aten.reshape.default, turned, [4, 3]), [2, 2], [1, 2])
    graph = FunctionGraph([x], [output])
    given = (torch.arange(12.0).reshape(3, 4),)
    (wanted,) = results(graph, given)
    canonicalize.query("+fast_run").rewrite(graph)
    assert torch.equal(results(graph, given)[0], wanted)
