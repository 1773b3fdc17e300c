"""Operators are equal if no tensor can tell them apart: 2 is not 2.0, and 0.0 is not -0.0."""

import copy

import pytest
import torch
from torch import nn

import explorer
from explorer.tensor import Op, from_module, to_module
from explorer.tensor.passes.base import DEFAULT_PIPELINE

aten = torch.ops.aten


class Calling(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


NUMBERS = (0, 0.0, -0.0, False, 0j, 1, 1.0, True, float("nan"), float("inf"))


@pytest.mark.parametrize("one", NUMBERS)
def test_numbers_are_equal_to_themselves_only(one):
    for other in NUMBERS:
        same = type(one) is type(other) and repr(one) == repr(other)
        ops = [Op.of(aten.clamp.default, min=number, max=None) for number in (one, other)]
        assert (ops[0] == ops[1]) is same, other
        assert (hash(ops[0]) == hash(ops[1])) >= same, other


def test_lists_are_compared_number_by_number():
    ops = [Op.of(aten.constant_pad_nd.default, pad=(1, 1), value=value) for value in (0, 0.0, -0.0)]
    assert len(set(ops)) == 3
    assert Op.of(aten.constant_pad_nd.default, pad=[1, 1], value=0) == ops[0]


def test_only_settings_other_than_defaults_are_printed():
    assert str(Op.of(aten.constant_pad_nd.default, pad=(1, 1), value=-0.0)).endswith("value=-0.0")


def test_copies_are_equal():
    op = Op.of(aten.clamp.default, min=float("nan"), max=-0.0)
    assert copy.deepcopy(op) == op


def pairs(x):
    return (
        *(x**2, x**2.0),
        *(x % 2, x % 2.0),
        *(x.clamp(0), x.clamp(0.0)),
        *(torch.where(x > 0, 1, 0), torch.where(x > 0, 1.0, 0.0)),
        *(x / torch.full((7,), 0.0), x / torch.full((7,), -0.0)),
        *(torch.full((7,), 1) + x, torch.full((7,), 1.0) + x),
    )


@pytest.mark.parametrize("pipeline", [None, DEFAULT_PIPELINE])
def test_operators_with_numbers_of_different_types_are_not_merged(pipeline):
    x = torch.arange(-3, 4)
    module = Calling(pairs)
    if pipeline is None:
        made = to_module(from_module(module, (x,)))
    else:
        made = explorer.record(module, (x,), pipeline=pipeline).compiled
    for found, wanted in zip(made(x), module(x), strict=True):
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
