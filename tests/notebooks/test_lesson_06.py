"""The exercises of lesson 6: feedback on wrong answers."""

import math
import statistics
from collections.abc import Callable
from math import comb
from typing import Any

import pytest
import torch

from tests.notebooks.lessons import module

checks = module("checks.lesson_06")
solutions = module("solutions.lesson_06")

EACH = pytest.mark.parametrize("number", [1, 2, 3])


@EACH
def test_an_empty_answer_is_not_graded(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    def empty(*arguments: Any) -> None:
        return None

    for answer in (None, empty):
        getattr(checks, f"exercise_{number}")(answer)
        assert capsys.readouterr().out.startswith("Not answered yet: ")


@EACH
def test_feedback_on_non_functions_and_functions_that_raise(number: int) -> None:
    grade = getattr(checks, f"grade_{number}")

    def fails(*arguments: Any) -> Any:
        raise ZeroDivisionError("by nothing")

    assert "something of type int" in grade(3).text
    assert "The function failed: ZeroDivisionError: by nothing" in grade(fails).text
    assert not grade(fails).right


@EACH
@pytest.mark.parametrize(
    "given", ["", "x", (), (None, None), (1, 2, 3), [math.inf, math.nan], {}, True, 10**400, torch.ones(2), object()]
)
def test_feedback_on_answers_of_a_wrong_type(number: int, given: Any) -> None:
    feedback = getattr(checks, f"grade_{number}")(lambda *arguments: given)
    assert not feedback.right
    assert "xpected" in feedback.text or "even their whole range" in feedback.text


def _interval(times: list[float], share: float, sort: bool = True, few: Any = None) -> Any:
    ordered, n = sorted(times) if sort else times, len(times)
    fits = [k for k in range(1, (n + 1) // 2 + 1) if 1 - 2 * sum(comb(n, i) for i in range(k)) / 2**n >= share]
    return (ordered[max(fits) - 1], ordered[n - max(fits)]) if fits else few


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda times: (min(times), max(times)), "With 1 time: even their whole range"),
        (lambda times: (min(times), max(times)) if len(times) > 5 else None, "but so does a narrower one"),
        (lambda times: _interval(times, 0.90), "even their whole range"),
        (lambda times: _interval(times, 0.90) if len(times) > 5 else None, "too narrow: "),
        (lambda times: _interval(times, 0.95, sort=False), "Are the times sorted?|lower end is above"),
        (
            lambda times: (statistics.mean(times), max(times)) if len(times) > 5 else None,
            "both ends must be among the times",
        ),
        (lambda times: sorted(times) if len(times) > 5 else None, "two numbers"),
        (lambda times: _interval(times, 0.95) if len(times) > 9 else None, "but the function returned None"),
    ],
)
def test_feedback_on_a_wrong_interval(function: Callable[[list[float]], Any], expected: str) -> None:
    feedback = checks.grade_1(function)
    assert not feedback.right
    assert any(part in feedback.text for part in expected.split("|"))


def _by_medians(before: Any, after: Any) -> str:
    return "faster" if after.median < before.median else "slower"


def _by_intervals(before: Any, after: Any) -> str:
    if after.high < before.low:
        return "faster"
    return "slower" if after.low > before.high else "cannot tell"


def _touching_counts(before: Any, after: Any) -> str:
    if min(before.count, after.count) < 6:
        return "cannot tell"
    if after.high <= before.low:
        return "faster"
    return "slower" if after.low >= before.high else "cannot tell"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_by_medians, "if the intervals overlap"),
        (_by_intervals, "measured only four times"),
        (_touching_counts, "the intervals touch"),
        (lambda before, after: _by_medians(after, before), "the interval after is below"),
        (lambda before, after: "about the same", "got 'about the same'"),
    ],
)
def test_feedback_on_a_wrong_verdict(function: Callable[[Any, Any], str], expected: str) -> None:
    feedback = checks.grade_2(function)
    assert not feedback.right
    assert expected in feedback.text


def _linear(sizes: Any, one: Any, other: Any) -> float | None:
    for i in range(len(sizes) - 1):
        here, there = one[i] - other[i], one[i + 1] - other[i + 1]
        if here * there < 0:
            return sizes[i] + (sizes[i + 1] - sizes[i]) * here / (here - there)
    return None


def _first(sizes: Any, one: Any, other: Any) -> float | None:
    for end in range(2, len(sizes) + 1):
        found = solutions.solution_3()(sizes[:end], one[:end], other[:end])
        if found is not None:
            return found
    return None


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_linear, "the batch size where the lines meet is"),
        (lambda sizes, one, other: next((s for s, a, b in zip(sizes, one, other, strict=True) if a > b), None), "meet"),
        (_first, "cross more than once"),
        (
            lambda sizes, one, other: solutions.solution_3()(sizes, one, other) or sizes[-1],
            "always below the other",
        ),
        (lambda sizes, one, other: None if one[0] > other[0] else 30.0, "The same, the other way round"),
        (lambda sizes, one, other: "16", "expected a number or None"),
    ],
)
def test_feedback_on_a_wrong_crossing_names_the_curves(function: Callable[..., Any], expected: str) -> None:
    feedback = checks.grade_3(function)
    assert not feedback.right
    assert expected in feedback.text
