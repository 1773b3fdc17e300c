"""Operators of several results: lists among them, and result types that depend on gradient mode."""

from itertools import product

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


class Bags(nn.Module):
    """Embedding bags of all kinds side by side, so that one export serves all of them."""

    def __init__(self):
        super().__init__()
        kinds = product(("sum", "mean", "max"), (False, True))
        self.bags = nn.ModuleList(nn.EmbeddingBag(10, 4, mode=mode, include_last_offset=last) for mode, last in kinds)

    def forward(self, x, offsets):
        return [bag(x, offsets) for bag in self.bags]


@pytest.mark.parametrize("mode", ["infer", "train"])
def test_embedding_bags(mode):
    module = Bags()
    x = (torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2, 4]))
    compiled = explorer.record(module, x, "CSE", mode=mode).compiled
    for i, (found, wanted) in enumerate(zip(compiled(*x), module(*x), strict=True)):
        assert torch.equal(found, wanted)
        if mode == "train":
            weights = [made.get_parameter(f"bags.{i}.weight") for made in (compiled, module)]
            gradients = [
                torch.autograd.grad(y.sum(), weight)[0] for y, weight in zip((found, wanted), weights, strict=True)
            ]
            assert torch.equal(*gradients)
