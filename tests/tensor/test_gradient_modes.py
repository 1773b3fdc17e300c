"""What runs without gradients in a module runs without them in the graph that is made of it for training."""

import pytest
import torch
from torch import nn

from explorer.tensor import from_exported, from_module, to_module


class Weighted(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


def without_gradients(module, x):
    with torch.no_grad():
        y, z = x * module.w, x + module.w
    return y * module.w + z * z * module.w


def switched_on_again(module, x):
    with torch.no_grad():
        y = x * module.w
        with torch.enable_grad():
            z = y * module.w
        u = z * module.w
    return u * z * module.w


def detached(module, x):
    y = x * module.w
    return y * y.detach()


def straight_through(module, x):
    y = x * module.w
    return y + (y.round() - y).detach()


def gradient(module, x):
    module(x).sum().backward()
    (parameter,) = module.parameters()
    assert parameter.grad is not None
    return parameter.grad


@pytest.mark.parametrize("level", ["functional", "core"])
@pytest.mark.parametrize("function", [without_gradients, switched_on_again, detached, straight_through])
def test_the_gradient_is_that_of_the_module(function, level):
    x = torch.tensor([1.3, 0.7])
    module = Weighted(function)
    graph = from_module(module, (x,), level=level, training=True)
    made = to_module(graph)
    assert torch.equal(made(x), module(x))
    assert torch.equal(gradient(made, x), gradient(Weighted(function), x))


def test_the_exported_program_is_not_modified():
    x = torch.ones(2)
    program = torch.export.export(Weighted(without_gradients), (x,))
    before = str(program.graph)
    from_exported(program, training=True)
    assert str(program.graph) == before
