"""The exercises of lesson 8: feedback on wrong answers."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from explorer.rewrite import FunctionPassPipeline
from explorer.tensor import Quantization
from tests.notebooks.lessons import module

checks = module("checks.lesson_08")
solutions = module("solutions.lesson_08")


def _no_body(*given: Any) -> None:
    """The unfilled template of the lesson."""


@pytest.mark.parametrize(("number", "answer"), [(1, None), (1, _no_body), (2, None), (2, ""), (3, None)])
def test_an_empty_answer_is_not_graded(number: int, answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(checks, f"exercise_{number}")(answer)
    assert capsys.readouterr().out.startswith("Not answered yet: ")


def test_the_global_generator_is_unchanged() -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    checks.grade_3(solutions.solution_3())
    assert torch.equal(torch.rand(2), wanted)


# ---------------------------------------------------------------------- a batch norm in a convolution


def _scale(gamma: Any, var: Any, eps: float) -> Any:
    return (gamma / torch.sqrt(var + eps)).reshape(-1, 1, 1, 1)


def _without_eps(weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    scale = gamma / torch.sqrt(var)
    return weight * scale.reshape(-1, 1, 1, 1), scale * ((0 if bias is None else bias) - mean) + beta


def _bias_forgotten(weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    scale = _scale(gamma, var, eps)
    return weight * scale, beta - mean * scale.flatten()


def _bias_not_scaled(weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    scale = _scale(gamma, var, eps)
    return weight * scale, (0 if bias is None else bias) + beta - mean * scale.flatten()


def _no_none(weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float) -> Any:
    scale = _scale(gamma, var, eps)
    return weight * scale, scale.flatten() * (bias - mean) + beta


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_without_eps, "without bias the weight and the bias differ"),
        (_bias_forgotten, "with bias the bias differs by up to"),
        (_bias_not_scaled, "The weight is right."),
        (_no_none, "without bias it fails: TypeError"),
        (lambda weight, *rest: weight, "Expected two tensors"),
        (lambda weight, bias, gamma, *rest: (weight, gamma.reshape(1, -1)), "the bias has the wrong shape (1, 6)."),
        (lambda *given: (), "got tuple of nothing"),
        (lambda *given: (None, 3), "got tuple of NoneType, int"),
        (
            lambda weight, bias, gamma, *rest: (weight > 0, gamma > 0),
            "Expected two floating-point tensors; one has the type torch.bool",
        ),
        (lambda weight, bias, gamma, *rest: (weight, gamma * math.nan), "without bias the weight and the bias differ"),
        (3, "something of type int"),
        ("", "something of type str"),
    ],
)
def test_feedback_on_a_wrong_convolution(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


# ---------------------------------------------------------------------- a pipeline in YAML

SINK, CONSTANTS, NORM = (f"- passName: {name}\n" for name in ("SinkCode", "TransposeConstants", "OptimizeBatchNorm"))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SINK.replace("Sink", "Sinc"), "It cannot be read: no pass (the pipeline, line 1) named 'SincCode'"),
        (SINK + "  convergenceMode: twice\n", "unknown convergenceMode 'twice'"),
        (SINK * 4, "It has 4 passes"),
        (NORM, "transposes of images are left"),
        (SINK, "but 2 batch norms too."),
        (SINK + NORM, "weight or bias of the convolution is trained, or not a constant"),
        (NORM + SINK + CONSTANTS, "found no batch norm directly after a convolution"),
        (SINK + CONSTANTS + NORM, "In the mode train it also runs OptimizeBatchNorm"),
        (FunctionPassPipeline.of("SinkCode"), "its YAML string"),
        (["SinkCode"], "something of type list"),
        ("SinkCode", "It cannot be read"),
        ("- 3", "It cannot be read"),
        ("- {}", "missing key passName"),
        ("{", "It cannot be read"),
        (len, "something of type builtin"),
    ],
)
def test_feedback_on_a_wrong_pipeline(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text
    assert "known are: EmptyPass" not in feedback.text


# ---------------------------------------------------------------------- scale and offset


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Quantization(4 / 255, 0), "3 is wrong by"),
        (Quantization(4 / 255, -128), "-1 is wrong by"),
        (Quantization(3 / 127, 0), "the quantum could be smaller"),
        ((0.02, -64), "the quantum could be smaller"),
        ((0.02, 0.5), "expected an integer as the offset, got 0.5"),
        ((0.0, 0), "This is not a quantization"),
        ((math.nan, 0), "This is not a quantization"),
        ((0.02, True), "expected an integer as the offset, got True"),
        ((0.02, 300), "the 8-bit integer"),
        (("0.02", None), "got tuple of str, NoneType"),
        ((), "something of type tuple"),
        (0.02, "something of type float"),
    ],
)
def test_feedback_on_a_wrong_quantization(answer: Any, expected: str) -> None:
    feedback = checks.grade_3(answer)
    assert not feedback.right
    assert expected in feedback.text


def test_a_pair_of_numbers_is_accepted() -> None:
    assert checks.grade_3((4 / 255, -64)).right
    assert checks.grade_3((np.float64(4 / 255), np.int64(-64))).right
