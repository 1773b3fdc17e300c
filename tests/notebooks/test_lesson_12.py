"""The exercises of lesson 12: feedback on wrong answers; and the traces that were recorded for it."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from explorer.trace import Trace
from tests.notebooks.lessons import IGNORED, NOTEBOOKS, module, needs_compiler

checks = module("checks.lesson_12")
replayed = module("solutions.lesson_12").solution_1()

pytestmark = pytest.mark.filterwarnings(*IGNORED)


@pytest.fixture(scope="module")
def compiler() -> Iterator[None]:
    needs_compiler()
    from torch._inductor import config

    with config.patch(compile_threads=1):
        yield


def test_functions_that_return_nothing_are_not_graded() -> None:
    assert checks.grade_1(lambda trace: None).text.startswith("Not answered yet")
    assert checks.grade_3(lambda x: None).text.startswith("Not answered yet")


def one_round(trace: Trace) -> dict[int, list[int]]:
    """Only the calls that an entry names, not what these were made of."""
    parts = {number: [number] for number, call in trace.graph_at("lower").nodes.items() if call.kind != "input"}
    for step in trace.steps:
        for entry in step.applied if step.pass_name == "fuse" else ():
            parts |= {entry.added[0]: list(entry.removed)}
            parts = {number: nodes for number, nodes in parts.items() if number not in entry.removed}
    return parts


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda trace: {n: [n] for n in trace.graph_at("lower").nodes}, "are not calls after the last round"),
        (lambda trace: {}, "are missing. Remove what an entry removes, and add what it adds."),
        (one_round, "some of these are calls of a round in between"),
        (lambda trace: {n: nodes[:1] for n, nodes in replayed(trace).items()}, "consists of other nodes"),
        (lambda trace: dict.fromkeys(replayed(trace), "ab"), "must be a list of numbers"),
        (lambda trace: [1], "got something of type list"),
        (lambda trace: trace.nothing, "It fails: AttributeError"),
        ({1: [1]}, "got something of type dict"),
    ],
)
def test_feedback_on_wrong_kernels(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (("op0", "op99"), "There is no scheduler node op99; they are called op0, op1"),
        (("op3", "op10"), "These two do not end in one kernel anyway"),
        (("op0", "op1"), "That costs"),
        (("op8",), "Expected two names of scheduler nodes"),
        ("op8", "Expected two names of scheduler nodes"),
        ((8, 9), "Expected two names of scheduler nodes"),
    ],
)
def test_feedback_on_a_fusion_that_saves_less(answer: Any, expected: str, compiler: None) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text


def test_the_network_of_the_check_is_that_of_the_lesson() -> None:
    text = (NOTEBOOKS / "12_watch_torch_compile.ipynb").read_text(encoding="utf-8")
    for line in (
        "self.norm, self.last = nn.LayerNorm(64), nn.LayerNorm(64)",
        "return self.head(self.last(x)).softmax(-1)",
    ):
        assert line in text
        assert line in (NOTEBOOKS / "checks" / "lesson_12.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda x: x.softmax(-1), "The last round refuses nothing"),
        (lambda x: x * 2.0, "The last round refuses nothing"),
        (lambda x: x.T, "There is no round of fusion"),
        (lambda x: x.shape[0], "It cannot be watched"),
        (lambda x: x @ x, "It fails: RuntimeError"),
        (torch.ones(2), "got something of type Tensor"),
    ],
)
def test_feedback_on_a_function_without_the_refusal(answer: Any, expected: str, compiler: None) -> None:
    feedback = checks.grade_3(answer)
    assert not feedback.right
    assert expected in feedback.text


def test_recorded_traces_say_with_what_they_were_recorded() -> None:
    torch_trace, xla = (
        Trace.load(NOTEBOOKS / "recorded" / name)
        for name in ("two-outputs-torch.trace.json.gz", "network-xla.trace.json.gz")
    )
    assert str(torch_trace.options["compiler"]).startswith("torch.compile, torch 2.")
    assert str(xla.options["compiler"]).startswith("XLA, jax ")
    assert replayed(torch_trace) == checks.kernels_by_name(torch_trace)
