"""Operators that name a place in the storage of their input: a program has other storages than its operators."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import OperatorError
from explorer.program import why_not_planned
from explorer.tensor import to_module
from tests.program.programs import snapshot_of
from tests.program.trained import assert_same_gradients, loss_of, modules_of
from tests.tensor.rule_checks import same_bits

X = torch.randn(8, generator=torch.Generator().manual_seed(0))
FUNCTIONS = {
    "a view before its source": lambda x, scale: (x * scale)[2:].as_strided((3,), (1,), 1),
    "a view of a view": lambda x, scale: (x * scale)[2:].view(3, 2)[1:].as_strided((2, 2), (3, 1), 1),
    "a view of an input": lambda x, scale: x[2:].as_strided((3,), (1,), 1) * scale[:3],
    "a part that is replaced": lambda x, scale: torch.as_strided_scatter(
        (x.exp() * scale)[2:], scale[:3], (3,), (1,), 2
    ),
    "a part that is copied": lambda x, scale: torch.as_strided_copy((x.exp() * scale)[2:], (3,), (1,), 4),
    "a part of a concat": lambda x, scale: torch.cat([x * 3, x])[2:4].as_strided((3,), (1,), 7) * scale[:3],
    "a part that was not written": lambda x, scale: (
        torch.slice_scatter(x * 3, scale[:2], 0, 4, 6)[:4].as_strided((3,), (1,), 3) * scale[:3]
    ),
    "the place of the input": lambda x, scale: torch.as_strided_copy((x.exp() * scale)[2:], (3,), (1,)),
}


class Scaled(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.scale = nn.Parameter(torch.linspace(-1.0, 2.0, 8))

    def forward(self, x):
        return self.function(x, self.scale) * 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_place_in_a_storage_is_that_of_the_operators(name):
    module = Scaled(FUNCTIONS[name])
    assert same_bits(explorer.record(module, (X,), level="program").compiled(X), module(X).detach())
    trace = explorer.record(module, (X,), level="program", mode="train")
    assert why_not_planned(trace.compiled, X) is None
    pair = modules_of(trace)
    for one in pair:
        loss_of([one(X)]).backward()
    assert_same_gradients(*pair)


def test_an_input_inside_of_a_storage_takes_the_operators():
    module = Scaled(FUNCTIONS["a view of an input"])
    x = torch.arange(12.0)[4:]
    for example in (X, x):
        trace = explorer.record(module, (example,), level="program", mode="train")
        assert "begins inside of a storage" in str(why_not_planned(trace.compiled, x))
        assert same_bits(trace.compiled(x), to_module(snapshot_of(trace).source.forward)(x))
        assert same_bits(trace.compiled(example), module(example))


def test_a_copy_from_before_the_input_is_refused():
    module = Scaled(lambda x, scale: torch.as_strided_copy((x * scale)[2:], (3,), (1,), 1))
    with pytest.raises(OperatorError, match="as_strided_copy reads memory before its input"):
        explorer.record(module, (X,), level="program")


def test_gradients_of_an_image_that_is_averaged_in_channels_last():
    torch.manual_seed(0)
    original = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU6(), nn.Conv2d(8, 16, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1))
    original, x = original.double(), torch.randn(2, 3, 16, 16, dtype=torch.float64)
    trace = explorer.record(original, (x,), level="program", mode="train", layout="nhwc")
    assert "as_strided_scatter" in snapshot_of(trace).program.text()
    loss_of([trace.compiled(x)]).backward()
    found = {name: parameter.grad.clone() for name, parameter in trace.compiled.named_parameters()}
    original.zero_grad()
    loss_of([original(x)]).backward()
    for name, parameter in original.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad)
