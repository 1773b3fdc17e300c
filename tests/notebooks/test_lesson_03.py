"""The exercises of lesson 3: feedback on wrong answers."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from explorer.symbolic import Circuit, CircuitBuilder, constant
from explorer.templates import CategoricalInput
from tests.notebooks.lessons import NOTEBOOKS, module

checks = module("checks.lesson_03")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (40, "2 are left after 5 rounds"),
        (33, "2 are left after 5 rounds"),
        (31, "so does a longer chain"),
        (5, "so does a longer chain"),
        (0, "from 1 to 200"),
        (32.0, "of type float"),
        (True, "of type bool"),
        ([], "got something of type list"),
        (10**400, "from 1 to 200"),
    ],
)
def test_feedback_on_a_chain_of_the_wrong_length(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text
    assert "32" not in feedback.text.replace("32.0", "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (128, "it stays two sums"),
        (188, "it stays two sums"),
        (190, "but so it does with fewer"),
        (256, "but so it does with fewer"),
        ("189 units", "of type str"),
    ],
)
def test_feedback_on_a_wrong_width(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text
    assert " 189 " not in feedback.text


def test_integers_of_numpy_are_accepted() -> None:
    assert checks.grade_1(np.int64(32)).right
    assert checks.grade_2(np.int64(189)).right


def _circuit(make: Callable[[CircuitBuilder, list[int]], tuple[int, ...]]) -> Circuit:
    b = CircuitBuilder()
    return b.build(*make(b, [b.add(CategoricalInput(2)(v, 3)) for v in range(4)]))


def test_feedback_names_a_rule_without_its_layers() -> None:
    feedback = checks.grade_3(_circuit(lambda b, x: (b.sum(b.sum(x[0], num_units=3), num_units=3),)))
    assert not feedback.right
    assert "applied SumCollapse." in feedback.text
    assert "Tucker did not match: no sum with one input reads a Kronecker layer." in feedback.text
    assert "Candecomp did not match: no sum with one input reads a Hadamard layer." in feedback.text


def test_feedback_names_the_winner_over_a_rule_that_lost() -> None:
    def rivals(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        low = b.sum(b.hadamard(x[0], x[1]), num_units=3)
        return b.sum(low, num_units=3), b.sum(b.kronecker(x[2], x[3]), num_units=3)

    feedback = checks.grade_3(_circuit(rivals))
    assert not feedback.right
    assert "but lost to SumCollapse" in feedback.text


def test_feedback_says_why_a_rule_was_blocked() -> None:
    def blocked(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        product = b.hadamard(x[0], x[1])
        return b.sum(product, num_units=3), b.sum(product, num_units=3)

    feedback = checks.grade_3(_circuit(blocked))
    assert not feedback.right
    reason = "node 4 is read by 2 nodes; only the first entry may be read by more than one"
    assert f"Candecomp came close: {reason}." in feedback.text


def test_feedback_quotes_the_near_miss_that_came_furthest() -> None:
    def several(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        product = b.hadamard(x[0], x[1])
        return b.sum(product, x[2], num_units=3), b.sum(product, num_units=3), b.sum(x[3], num_units=3)

    assert "Candecomp came close: node 4 is read by 2 nodes; " in checks.grade_3(_circuit(several)).text


def test_feedback_without_sums_after_a_failure_and_on_a_wrong_type() -> None:
    assert "the circuit has none" in checks.grade_3(_circuit(lambda b, x: (b.hadamard(*x),))).text
    assert "Building the circuit failed" in checks.grade_3(lambda: CircuitBuilder().sum(7, num_units=1)).text
    assert "got something of type int" in checks.grade_3(3).text
    assert "got something of type dict" in checks.grade_3({}).text
    assert checks.grade_3(lambda: None).text.startswith("Not answered yet")


@pytest.mark.parametrize(("mine", "expected"), [(lambda: 1 / 0, "ZeroDivisionError"), (lambda b: b, "TypeError")])
def test_feedback_on_a_function_that_raises(mine: Any, expected: str) -> None:
    feedback = checks.grade_3(mine)
    assert not feedback.right
    assert f"Building the circuit failed: {expected}: " in feedback.text


def test_feedback_on_a_circuit_that_cannot_be_compiled() -> None:
    def odd(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        coin = module("solutions.lesson_01").CoinLayer(scope=(0,), num_output_units=1, heads=constant([0.5]))
        return (b.sum(b.add(coin), num_units=1),)

    assert "The circuit cannot be compiled: " in checks.grade_3(_circuit(odd)).text


def test_a_large_circuit_is_refused() -> None:
    def wide(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        return tuple(b.sum(x[0], num_units=3) for _ in range(40))

    assert "are more than enough" in checks.grade_3(_circuit(wide)).text


@pytest.mark.parametrize("lesson", ["03_fusion", "04_shattering", "05_folding"])
def test_claims_on_times_only_exclude_contradiction(lesson: str) -> None:
    cells = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    claims = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if "assert" in line]
    assert [line for line in claims if re.search(r"median|ratio|\.low|\.high", line)] == []
    assert any(re.search(r'\.tone != "(faster|slower)"', line) for line in claims)
