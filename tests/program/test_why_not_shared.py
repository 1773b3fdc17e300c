"""Reasons why two values of a program do not share memory."""

import pytest
import torch

import explorer
from explorer.errors import CircuitError, UnknownNameError
from explorer.program import why_not_shared
from explorer.trace import Trace
from tests.program.programs import after, program_of
from tests.program.test_passes import CHAIN, MATMUL


def why(text: str, one: int, other: int, *passes: str) -> str:
    return str(why_not_shared(after(program_of(text), *passes), one, other))


BROADCAST = (
    CHAIN.replace("%6 = alloc f32[2,2]", "%6 = alloc f32[3,2,2]")
    .replace("other=%4", "other=%12")
    .replace("%1 = output y : f32[2,2]", "%12 = input z : f32[3,1,1]\n%1 = output y : f32[3,2,2]")
)

NOT_SHARED = [
    ("a product", MATMUL, 2, 4, "both are alive from #5 to #8; #5 cannot write %4 over %2: mm is not elementwise"),
    ("another size", BROADCAST, 4, 6, "#7 cannot write %6 over %4: %4 is f32[2,2], and the result is f32[3,2,2]"),
    (
        "read later",
        CHAIN.replace("add.Tensor(self=%4, other=%4)", "add.Tensor(self=%4, other=%2)"),
        2,
        4,
        "#5 cannot write %4 over %2: %2 is used later, by #7",
    ),
    ("an input", CHAIN, 0, 2, "%0 is the input x, which is only read; #3 cannot write %2 over %0: %0 is the input x"),
    ("not shared yet", CHAIN, 2, 4, "#5 can write %4 over %2, which ShareBuffers does"),
    ("a copy", CHAIN, 6, 1, "#8 copies one to the other, which ShareBuffers avoids"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "one", "other", "words"), [row[1:] for row in NOT_SHARED], ids=[r[0] for r in NOT_SHARED]
)
def test_why_two_values_are_in_different_memory(text, one, other, words):
    for answer in (why(text, one, other), why(text, other, one)):
        assert answer.startswith("They do not share memory: ")
        assert words in answer


def test_views_of_one_buffer_share_it():
    assert why(CHAIN, 2, 4, "ShareBuffers") == "They share memory: %2 is a view of %1; %4 is a view of %1."


def test_buffers_that_are_never_alive_together_may_share_when_memory_is_planned():
    passes = ("HoistDealloc", "SinkAllocas")
    apart = "%2 is not alive after #5, and %6 not before #7"
    assert why(CHAIN, 2, 6, *passes) == f"They do not share memory: {apart}: they can share memory when it is planned."
    assert why(CHAIN, 2, 6, *passes, "PlanMemory") == f"They share memory: {apart}: both have bytes 0 to 64."


def test_an_unknown_value_is_refused():
    with pytest.raises(UnknownNameError, match="%77"):
        why(CHAIN, 2, 77)


def test_a_trace_answers_for_the_last_step_that_has_both_values(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    trace = explorer.record(net, (torch.randn(5, 4),), level="program")
    memory = trace.steps[0].snapshot.memory
    assert memory is not None
    buffers = [one.id for one in memory.buffers]
    assert "alive" in str(trace.why_not_shared(buffers[0], buffers[-1], 0))
    answer = trace.why_not_shared(buffers[0], buffers[1])
    assert answer.shared  # relu is written over the result of the first linear layer
    trace.save(tmp_path / "net.trace.json")
    loaded = Trace.load(tmp_path / "net.trace.json")
    assert str(loaded.why_not_shared(buffers[0], buffers[1], 0)).startswith(
        "They do not share memory: both are alive from #"
    )


def test_a_trace_without_buffers_says_so():
    with pytest.raises(CircuitError, match="level='program'"):
        explorer.record(torch.nn.Linear(4, 8), (torch.randn(5, 4),), level="tensor").why_not_shared(1, 2)
