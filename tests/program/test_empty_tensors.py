"""Views of tensors without elements: they begin anywhere."""

import pytest
import torch
from torch import nn

import explorer
from tests.fuzzing import covering


class OfFunction(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(torch.relu(x) + 1)


VIEWS = {
    "select": lambda x: x.select(0, 1) * 2,
    "select of the other axis": lambda x: x.transpose(0, 1).select(1, 1) * 2,
    "narrow": lambda x: x.narrow(0, 1, 2).exp(),
    "slice with a step": lambda x: x[1::2].exp(),
    "slice of none": lambda x: (x[2:2].exp(), x[:, 0:0].sum(), x.sum()),
    "chunk": lambda x: [part * 2 for part in x.chunk(2)],
    "unbind": lambda x: torch.stack(x.unbind(0)[1:]) * 2,
    "split": lambda x: torch.cat(x.split([1, 2, 1])[::-1]) * 2,
    "diagonal": lambda x: x.diagonal(-1).exp(),
    "complex": lambda x: torch.view_as_real(torch.complex(x, x * 2))[..., 1] * 2,
    "written in place": lambda x: x.clone().select(0, 1).add_(1),
    "written part": lambda x: x.select_scatter(x[0] * 2, 0, 3).exp(),
    "as strided": lambda x: x.as_strided((0, 2), (1, 3), 3).exp(),
}


MODES = ("infer", "train")


@pytest.mark.parametrize(
    ("name", "shape", "mode"),
    [
        *covering(tuple(VIEWS), ((4, 0), (4, 0, 3)), MODES),
        *covering(tuple(VIEWS), ((4, 3), (4, 1)), MODES),
    ],
)
def test_views_of_tensors_with_and_without_elements(name, shape, mode):
    module = OfFunction(VIEWS[name])
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), requires_grad=mode == "train")
    trace = explorer.record(module, (x,), level="program", mode=mode)
    assert all(check.ok for check in trace.check())
    for found, wanted in zip(_tensors(trace.compiled(x)), _tensors(module(x)), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def _tensors(results):
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)
