"""Steps and their states print in one short line, whatever they hold."""

import pytest
import torch
from torch import nn

import explorer
from explorer.templates import gallery
from explorer.trace import COMPILED, KERNELS, PROGRAM, TENSOR, Trace


@pytest.mark.parametrize("level", [COMPILED, TENSOR, PROGRAM, KERNELS])
def test_steps_and_snapshots_have_a_short_repr(level: str) -> None:
    check(explorer.record(gallery.load_named("conflict"), level=level))


def test_steps_of_a_module_have_a_short_repr() -> None:
    check(explorer.record(nn.Linear(20, 30), (torch.ones(40, 20),)))


def check(trace: Trace) -> None:
    for step in trace.steps:
        assert repr(step) == f"Step({step.index}, {step.path!r}: {step.summary})"
        assert len(repr(step.snapshot)) < 120
        assert "\n" not in repr(step.snapshot)
