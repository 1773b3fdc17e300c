"""The exercises of lesson 11: feedback on wrong answers."""

from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.symbolic import Circuit
from explorer.symbolic.operators import evidence, integrate, multiply
from tests.notebooks.lessons import module

checks = module("checks.lesson_11")
values = module("solutions.lesson_11")._values


def test_the_unfilled_templates_are_not_graded() -> None:
    assert checks.grade_1(lambda circuit, rows: None).text.startswith("Not answered yet")
    assert checks.grade_2(lambda circuit: None).text.startswith("Not answered yet")
    assert checks.grade_3(lambda coins: None).text.startswith("Not answered yet")


def test_a_tensor_with_gradients_is_a_number() -> None:
    answer = torch.tensor([7.0], requires_grad=True)
    assert "gives a different number" in checks.grade_2(lambda circuit: answer).text


def _square(circuit: Circuit, rows: Tensor) -> Tensor:
    return values(multiply(circuit, circuit), rows)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_square, "divide by Z"),
        (lambda circuit, rows: _square(circuit, rows) / values(integrate(circuit)) ** 2, "You squared the integral"),
        (lambda circuit, rows: values(circuit, rows), "are different"),
        (lambda circuit, rows: values(circuit, rows)[None], "the shape must be (6,)"),
        (lambda circuit, rows: [1.0], "got something of type list"),
        (lambda circuit: circuit, "It fails: TypeError"),
        (3, "got something of type int"),
    ],
)
def test_feedback_on_wrong_probabilities(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


def _integral(circuit: Circuit, **observed: int) -> float:
    square = multiply(circuit, circuit)
    names = {"first": 0, "last": circuit.scope[-1]}
    seen = {names[name]: value for name, value in observed.items()}
    return values(integrate(evidence(square, seen) if seen else square)).item()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda c: _integral(c, first=1, last=1) / _integral(c), "by the probability of the evidence, not by Z"),
        (lambda c: _integral(c, first=1, last=1), "not normalized at all"),
        (lambda c: _integral(c, first=1) / _integral(c), "the probability of the evidence"),
        (lambda c: _integral(c, first=1, last=0) / _integral(c, first=1), "the last bit being 0"),
        (lambda c: 7.0, "gives a different number"),
        (lambda c: "seven", "got something of type str"),
        ("seven", "got something of type str"),
    ],
)
def test_feedback_on_a_wrong_conditional_probability(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text


def test_feedback_on_a_wrong_estimate() -> None:
    coins = checks.TorchCompiler().compile(checks.gallery.load_named("blackboard"))
    exact, without = checks.exactly_three_of_all_rows(coins)
    assert abs(exact - without) > 2 * checks.TOLERANCE
    assert "without the evidence" in checks.grade_3(lambda coins: torch.tensor(without)).text
    assert "more than 0.03 away" in checks.grade_3(lambda coins: exact + 0.2).text
    assert checks.grade_3(lambda coins: exact - 0.02).right
