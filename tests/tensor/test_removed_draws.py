"""Random operators that are removed shift the draws after them: a check reports it, and all others draw the same."""

import pytest
import torch
from torch import nn

import explorer


class OfFunction(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def seeded(module, x):
    torch.manual_seed(5)
    return module(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (torch.rand(3), x + torch.rand(2))[1],
        lambda x: torch.rand(3)[:0].sum() + x + torch.rand(2),
        lambda x: (lambda r: r - r)(torch.rand(2)) + x + torch.rand(2),
    ],
    ids=["not read", "cut to nothing", "minus itself"],
)
def test_a_check_reports_the_step_that_removes_a_draw(function):
    x = torch.zeros(2)
    trace = explorer.record(OfFunction(function), (x,))
    changed = not seeded(trace.compiled, x).equal(seeded(OfFunction(function), x))
    assert changed == (not all(check.ok for check in trace.check()))
    assert ((seeded(trace.compiled, x) >= 0) & (seeded(trace.compiled, x) < 1)).all()


def test_random_operators_that_stay_draw_the_same_numbers_in_every_step():
    x = torch.zeros(2)
    module = OfFunction(lambda x: (torch.rand(2) * (x + 0) * 1 + torch.rand(2)).relu().relu())
    trace = explorer.record(module, (x,))
    assert len(trace.steps) > 1
    for step in range(len(trace.steps)):
        assert seeded(trace.circuit_at(step), x).equal(seeded(module, x))
