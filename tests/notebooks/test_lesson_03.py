"""The exercises of lesson 3: wrong answers are told what is wrong with them."""

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
    ("answer", "told"),
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
def test_a_chain_of_another_length_is_not_the_longest(answer: Any, told: str) -> None:
    said = checks.judge_1(answer)
    assert not said.right
    assert told in said.text
    assert "32" not in said.text.replace("32.0", "")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (128, "it stays two sums"),
        (188, "it stays two sums"),
        (190, "but so it does with fewer"),
        (256, "but so it does with fewer"),
        ("189 units", "of type str"),
    ],
)
def test_another_width_is_not_the_smallest(answer: Any, told: str) -> None:
    said = checks.judge_2(answer)
    assert not said.right
    assert told in said.text
    assert " 189 " not in said.text


def test_whole_numbers_may_be_of_numpy() -> None:
    assert checks.judge_1(np.int64(32)).right
    assert checks.judge_2(np.int64(189)).right


def _circuit(make: Callable[[CircuitBuilder, list[int]], tuple[int, ...]]) -> Circuit:
    b = CircuitBuilder()
    return b.build(*make(b, [b.add(CategoricalInput(2)(v, 3)) for v in range(4)]))


def test_a_rule_without_its_layers_is_named() -> None:
    said = checks.judge_3(_circuit(lambda b, x: (b.sum(b.sum(x[0], num_units=3), num_units=3),)))
    assert not said.right
    assert "applied SumCollapse." in said.text
    assert "Tucker did not match: no sum with one input reads a Kronecker layer." in said.text
    assert "Candecomp did not match: no sum with one input reads a Hadamard layer." in said.text


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
    reason = "node 4 is read by 2 nodes; only the first entry may be read by more than one"
    assert f"Candecomp came close: {reason}." in said.text


def test_of_several_near_misses_the_one_that_came_furthest_is_told() -> None:
    def several(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        product = b.hadamard(x[0], x[1])
        return b.sum(product, x[2], num_units=3), b.sum(product, num_units=3), b.sum(x[3], num_units=3)

    assert "Candecomp came close: node 4 is read by 2 nodes; " in checks.judge_3(_circuit(several)).text


def test_a_circuit_without_sums_a_failure_and_something_else_are_told() -> None:
    assert "the circuit has none" in checks.judge_3(_circuit(lambda b, x: (b.hadamard(*x),))).text
    assert "Building the circuit failed" in checks.judge_3(lambda: CircuitBuilder().sum(7, num_units=1)).text
    assert "got something of type int" in checks.judge_3(3).text
    assert "got something of type dict" in checks.judge_3({}).text
    assert checks.judge_3(lambda: None).text.startswith("Not answered yet")


@pytest.mark.parametrize(("mine", "told"), [(lambda: 1 / 0, "ZeroDivisionError"), (lambda b: b, "TypeError")])
def test_a_function_that_fails_is_told_how(mine: Any, told: str) -> None:
    said = checks.judge_3(mine)
    assert not said.right
    assert f"Building the circuit failed: {told}: " in said.text


def test_a_circuit_that_cannot_be_compiled_is_told_why() -> None:
    def odd(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        coin = module("solutions.lesson_01").CoinLayer(scope=(0,), num_output_units=1, heads=constant([0.5]))
        return (b.sum(b.add(coin), num_units=1),)

    assert "The circuit cannot be compiled: " in checks.judge_3(_circuit(odd)).text


def test_a_large_circuit_is_refused() -> None:
    def wide(b: CircuitBuilder, x: list[int]) -> tuple[int, ...]:
        return tuple(b.sum(x[0], num_units=3) for _ in range(40))

    assert "are more than enough" in checks.judge_3(_circuit(wide)).text


@pytest.mark.parametrize("lesson", ["03_fusion", "04_shattering", "05_folding"])
def test_a_claim_on_the_clock_is_that_its_intervals_do_not_contradict(lesson: str) -> None:
    cells = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    claims = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if "assert" in line]
    assert [line for line in claims if re.search(r"median|ratio|\.low|\.high", line)] == []
    assert any(re.search(r'\.tone != "(faster|slower)"', line) for line in claims)
