"""Operators of several results: lists among them, and results whose type depends on whether gradients are wanted."""

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import explorer
from explorer.tensor import from_module, to_fx, to_module


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def points():
    return torch.rand(5, 2, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.histogramdd(x, [2, 3]),
        lambda x: torch.histogramdd(x, [2, 3]).hist,
        lambda x: torch.histogramdd(x, [2, 3]).bin_edges[1],
        lambda x: (x.split(2)[1], x.unbind(1)[0], *torch.meshgrid(x[:, 0], x[:, 1], indexing="ij")),
        lambda x: (*torch.aminmax(x, dim=1), x.max(1).indices),
    ],
    ids=["tensor and list", "tensor", "of the list", "lists", "tensors"],
)
def test_results_are_those_of_the_module(function):
    x, module = points(), Calls(function)
    graph = from_module(module, (x,))
    graph.verify()
    for made in (to_module(graph), explorer.record(module, (x,), "CSE").compiled):
        assert all(map(torch.equal, tree_leaves(made(x)), tree_leaves(module(x))))
    assert all(map(torch.equal, to_fx(graph)(x), tree_leaves(module(x))))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("training", [False, True], ids=["infer", "train"])
def test_embedding_bags(last, mode, training):
    module = nn.EmbeddingBag(10, 4, mode=mode, include_last_offset=last)
    x = (torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2, 4]))
    trace = explorer.record(module, x, "CSE", mode="train" if training else "infer")
    assert torch.equal(trace.compiled(*x), module(*x))
    if training:
        wanted = torch.autograd.grad(module(*x).sum(), module.weight)
        (weight,) = trace.compiled.parameters()
        assert torch.equal(torch.autograd.grad(trace.compiled(*x).sum(), weight)[0], wanted[0])
