"""The exercises of lesson 4: feedback on wrong answers."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.notebooks.lessons import module

checks = module("checks.lesson_04")


def test_the_unfilled_template_is_not_graded() -> None:
    assert checks.grade_1(lambda A, B, x: None).text.startswith("Not answered yet")
    assert checks.grade_3({"fewest": None, "more": None}).text.startswith("Not answered yet")


def _large(A: Tensor, B: Tensor, x: Tensor) -> Tensor:
    return x @ torch.kron(A, B).T


def _exchanged(A: Tensor, B: Tensor, x: Tensor) -> Tensor:
    X = x.reshape(len(x), A.shape[1], B.shape[1])
    return (A @ X @ B.T).transpose(1, 2).flatten(1)


def _fast_index_first(A: Tensor, B: Tensor, x: Tensor) -> Tensor:
    X = x.reshape(len(x), B.shape[1], A.shape[1])
    return (B @ X @ A.T).transpose(1, 2).flatten(1)


def _one_factor(A: Tensor, B: Tensor, x: Tensor) -> Tensor:
    return x.reshape(len(x), A.shape[1], B.shape[1]).transpose(1, 2) @ A.T


def _wrong_shape(A: Tensor, B: Tensor, x: Tensor) -> Tensor:
    return A @ x


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_large, "was built on the way"),
        (_exchanged, "in the wrong order"),
        (_fast_index_first, "Which index of x is the slow one"),
        (_one_factor, "the shape must be (5, 63)"),
        (_wrong_shape, "It fails for A (7, 8)"),
        (7, "got something of type int"),
        (lambda A, B, x: [1], "got something of type list"),
        (lambda A, B, x: _large(A, B, x).double(), "was built on the way"),
        (lambda A, B, x: _large(A, B, x).long(), "Expected floating-point numbers"),
        (lambda x: x, "TypeError"),
    ],
)
def test_feedback_on_a_wrong_product(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (8, "is not shattered"),
        (11, "is not shattered"),
        (13, "but so it is for smaller factors"),
        (16, "but so it is for smaller factors"),
        (1000, "from 1 to 40"),
        (16.0, "of type float"),
        ([], "got something of type list"),
    ],
)
def test_feedback_on_a_wrong_size(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text
    assert " 12 " not in feedback.text


def test_a_size_of_numpy_is_accepted() -> None:
    assert checks.grade_2(np.int64(12)).right


GOOD = {"fewest": ((1, 256), (256, 1)), "more": ((256, 1), (1, 256))}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (GOOD | {"fewest": ((16, 16), (16, 16))}, "The first can be smaller"),
        (GOOD | {"more": ((16, 16), (16, 16))}, "must need more than the large matrix"),
        ({"fewest": GOOD["more"], "more": GOOD["fewest"]}, "The two keys are swapped"),
        (GOOD | {"more": ((16, 16), (16, 8))}, "more: the Kronecker product of these is 256 x 128"),
        (GOOD | {"fewest": (16, 16)}, "fewest: expected shapes"),
        (GOOD | {"fewest": None}, "fewest: expected shapes"),
        ({"fewest": GOOD["fewest"]}, "with the keys fewest and more"),
        ([1, 2], "with the keys fewest and more"),
        ({1: 2, "more": 3}, "with the keys fewest and more"),
        (np.zeros((2, 2)), "with the keys fewest and more"),
    ],
)
def test_feedback_on_wrong_shapes(answer: Any, expected: str) -> None:
    feedback = checks.grade_3(answer)
    assert not feedback.right
    assert expected in feedback.text
