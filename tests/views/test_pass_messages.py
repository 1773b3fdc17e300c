"""The messages of views about passes that changed nothing."""

import torch
from torch import nn

import explorer
from explorer.views import TraceIndex
from explorer.views.messages import message_of


def test_a_pass_keeps_the_letters_of_its_name():
    trace = explorer.record(nn.Linear(2, 2).eval(), (torch.zeros(1, 2),), level="program")
    index = TraceIndex(trace)
    words = [message_of(index, step.index) for step in trace.steps]
    assert any("OptimizeExtracts changed nothing" in found for found in words)
