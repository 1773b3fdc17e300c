"""The exercises of lesson 3: wrong answers are told what is wrong with them."""

from collections.abc import Callable
from typing import Any

import pytest

from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates import CategoricalInput
from tests.notebooks.lessons import module

checks = module("checks.lesson_03")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (40, "2 are left after 5 rounds"),
        (33, "2 are left after 5 rounds"),
        (31, "but so do 32"),
        (5, "but so do 6"),
        (0, "from 1 to 200"),
        (32.0, "of type float"),
        (True, "of type bool"),
    ],
)
def test_a_chain_of_another_length_is_not_the_longest(answer: Any, told: str) -> None:
    said = checks.judge_1(answer)
    assert not said.right
    assert told in said.text
    assert answer == 31 or "32 " not in said.text


@pytest.mark.parametrize(
    ("answer", "told"), [(128, "two sums stay"), (188, "two sums stay"), (190, "but with 189"), ("189", "of type str")]
)
def test_another_width_is_not_the_smallest(answer: Any, told: str) -> None:
    said = checks.judge_2(answer)
    assert not said.right
    assert told in said.text


def _circuit(make: Callable[[CircuitBuilder, list[int]], tuple[int, ...]]) -> Circuit:
    b = CircuitBuilder()
    return b.build(*make(b, [b.add(CategoricalInput(2)(v, 3)) for v in range(4)]))


def test_a_rule_without_its_layers_is_named() -> None:
    said = checks.judge_3(_circuit(lambda b, x: (b.sum(b.sum(x[0], num_units=3), num_units=3),)))
    assert not said.right
    assert "applied SumCollapse." in said.text
    assert "Tucker matched nowhere: no sum of one input reads a Kronecker layer." in said.text
    assert "Candecomp matched nowhere: no sum of one input reads a Hadamard layer." in said.text


def test_a_rule_that_lost_is_told_to_whom() -> None:
    def rivals(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        low = b.sum(b.hadamard(x[0], x[1]), num_units=3)
        return b.sum(low, num_units=3), b.sum(b.kronecker(x[2], x[3]), num_units=3)

    said = checks.judge_3(_circuit(rivals))
    assert not said.right
    assert "but lost to SumCollapse" in said.text


def test_a_rule_that_was_blocked_is_told_why() -> None:
    def blocked(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        product = b.hadamard(x[0], x[1])
        return b.sum(product, num_units=3), b.sum(product, num_units=3)

    said = checks.judge_3(_circuit(blocked))
    assert not said.right
    assert "Candecomp came close: " in said.text
    assert "users" in said.text or "read by" in said.text or "feeds" in said.text


def test_a_circuit_without_sums_a_failure_and_something_else_are_told() -> None:
    assert "the circuit has none" in checks.judge_3(_circuit(lambda b, x: (b.hadamard(*x),))).text
    assert "Building the circuit failed" in checks.judge_3(lambda: CircuitBuilder().sum(7, num_units=1)).text
    assert "found int" in checks.judge_3(3).text
    assert checks.judge_3(lambda: None).text.startswith("Not answered yet")


def test_a_large_circuit_is_refused() -> None:
    def wide(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        return tuple(b.sum(x[0], num_units=3) for _ in range(40))

    assert "are more than enough" in checks.judge_3(_circuit(wide)).text
