"""Outputs have the strides of the module's, so that a caller can write into them."""

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import explorer

x = torch.arange(1.0, 7.0).reshape(2, 3)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


FUNCTIONS = {
    "x * 0 + mean": lambda x: x * 0 + x.sin().mean(0, keepdim=True),
    "x - x + mean": lambda x: x - x + x.sin().mean(),
    "a part": lambda x: (x[:, :2] * 1.0).index_fill(1, torch.tensor([0]), 5.0),
    "1 / expanded": lambda x: 1.5 / x.exp().expand(4, 2, 3),
    "transposed": lambda x: (x.t() * 0 + x.sum()).exp().log() * 1.0,
    "a constant": lambda x: (x.t() * 0 + 1.0, x * 2),
    "two of one memory": lambda x: (x * 1.0, (x * 1.0).t(), x.t().contiguous().t()),
    "permuted": lambda x: x.expand(4, 2, 3).permute(2, 0, 1).contiguous().permute(1, 2, 0) * 1,
}


IN_TRAINING = ("x * 0 + mean", "a part", "two of one memory")
"""The others are alike in training: `make fuzz` trains them."""


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, "infer") for name in FUNCTIONS),
        *(pytest.param(name, "train", marks=[] if name in IN_TRAINING else [pytest.mark.fuzz]) for name in FUNCTIONS),
    ],
)
def test_outputs_have_the_strides_of_the_module_and_can_be_written_to(name, mode):
    module = Calls(FUNCTIONS[name])
    compiled = explorer.record(module, (x,), mode=mode).compiled
    for found, wanted in zip(tree_leaves(compiled(x.clone())), tree_leaves(module(x.clone())), strict=True):
        torch.testing.assert_close(found, wanted)
        assert found.stride() == wanted.stride()
        found += 1
        torch.testing.assert_close(found, wanted + 1)


def test_for_arguments_with_other_strides_only_overlapping_outputs_are_copied():
    compiled = explorer.record(Calls(lambda x: (x.exp(), x * 0 + x.mean())), (x,)).compiled
    first, second = compiled(x.t().contiguous().t())
    assert first.stride() == (1, 2)
    second += 1
    assert second.stride() == (3, 1)


def test_an_output_that_the_module_expands_is_not_copied():
    compiled = explorer.record(Calls(lambda x: x.exp().expand(4, 2, 3)), (x,)).compiled
    assert compiled(x).stride() == (0, 3, 1)


def test_laid_out_results_go_through_vmap_and_compile():
    compiled = explorer.record(Calls(FUNCTIONS["x - x + mean"]), (x,)).compiled
    rows = torch.stack([x, x * 2])
    torch.testing.assert_close(torch.vmap(compiled)(rows), torch.stack([compiled(x), compiled(x * 2)]))
    found = torch.compile(compiled, backend="aot_eager", fullgraph=True)(x)
    torch.testing.assert_close(found, compiled(x))
    assert found.stride() == (3, 1)
