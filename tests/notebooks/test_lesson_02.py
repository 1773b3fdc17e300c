"""The exercises of lesson 2: feedback on wrong answers."""

from typing import Any

import pytest

import explorer
from explorer.backend import TorchCategoricalLayer, TorchHadamardLayer, TorchSumLayer
from explorer.backend.parameters import TorchKroneckerParameter, TorchSoftmaxParameter
from explorer.rewrite import LayerOptPattern, ParameterOptPattern, at_least
from explorer.symbolic import CategoricalLayer, Circuit, CircuitBuilder, SumLayer
from explorer.templates import CategoricalInput
from tests.notebooks.lessons import module

checks = module("checks.lesson_02")


def _layers(*entries: type, **more: Any) -> LayerOptPattern:
    return LayerOptPattern("Mine", entries, **more)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_layers(TorchCategoricalLayer, TorchSumLayer, TorchSumLayer), "At upper, layer 4, it stops at entry 1"),
        (_layers(TorchSumLayer, TorchSumLayer, TorchSumLayer), "it stops at entry 3: node 0 is a Categorical layer"),
        (_layers(TorchSumLayer, TorchSumLayer), "it matches 2 layers, [4, 3]; expected three"),
        (_layers(TorchSumLayer, config_patterns=({"arty": 1},)), "The matcher cannot use this pattern"),
        (_layers(SumLayer, SumLayer, CategoricalLayer), "SumLayer is not a type of compiled layers"),
        (
            (TorchSumLayer, TorchSumLayer, TorchCategoricalLayer),
            "Expected a LayerOptPattern; got something of type tuple",
        ),
    ],
)
def test_feedback_on_a_wrong_pattern_quotes_the_matcher(answer: Any, expected: str) -> None:
    feedback = checks.grade_1(answer)
    assert not feedback.right
    assert expected in feedback.text


def _weight(*entries: type, **more: Any) -> tuple[dict[str, ParameterOptPattern], ...]:
    return ({"weight": ParameterOptPattern("Inner", entries, **more)},)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            _layers(TorchSumLayer, sub_patterns=_weight(TorchSoftmaxParameter)),
            "contains a softmax, but does not end in it",
        ),
        (_layers(TorchSumLayer), "It matches layer 3 of kronecker"),
        (_layers(TorchSumLayer, config_patterns=({"num_output_units": 1},)), "It does not match layer"),
        (_layers(TorchSumLayer, sub_patterns=_weight(TorchKroneckerParameter)), "It matches layer 3 of kronecker"),
        (_layers(SumLayer, sub_patterns=_weight(TorchSoftmaxParameter)), "SumLayer is not a type of compiled layers"),
        (_layers(TorchCategoricalLayer), "a TorchCategoricalLayer; it should only match sums"),
        (_layers(TorchSumLayer, TorchHadamardLayer), "One entry is enough"),
        (ParameterOptPattern("Softmax", (TorchSoftmaxParameter,)), "got something of type ParameterOptPattern"),
        (_layers(TorchSumLayer, config_patterns=({"arty": at_least(2)},)), "The matcher cannot use this pattern"),
    ],
)
def test_feedback_on_a_wrong_sub_pattern_says_where_it_fails(answer: Any, expected: str) -> None:
    feedback = checks.grade_2(answer)
    assert not feedback.right
    assert expected in feedback.text


def _tower(sums: int, read_again: int | None) -> Circuit:
    """A chain of sums; a product bypasses some of them."""
    builder = CircuitBuilder()
    x = [builder.add(CategoricalInput(2)(v, 4)) for v in range(2)]
    tower = [x[0]]
    for _ in range(sums):
        tower.append(builder.sum(tower[-1], num_units=4))
    readers = [tower[-1]] if read_again is None else [tower[-1], tower[read_again]]
    return builder.build(builder.sum(*(builder.hadamard(one, x[1]) for one in readers), num_units=1))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_tower(2, None), "No attempt of SumCollapse is blocked by several users. The near misses are: wrong type"),
        (_tower(2, 2), "No attempt of SumCollapse is blocked by several users"),
        (_tower(2, 1), "Node 2 is read by 2 nodes; only the first entry may be read by more than one; but SumCollapse"),
        (explorer.gallery.load_named("blackboard"), "blocked by several users"),
        (explorer.TorchCompiler(), "Expected a circuit of builder.build(root); got something of type TorchCompiler"),
    ],
)
def test_feedback_names_what_a_circuit_lacks(answer: Any, expected: str) -> None:
    feedback = checks.grade_3(answer)
    assert not feedback.right
    assert expected in feedback.text
