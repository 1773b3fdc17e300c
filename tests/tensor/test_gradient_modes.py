"""Parts of a module without gradients stay without them in its graph for training."""

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


FUNCTIONS = (without_gradients, switched_on_again, detached, straight_through)


def all_of_them(module, x):
    return [function(module, x) for function in FUNCTIONS]


def gradient(module, result):
    return torch.autograd.grad(result.sum(), list(module.parameters()), retain_graph=True)


@pytest.mark.parametrize("level", ["functional", "core"])
def test_the_gradient_is_that_of_the_module(level):
    """One module of all functions, because its export takes longest."""
    x = torch.tensor([1.3, 0.7])
    module = Weighted(all_of_them)
    made = to_module(from_module(module, (x,), level=level, training=True))
    for function, found, wanted in zip(FUNCTIONS, made(x), module(x), strict=True):
        assert torch.equal(found, wanted), function.__name__
        ((found_gradient,), (wanted_gradient,)) = gradient(made, found), gradient(module, wanted)
        assert torch.equal(found_gradient, wanted_gradient), function.__name__


def test_the_exported_program_is_not_modified():
    x = torch.ones(2)
    program = torch.export.export(Weighted(without_gradients), (x,))
    before = str(program.graph)
    from_exported(program, training=True)
    assert str(program.graph) == before
