"""A module that was exported in one mode does not pretend to be in the other: its operators would be wrong."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import OperatorError
from explorer.templates import gallery
from explorer.tensor import from_module, to_module
from explorer.tensor.torch_io.export_support import training_modes
from tests.fuzzing import covering

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


class Custom(nn.Module):
    def forward(self, x):
        return (lambda: x * 2 if self.training else x)()


@pytest.mark.parametrize(
    ("part", "mode", "level"),
    covering((nn.Dropout(), nn.BatchNorm1d(3), Custom()), (True, False), ("tensor", "program")),
)
def test_the_other_mode_is_refused_where_it_matters(part, mode, level):
    original = nn.Sequential(nn.Linear(3, 3), part).train(mode)
    module = explorer.record(original, (X,), level=level).compiled
    assert module.training is mode
    assert module.train(mode) is module
    with pytest.raises(OperatorError, match="on the original module and export it again"):
        module.train(not mode)
    with pytest.raises(OperatorError, match="on the original module and export it again"):
        nn.Sequential(module).train(not mode)


def test_modules_that_compute_the_same_in_both_modes_have_both():
    parts = [nn.Linear(3, 3), nn.LayerNorm(3), nn.LSTM(3, 3), nn.MultiheadAttention(3, 1)]
    assert training_modes(nn.Sequential(*parts)) == frozenset()
    assert training_modes(explorer.record(gallery.load_named("blackboard")).compiled) == frozenset()
    module = to_module(from_module(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), (X,)))
    assert module.training
    assert not module.eval().training
    assert module.train().training


def test_a_module_whose_parts_are_in_different_modes_has_no_other_one():
    original = nn.Sequential(nn.BatchNorm1d(3).eval(), nn.Dropout())
    assert training_modes(original) == {True, False}
    module = to_module(from_module(original, (X,)))
    for mode in (True, False):
        with pytest.raises(OperatorError):
            module.train(mode)
