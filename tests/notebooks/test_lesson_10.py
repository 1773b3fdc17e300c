"""The exercises of lesson 10: feedback on wrong answers."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.backend import TorchHadamardLayer, TorchInnerLayer, TorchKroneckerLayer, TorchSumLayer
from explorer.optimize.default_rules import DEFAULT_LAYER_FUSE_OPT_RULES
from explorer.rewrite import LayerOptPattern, at_most
from explorer.tensor import call
from tests.notebooks.lessons import module

checks = module("checks.lesson_10")
solutions = module("solutions.lesson_10")

aten = torch.ops.aten


def _mean(forward: Callable[[Any, Tensor], Any]) -> type[TorchInnerLayer]:
    class TorchMeanLayer(TorchInnerLayer):
        """A layer with this forward."""

        @property
        def flops(self) -> int:
            return self.arity * self.num_input_units

        def forward(self, semiring: Any, x: Tensor, parameters: Mapping[str, Tensor]) -> Any:
            return forward(semiring, x)

    return TorchMeanLayer


def test_an_empty_answer_is_not_graded(capsys: pytest.CaptureFixture[str]) -> None:
    empty = {1: _mean(lambda semiring, x: None), 2: lambda compiler: None, 3: lambda node: None}
    for number, answer in empty.items():
        for nothing in (None, answer):
            getattr(checks, f"exercise_{number}")(nothing)
            assert capsys.readouterr().out.startswith("Not answered yet: ")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_feedback_on_a_wrong_type(number: int) -> None:
    feedback = getattr(checks, f"grade_{number}")(3)
    assert not feedback.right
    assert "xpected" in feedback.text


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        (lambda semiring, x: x.mean(dim=1), "Under lse-sum: x holds logarithms here"),
        (lambda semiring, x: torch.logsumexp(x, dim=1) - torch.tensor(float(x.shape[1])).log(), "Under sum-product: "),
        (lambda semiring, x: semiring.product(x, dim=1), "it returns the product of the inputs"),
        (lambda semiring, x: semiring.mix(x, torch.ones(len(x), x.shape[3], x.shape[1])), "it returns the sum"),
        (lambda semiring, x: semiring.mix(x, torch.full((len(x), x.shape[3], x.shape[1]), 0.5)), "not means"),
        (lambda semiring, x: solutions.solution_1().forward(None, semiring, x[:1], {}), "folded: the output has shape"),
        (lambda semiring, x: x, "the output has shape"),
        (lambda semiring, x: x.average(), "it failed: AttributeError"),
        (lambda semiring, x: 3, "the output has shape 3"),
        (lambda semiring, x: x.mean(dim=1).tolist(), "the output has shape"),
    ],
)
def test_feedback_on_a_wrong_mean(forward: Callable[[Any, Tensor], Any], expected: str) -> None:
    feedback = checks.grade_1(_mean(forward))
    assert not feedback.right
    assert expected in feedback.text


def _register(config: Mapping[str, Any], kind: type = TorchKroneckerLayer, units: Any = None) -> Callable[[Any], None]:
    def register(compiler: Any) -> None:
        @compiler.rules.fuse.rule(LayerOptPattern("Mine", (kind,), config_patterns=(config,)))
        def mine(compiler: Any, match: Any) -> tuple[Any, ...]:
            (layer,) = match.entries
            wide = layer.num_input_units if units is None else units
            return (TorchHadamardLayer(num_input_units=wide, num_output_units=wide, arity=layer.arity),)

    return register


def _fails_on_a_match(compiler: Any) -> None:
    @compiler.rules.fuse.rule(LayerOptPattern("Mine", (TorchKroneckerLayer,)))
    def mine(compiler: Any, match: Any) -> Any:
        return match.nothing


def test_feedback_on_a_layer_without_forward() -> None:
    feedback = checks.grade_1(TorchInnerLayer)
    assert not feedback.right
    assert "does not define forward" in feedback.text


@pytest.mark.parametrize(
    ("register", "expected"),
    [
        (_register({}), "two units each: the compilation failed: "),
        (_register({"num_input_units": at_most(2)}), "two units each: the compilation failed: "),
        (_register({"arity": 2}), "one unit each: 1 not replaced, of arity 3"),
        (_register({"arity": 1}), "one unit each: 2 not replaced, of arity 2, 3; 0 matched"),
        (_register({"num_input_units": 1}, units=2), "one unit each: the compilation failed: "),
        (_register({"num_input_units": 1}, kind=TorchSumLayer), "one unit each: "),
        (lambda compiler: compiler.rule(), "Registering failed: AttributeError"),
        (_fails_on_a_match, "the compilation failed: "),
    ],
)
def test_feedback_on_a_rule_that_matches_too_much_or_too_little(register: Callable[[Any], None], expected: str) -> None:
    feedback = checks.grade_2(register)
    assert not feedback.right
    assert expected in feedback.text


def test_a_rule_for_all_compilers_is_refused_and_removed() -> None:
    class Rules:
        fuse = DEFAULT_LAYER_FUSE_OPT_RULES

    class Everybody:
        rules = Rules

    before = list(DEFAULT_LAYER_FUSE_OPT_RULES.rules)
    feedback = checks.grade_2(lambda compiler: _register({"num_input_units": 1})(Everybody))
    assert not feedback.right
    assert "to a registry of the package" in feedback.text
    assert list(DEFAULT_LAYER_FUSE_OPT_RULES.rules) == before


def _inner_is_relu(node: Any) -> bool:
    inner = node.inputs[0].owner
    return inner is not None and inner.op.target is aten.relu.default


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (lambda node: [node.inputs[0].owner.outputs[0]], "failed: AttributeError"),
        (lambda node: list(node.inputs), "the value changed"),
        (lambda node: [node.inputs[0].owner.inputs[0]] if _inner_is_relu(node) else False, "the value changed"),
        (lambda node: [node.inputs[0]] if node.inputs[0].owner else False, "the value changed"),
        (lambda node: [node.inputs[0].owner.outputs[0]] if node.inputs[0].owner is node else False, "2 relus of"),
        (lambda node: [call(aten.relu.default, node.inputs[0])] if _inner_is_relu(node) else False, "never ended"),
        (lambda node: "relu", "failed"),
        (lambda node: (), "failed"),
        (lambda node: [None], "failed"),
        (lambda node: 3, "failed"),
    ],
)
def test_feedback_on_a_wrong_rule_for_relus(rule: Callable[[Any], Any], expected: str) -> None:
    feedback = checks.grade_3(rule)
    assert not feedback.right
    assert expected in feedback.text
