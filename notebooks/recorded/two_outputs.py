"""A network with two outputs, for an exercise of lesson 12."""

import torch
from torch import nn


class TwoOutputs(nn.Module):
    """A LayerNorm and two linear layers; returns classes and the mean over all rows."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(64)
        self.up, self.head = nn.Linear(64, 128), nn.Linear(128, 10)

    def forward(self, x):
        hidden = nn.functional.gelu(self.up(self.norm(x)))
        return self.head(hidden).softmax(-1), hidden.mean(0)


def example():
    """The network and its argument."""
    return TwoOutputs().eval(), (torch.randn(32, 64),)
