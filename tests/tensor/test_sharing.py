"""A caller may write into the results of a rewritten module as with the original."""

import pytest
import torch
from torch import nn

import explorer
from explorer.tensor import from_module, to_module

X = (torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),)


class Calling(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.register_buffer("b", torch.full((2, 3), 7.0))
        self.function = function

    def forward(self, x):
        return self.function(self, x)


def with_zeros(module, x):
    zeros = torch.zeros(2, 3)
    return x + zeros, zeros


FRESH = [
    lambda s, x: x.clone(),
    lambda s, x: s.b.clone(),
    lambda s, x: (s.b.clone(), x.clone()),
    lambda s, x: (x * 2, x * 2),
    lambda s, x: x * 1,
    lambda s, x: x + 0,
    lambda s, x: x.neg().neg(),
    lambda s, x: x**1,
    lambda s, x: torch.cat([x]),
    lambda s, x: x.repeat(1, 1),
    lambda s, x: nn.functional.pad(x, (0, 0)),
    lambda s, x: x.double().float(),
    lambda s, x: torch.cat([x[:1], x[1:]]),
    lambda s, x: (x * s.b) / s.b,
    lambda s, x: nn.functional.max_pool2d(x[None], 1),
    lambda s, x: s.b * 2,
    lambda s, x: torch.zeros(2, 3) + 1,
    with_zeros,
]


def all_of_them(module, x):
    return tuple(value for function in FRESH for value in outputs(function(module, x)))


@pytest.mark.parametrize(
    "function",
    [all_of_them, FRESH[0], FRESH[1], with_zeros, *(pytest.param(one, marks=pytest.mark.fuzz) for one in FRESH[2:-1])],
)
def test_writing_into_results_affects_neither_arguments_nor_later_calls(function):
    module = Calling(function)
    made = explorer.record(module, X).compiled
    wanted = [value.clone() for value in outputs(module(*X))]
    given = X[0].clone()
    for number, value in enumerate(outputs(made(given))):
        value += number + 1
    assert torch.equal(given, X[0])
    written = outputs(made(given))
    for value, expected in zip(written, wanted, strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=0)
    for i, value in enumerate(written):
        assert all(value.data_ptr() != other.data_ptr() for other in written[:i])


SHARED = [
    (lambda s, x: x, "x"),
    (lambda s, x: x.view(3, 2), "x"),
    (lambda s, x: x[0], "x"),
    (lambda s, x: s.b, "b"),
]


@pytest.mark.parametrize(("function", "source"), SHARED)
def test_aliases_of_the_module_are_preserved(function, source):
    made = explorer.record(Calling(function), X).compiled
    given = X[0].clone()
    memory = given if source == "x" else dict(made.named_buffers())["b"]
    assert made(given).untyped_storage().data_ptr() == memory.untyped_storage().data_ptr()


def test_an_output_returned_twice_stays_one_tensor():
    def twice(_, x):
        y = x * 2
        return y, y

    first, second = to_module(from_module(Calling(twice), X))(*X)
    assert first.data_ptr() == second.data_ptr()


def outputs(value):
    return list(value) if isinstance(value, tuple) else [value]
