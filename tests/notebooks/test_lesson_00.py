"""The exercises of lesson 0: feedback on wrong answers."""

from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.symbolic import CategoricalLayer, Circuit, CircuitBuilder, EmbeddingLayer, constant
from tests.notebooks.lessons import module

checks = module("checks.lesson_00")
solutions = module("solutions.lesson_00")


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (5, "Expected a circuit of builder.build(root); got something of type int"),
        (CircuitBuilder(), "got something of type CircuitBuilder"),
    ],
)
def test_feedback_names_the_expected_type(number: int, answer: Any, expected: str) -> None:
    feedback = getattr(checks, f"grade_{number}")(answer)
    assert not feedback.right
    assert expected in feedback.text


def _coin(builder: CircuitBuilder, variable: int, *heads: float) -> int:
    probs = constant([[1 - h, h] for h in heads])
    layer = CategoricalLayer(scope=(variable,), num_output_units=len(heads), num_categories=2, probs=probs)
    return builder.add(layer)


def _agreeing(second: tuple[float, float] = (0.0, 1.0), weight: tuple[float, float] = (0.5, 0.5)) -> Circuit:
    """Exercise 1 with different units for the second coin, or different weights."""
    builder = CircuitBuilder()
    both = builder.hadamard(_coin(builder, 0, 0.0, 1.0), _coin(builder, 1, *second))
    return builder.build(builder.sum(both, num_units=1, weight=constant([weight])))


def _product(*variables: int) -> Circuit:
    builder = CircuitBuilder()
    return builder.build(builder.hadamard(*(_coin(builder, v, 0.5) for v in variables)))


def _two_units() -> Circuit:
    builder = CircuitBuilder()
    return builder.build(builder.hadamard(_coin(builder, 0, 0.0, 1.0), _coin(builder, 1, 0.0, 1.0)))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_product(0, 1), "The coins differ with probability 0.5"),
        (_agreeing(second=(0.1, 1.0)), "The coins differ with probability 0.05"),
        (_agreeing(weight=(0.3, 0.7)), "not fair: both show 1 with probability 0.7"),
        (_agreeing(weight=(1.0, 1.0)), "the values sum to 2, not to 1"),
        (_agreeing(weight=(1.5, -0.5)), "a probability is not negative"),
        (_product(0, 2), "it reads [0, 2]"),
        (_product(0, 0, 1), "The circuit is not decomposable: product layer %3"),
        (_two_units(), "one output of one unit; found outputs of [2] units"),
    ],
)
def test_feedback_on_wrong_circuits(answer: Circuit, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


def _blackboard() -> torch.Tensor:
    compiled = explorer.TorchCompiler(semiring="sum-product").compile(explorer.gallery.load_named("blackboard"))
    rows = torch.cartesian_prod(*[torch.arange(2)] * 5)
    return compiled(rows).detach().reshape([2] * 5).sum(dim=(1, 3, 4))


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (lambda t: t[1, 1], "not divided by anything yet"),
        (lambda t: t[1, 1] / t.sum(), "the probability of both"),
        (lambda t: t[1].sum() / t.sum(), "it does not use that x2 = 1"),
        (lambda t: t[1, 1] / t[1].sum(), "the other way round"),
        (lambda t: t[0, 1] / t[:, 1].sum(), "the probability that x0 is 0"),
        (lambda t: t[:, 1].sum() / t.sum(), "the denominator"),
        (lambda t: -3.0, "-3 is not a probability"),
        (lambda t: 0.123, "You need two marginals"),
        (lambda t: "0.5", "Expected a number; got something of type str"),
        (lambda t: torch.zeros(2), "Expected a number; got something of type Tensor"),
        (lambda t: np.zeros(2), "Expected a number; got something of type ndarray"),
        (lambda t: 10**400, "Expected a number; got something of type int"),
        (lambda t: float("nan"), "nan is not a probability"),
        (lambda t: [], "Expected a number; got something of type list"),
    ],
)
def test_feedback_names_the_quantity_of_a_wrong_number(wrong: Any, expected: str) -> None:
    feedback = checks.grade_2(wrong(_blackboard()))
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize(
    "kind", [float, np.float32, torch.tensor, lambda value: torch.tensor([[value]]), lambda value: np.array([value])]
)
def test_the_right_number_is_accepted_in_any_form(kind: Any) -> None:
    assert checks.grade_2(kind(solutions.solution_2())).right


def _mended(second: str) -> Circuit:
    builder = CircuitBuilder()
    f, g = _coin(builder, 0, 0.3), _coin(builder, 1, 0.9)
    weight = [0.3, 0.7] if second == "other weights" else [0.5, 0.5]
    both = builder.hadamard(f, g)
    if second == "nothing":
        other = f
    elif second == "another f":
        other = builder.hadamard(_coin(builder, 0, 0.5), _coin(builder, 1, 0.5))
    elif second == "heads":
        other = builder.hadamard(f, _coin(builder, 1, 1.0))
    elif second in ("fair", "other weights"):
        other = builder.hadamard(f, _coin(builder, 1, 0.5))
    elif second == "ones":
        ones = EmbeddingLayer(scope=(1,), num_output_units=1, num_states=2, weight=constant([[1.0, 1.0]]))
        other = builder.hadamard(f, builder.add(ones))
    else:
        other = builder.hadamard(f, g)
    return builder.build(builder.sum(both, other, num_units=1, weight=constant([weight])))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("nothing", "The circuit is not smooth: sum layer %3: its input %0 does not depend on variables [1]"),
        ("ones", "the values sum to 1.5, not to 1"),
        ("another f", "a different one: x0 shows 1 with probability 0.4, but both terms have the factor f(x0)"),
        ("heads", "It is smooth, and a distribution, but a different one: at x0 = 0, x1 = "),
        ("other weights", "and the weights"),
        ("the same coin", "It is smooth, and a distribution, but a different one: at x0 = 0, x1 = "),
    ],
)
def test_feedback_on_a_wrong_fix_says_where_it_differs(second: str, expected: str) -> None:
    feedback = checks.grade_3(_mended(second))
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize("second", ["heads", "other weights", "the same coin"])
def test_feedback_on_a_wrong_fix_does_not_reveal_the_right_value(second: str) -> None:
    table = checks._table(_mended("fair"), 2)
    text = checks.grade_3(_mended(second)).text
    assert checks.grade_3(_mended("fair")).right
    assert [value for value in table.flatten().tolist() if f"{value:.4g}" in text] == []


def test_infinite_values_are_not_a_distribution() -> None:
    assert "Not all four values are finite" in checks.grade_1(_agreeing(weight=(float("inf"), 0.5))).text
