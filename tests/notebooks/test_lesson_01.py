"""The exercises of lesson 1: feedback on wrong answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import explorer
from explorer.backend import TorchBinomialLayer, TorchHadamardLayer
from explorer.backend.parameters import TorchParameterOp, apply_op
from explorer.symbolic import (
    ClampParameter,
    HadamardParameter,
    LogParameter,
    ParameterNode,
    SoftmaxParameter,
    SumParameter,
    TensorParameter,
    constant,
)
from tests.notebooks.lessons import module

checks = module("checks.lesson_01")
solutions = module("solutions.lesson_01")


def _compiler(rule: Callable[[Any, Any], Any], semiring: str = "lse-sum") -> explorer.TorchCompiler:
    compiler = explorer.TorchCompiler(semiring=semiring)
    compiler.layer_rules.rule(solutions.CoinLayer)(rule)
    return compiler


class _MinusLogit(TorchParameterOp):
    def forward(self, *operands: Tensor) -> Tensor:
        return -torch.logit(operands[0])


def _coin(compiler: Any, layer: Any, **changed: Any) -> TorchBinomialLayer:
    fields = {
        "num_output_units": layer.num_output_units,
        "scope_idx": (layer.scope,),
        "total_count": 1,
        "probs": compiler.compile_parameter(layer.heads),
    }
    return TorchBinomialLayer(**(fields | changed))


def _tails(compiler: Any, layer: Any) -> TorchBinomialLayer:
    """With the logits of tails: log((1 - p) / p)."""
    minus_logit = apply_op(_MinusLogit, compiler.compile_parameter(layer.heads), shape=(2,))
    return _coin(compiler, layer, probs=None, logits=minus_logit)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda c, _: None, "it returns something of type NoneType"),
        (lambda c, _: TorchHadamardLayer(num_input_units=2, num_output_units=2), "of type TorchHadamardLayer"),
        (lambda c, layer: _coin(c, layer, scope_idx=((0,),)), "reads another variable: a coin of variable 1"),
        (
            lambda c, layer: _coin(c, layer, probs=None, logits=c.compile_parameter(layer.heads)),
            "returns 0.5622. Do you pass heads",
        ),
        (lambda c, layer: _coin(c, layer, probs=None), "has neither probs nor logits; compile a parameter with"),
        (_tails, "Heads and tails are swapped"),
        (lambda c, layer: _coin(c, layer, total_count=2), "returns 0.375. Is it one toss? Do you pass heads"),
        (lambda c, layer: _coin(c, layer, probs=layer.heads), "The rule failed"),
        (lambda c, layer: _coin(c, layer, probs=layer.heads), "Compile a parameter with compiler.compile_parameter."),
        (lambda c, layer: layer.no_such_field, "the compile rule of CoinLayer failed"),
        (lambda c, layer: _coin(c, layer, total_count=None), "Compiling and evaluating a coin failed: TypeError"),
    ],
)
def test_feedback_on_a_wrong_rule(rule: Callable[[Any, Any], Any], expected: str) -> None:
    feedback = checks.grade_1(_compiler(rule))
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize("semiring", ["sum-product", "complex-lse-sum"])
def test_the_rule_of_the_coin_is_right_in_any_semiring(semiring: str) -> None:
    assert checks.grade_1(_compiler(_coin, semiring)).right


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (explorer.TorchCompiler(), "has no rule for CoinLayer"),
        (_coin, "Expected a TorchCompiler with your rule in it; got something of type function"),
    ],
)
def test_feedback_without_a_compiler_or_a_rule(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


SOFTMAX = SoftmaxParameter((TensorParameter((2, 4)),))


def _mixed(share: float, floor: float, of: ParameterNode = SOFTMAX) -> ParameterNode:
    return SumParameter((HadamardParameter((constant([[share] * 4] * 2), of)), constant([[floor] * 4] * 2)))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (SOFTMAX, "If the leaf holds large numbers, an entry falls to 5"),
        (ClampParameter((SOFTMAX,), vmin=0.05), "A row sums to 1.1"),
        (_mixed(1.0, 0.05), "A row sums to 1.2, not to 1"),
        (_mixed(0.9, 0.025), "an entry falls to 0.025; it must be at least 0.05"),
        (constant([[0.25] * 4] * 2), "None of its leaves is learnable"),
        (_mixed(0.0, 0.25), "does not depend on the learnable leaf"),
        (SoftmaxParameter((TensorParameter((4, 2)),)), "should have shape (2, 4); it has (4, 2)"),
        (LogParameter((TensorParameter((2, 4)),)), "not all entries are finite"),
        (TensorParameter((2, 4)), "Which operators preserve the sum of a row?"),
        ([[0.25] * 4] * 2, "Expected a parameter node; got something of type list"),
    ],
)
def test_feedback_on_a_wrong_parameter(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (149, "With 149 coins the value is 1.4e-45: small, but not zero"),
        (126, "small, but not zero"),
        (151, "but so it is with fewer"),
        (10**400, "Try between 2 and 3000 coins"),
        (True, "Expected an integer; got something of type bool"),
        ([], "Expected an integer; got something of type list"),
        (1, "Try between 2 and 3000 coins"),
        (150.0, "Expected an integer; got something of type float"),
    ],
)
def test_feedback_on_a_wrong_number_of_coins(answer: Any, expected: str) -> None:
    feedback = checks.grade_3(answer)
    assert not feedback.right
    assert expected in feedback.text
    assert str(solutions.solution_3()) not in feedback.text or answer == 150.0


def test_an_integer_of_numpy_is_accepted() -> None:
    assert checks.grade_3(np.int64(solutions.solution_3())).right
