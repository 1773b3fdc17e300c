"""Variables that depend on trained ones are marked; strides that operators depend on are kept by every navigator."""

import pytest
import torch
from torch import nn

import explorer
from explorer.tensor import Constant, FunctionGraph, call
from explorer.tensor.facts import first_trained
from explorer.tensor.rules import canonicalize
from tests.tensor.passes.checking import aten, reasons, results, tensor


def clips_of(x, count):
    """Pairs of clips, each behind a negation; hardtanh has no gradient on its bounds, clamp has."""
    for i in range(count):
        x = call(aten.neg.default, call(aten.clamp.default, call(aten.hardtanh.default, x, -5.0, 1.0), -2.0, 1.0 + i))
    return x


def parameter(*shape):
    return Constant(torch.nn.Parameter(torch.ones(shape)), "w", trainable=True)


def test_variables_that_depend_on_parameters_require_grad():
    x = tensor(2, 2)
    first, other = call(aten.relu.default, x), call(aten.mul.Tensor, x, parameter(2, 2))
    assert [first.requires_grad, other.requires_grad] == [False, True]
    assert first_trained(first) is None
    found = first_trained(first, call(aten.neg.default, other))
    assert found is not None
    assert found.name == "w"


def test_requires_grad_propagates_to_users_after_a_rewrite():
    x = tensor(2, 2)
    graph = FunctionGraph([x], [call(aten.neg.default, call(aten.relu.default, x))])
    graph.replace(graph.inputs[0], call(aten.mul.Tensor, graph.inputs[0], parameter(2, 2)))
    found = first_trained(graph.outputs[0])
    assert found is not None
    assert found.name == "w"


def test_clips_of_trained_values_stay():
    x = tensor(2, 2)
    declined = reasons([x], clips_of(call(aten.mul.Tensor, x, parameter(2, 2)), 1), "OptimizeClips")
    assert declined == ["w is trained, and its gradient would change where numbers are equal"]


def test_strides_are_kept_by_any_graph_walker():
    """Reshaped twice, a transposed matrix is in the order of its axes; `as_strided` would see it transposed."""
    x = tensor(3, 4)
    turned = call(aten.reshape.default, call(aten.t.default, x), [12])
    output = call(aten.as_strided.default, call(aten.reshape.default, turned, [4, 3]), [2, 2], [1, 2])
    graph = FunctionGraph([x], [output])
    given = (torch.arange(12.0).reshape(3, 4),)
    (wanted,) = results(graph, given)
    canonicalize.query("+fast_run").rewrite(graph)
    assert torch.equal(results(graph, given)[0], wanted)


class Between(nn.Module):
    """Bounds from both sides by elementwise extremes."""

    def forward(self, x):
        return torch.minimum(torch.maximum(x, torch.tensor(0.0)), torch.tensor(6.0))


@pytest.mark.parametrize("module", [nn.Sequential(nn.ReLU6(), nn.Hardtanh(0, 6)), Between()])
def test_an_input_keeps_its_gradient_on_the_bounds(module):
    """A module that is compiled for training may be a part of a larger one."""
    x = torch.tensor([0.0, 6.0, 3.0], requires_grad=True)
    made = explorer.record(module, (x.detach(),), mode="train").compiled
    found = [torch.autograd.grad(part(x).sum(), x)[0] for part in (module, made)]
    assert torch.equal(*found)
