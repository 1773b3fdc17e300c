"""Expectation-maximization learns through custom parameter operators that declare a link or the domains of operands."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from explorer.backend.parameters import TorchParameterOp, TorchSoftmaxParameter
from explorer.compiler import TorchCompiler
from explorer.errors import LearningError
from explorer.learning import Domain, ExpectationMaximization, Link
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    ParameterNode,
    SoftmaxParameter,
    TensorParameter,
    constant,
)
from explorer.symbolic.parameter_operators import EntrywiseParameterOp
from explorer.templates import CategoricalInput

ROWS = torch.tensor([[0], [1], [1], [2], [1], [0]])


@dataclass(frozen=True, eq=False, repr=False)
class HalfSoftmaxParameter(EntrywiseParameterOp):
    """softmax(x / 2) along the last axis."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchHalfSoftmaxParameter(TorchParameterOp):
    """The compiled form of it."""

    compiles = HalfSoftmaxParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.softmax(operands[0] / 2, dim=-1)


@dataclass(frozen=True, slots=True)
class HalfSoftmaxLink(Link):
    """softmax(x / 2) along the last axis of a matrix."""

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def normalized_axis(self) -> int:
        return 1

    def value(self, leaf: Tensor) -> Tensor:
        return torch.softmax(leaf / 2, dim=-1)

    def inverse(self, value: Tensor) -> Tensor:
        return 2 * torch.log(value.clamp(min=1e-30))


@dataclass(frozen=True, eq=False, repr=False)
class FlipParameter(EntrywiseParameterOp):
    """The columns in reverse order."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchFlipParameter(TorchParameterOp):
    """The compiled form of it."""

    compiles = FlipParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0].flip(-1)


@dataclass(frozen=True, eq=False, repr=False)
class QuarterSoftmaxParameter(SoftmaxParameter):
    """softmax(x / 4) along an axis."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchQuarterSoftmaxParameter(TorchSoftmaxParameter):
    """The compiled form of it, which overrides `forward` and declares nothing."""

    compiles = QuarterSoftmaxParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.softmax(operands[0] / 4, dim=self.axis + 1)


def mixture(weight: ParameterNode) -> Circuit:
    """One sum over two categorical distributions that are fixed."""
    probs = constant([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    b = CircuitBuilder()
    return b.build(b.sum(b.add(CategoricalInput(3, probs=lambda _: probs)(0, 2)), num_units=1, weight=weight))


def learned_weight(weight: ParameterNode, *, fold: bool = True) -> list[float]:
    compiled = TorchCompiler(fold=fold).compile(mixture(weight)).double()
    em = ExpectationMaximization(compiled)
    for _ in range(3):
        em.maximize(em.expect(ROWS)[0])
    ones = torch.arange(3)[:, None]
    found = compiled(ones).exp().flatten()  # 0.7 w + 0.1 (1 - w) at 0
    share = (found[0].item() - 0.1) / 0.6
    return [share, 1 - share]


def leaf(*numbers: float) -> TensorParameter:
    return TensorParameter((1, 2), name="odd", initializer=ConstantInitializer([list(numbers)]))


@pytest.mark.parametrize("fold", [False, True])
def test_a_custom_operator_takes_part_once_it_is_declared(monkeypatch: pytest.MonkeyPatch, fold: bool):
    custom = FlipParameter((HalfSoftmaxParameter((leaf(-1.0, 0.5),)),))
    expected = learned_weight(SoftmaxParameter((leaf(0.25, -0.5),)), fold=fold)
    with pytest.raises(
        LearningError,
        match=r"odd .* passes through FlipParameter to the weight of a SumLayer, which declares neither",
    ):
        learned_weight(custom, fold=fold)
    monkeypatch.setattr(TorchFlipParameter, "operand_domains", {Domain.LINEAR: Domain.LINEAR})
    with pytest.raises(LearningError, match=r"odd .* passes through HalfSoftmaxParameter"):
        learned_weight(custom, fold=fold)
    monkeypatch.setattr(TorchHalfSoftmaxParameter, "link", lambda op: HalfSoftmaxLink())
    assert learned_weight(custom, fold=fold) == pytest.approx(expected, rel=1e-12)


def test_another_forward_does_not_inherit_what_is_declared():
    kind = TorchQuarterSoftmaxParameter
    assert kind.link is TorchParameterOp.link
    assert not kind.keeps_digits
    with pytest.raises(LearningError, match=r"passes through QuarterSoftmaxParameter .*, which declares neither"):
        learned_weight(QuarterSoftmaxParameter((leaf(-1.0, 0.5),)), fold=False)
