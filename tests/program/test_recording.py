"""A pass that fails ends the recording with an error that names it, and the trace up to there."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import RuleError
from explorer.program import passes
from explorer.program.passes import ProgramPass, sources
from explorer.trace import Trace


def test_a_pass_that_raises_is_named_and_the_trace_up_to_it_is_kept(monkeypatch):
    def broken(program, fresh):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setitem(passes.passes, "Broken", ProgramPass("Broken", "Fails.", broken))
    monkeypatch.setitem(sources, "Broken", "here:1")
    with pytest.raises(RuleError, match="the pass Broken failed: ZeroDivisionError: by nothing") as caught:
        explorer.record(nn.Tanh(), (torch.ones(2),), ["HoistDealloc", "Broken"], level="program")
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    assert [step.path for step in trace.steps] == ["lower", "HoistDealloc", "Broken"]
    assert "Broken" in str(trace.steps[-1].error)
    assert not trace.is_live
