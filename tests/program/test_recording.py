"""Traces of passes that fail or reach a limit."""

from textwrap import wrap

import pytest
import torch
from inline_snapshot import snapshot
from torch import nn

import explorer
from explorer.errors import RuleError
from explorer.levels import StatePass
from explorer.program import passes
from explorer.program.memory import planning
from explorer.trace import PROGRAM, Trace
from explorer.views import TraceIndex
from explorer.views.messages import message_of
from explorer.views.sentences import sentence_of


def test_a_pass_that_raises_is_named_and_the_trace_up_to_it_is_kept(monkeypatch):
    def broken(program, fresh):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setitem(passes.passes, "Broken", StatePass("Broken", broken, PROGRAM))
    with pytest.raises(RuleError, match="the pass Broken failed: ZeroDivisionError: by nothing") as caught:
        explorer.record(nn.Tanh(), (torch.ones(2),), ["HoistDealloc", "Broken"], level="program")
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    assert [step.path for step in trace.steps] == ["lower", "HoistDealloc", "Broken"]
    assert "Broken" in str(trace.steps[-1].error)
    assert not trace.is_live


class Similarities(nn.Module):
    """Reads a result twice, so that two buffers are alive together."""

    def forward(self, x):
        rows = x @ x.T
        return rows.softmax(1) @ rows


def test_a_plan_that_was_not_searched_says_so_in_the_trace_and_in_its_views(monkeypatch):
    def place_apart(order):
        starts = [192 * i for i in range(len(order))]
        return {one.buffer: start for one, start in zip(order, starts, strict=True)}, 192 * len(order)

    monkeypatch.setattr(planning, "_place_as_they_come", place_apart)
    model = Similarities()
    assert explorer.record(model, (torch.ones(2, 4),), level="program").step("PlanMemory").limits == ()
    monkeypatch.setattr(planning, "MAX_LIVE_PAIRS", 0)
    trace = explorer.record(model, (torch.ones(2, 4),), level="program")
    (limit,) = trace.step("PlanMemory").limits
    assert limit.what == "pairs"
    assert limit.message == snapshot(
        "Placed 2 buffers in the order of their allocations and tried no other order: more than 100,000 pairs of them "
        "are alive together. The plan needs 384 bytes, 3.00 times the lower bound."
    )
    assert limit.message in message_of(TraceIndex(trace), trace.step("PlanMemory").index)


class Weighted(nn.Module):
    """A parameter graph of two operators; one is a view."""

    def __init__(self):
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(4, 3))

    def forward(self, x):
        return x @ torch.softmax(self.scores, 1).t()


def test_a_program_for_inference_says_what_it_evaluated_once(tmp_path):
    trace = explorer.record(Weighted(), (torch.ones(2, 3),), level="program")
    assert wrap(trace.steps[0].notes[0], 100) == snapshot(
        [
            "Evaluated once, on copies of the parameters: 1 softmax; the results are 48 bytes. Record again when",
            "parameters change.",
        ]
    )
    assert sentence_of(TraceIndex(trace), 0).endswith(trace.steps[0].notes[0])
    trace.save(tmp_path / "weighted.json")
    assert Trace.load(tmp_path / "weighted.json").steps[0].notes == trace.steps[0].notes


def test_a_program_for_training_evaluates_its_parameter_graphs_in_each_call():
    trace = explorer.record(Weighted(), (torch.ones(2, 3),), level="program", mode="train")
    assert trace.steps[0].notes == ()


def test_a_program_that_cannot_have_a_backward_pass_says_why():
    table = nn.Embedding(3, 4, sparse=True)
    trace = explorer.record(table, (torch.tensor([1]),), level="program", mode="train")
    (note,) = trace.steps[0].notes
    assert note.startswith("It has no backward pass: expected a dense tensor")
