"""Small programs that are compiled in the tests of the adapters."""

import torch
from torch import nn


class Head(nn.Module):
    """Two linear layers with a layer norm, a GELU and a softmax: two kernels between two library calls."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.norm = nn.LayerNorm(64)
        self.down = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = nn.functional.gelu(self.norm(self.up(x)))
        return self.down(hidden).softmax(-1)


def head() -> tuple[Head, torch.Tensor]:
    """The module in evaluation mode, and an input (8, 32)."""
    torch.manual_seed(0)
    return Head().eval(), torch.randn(8, 32)
