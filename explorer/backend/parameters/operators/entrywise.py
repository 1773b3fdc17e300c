"""Operators on the entries at one place of their operands, or along one axis: activations, sums and products."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

import torch
from torch import Tensor

from explorer.backend.declarations import (
    BOTH,
    LINEAR,
    ClampLink,
    Domain,
    ExpLink,
    Link,
    SigmoidLink,
    SoftmaxLink,
    SoftplusLink,
    SquareLink,
)
from explorer.backend.numeric import log
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.symbolic import parameter_operators as symbolic

__all__ = [
    "TorchClampParameter",
    "TorchConjugateParameter",
    "TorchExpParameter",
    "TorchHadamardParameter",
    "TorchLogParameter",
    "TorchLogSoftmaxParameter",
    "TorchScaledSigmoidParameter",
    "TorchSigmoidParameter",
    "TorchSoftmaxParameter",
    "TorchSoftplusParameter",
    "TorchSquareParameter",
    "TorchSumParameter",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSoftmaxParameter(TorchParameterOp):
    """exp(x) / sum exp(x) along an axis."""

    compiles = symbolic.SoftmaxParameter
    keeps_digits = True
    axis: int

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return self.axis == len(self.shape) - 1

    def link(self) -> Link:
        return SoftmaxLink(self.axis)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.softmax(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLogSoftmaxParameter(TorchParameterOp):
    """x - log sum exp(x) along an axis."""

    compiles = symbolic.LogSoftmaxParameter
    may_underflow = False
    keeps_digits = True
    link_domain = Domain.LOG
    axis: int

    def link(self) -> Link:
        return SoftmaxLink(self.axis)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.log_softmax(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSigmoidParameter(TorchParameterOp):
    """1 / (1 + exp(-x))."""

    compiles = symbolic.SigmoidParameter

    def link(self) -> Link:
        return SigmoidLink()

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.sigmoid(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchScaledSigmoidParameter(TorchParameterOp):
    """sigmoid(x) * (vmax - vmin) + vmin."""

    compiles = symbolic.ScaledSigmoidParameter
    vmin: float
    vmax: float

    def link(self) -> Link:
        return SigmoidLink(self.vmin, self.vmax)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.sigmoid(operands[0]) * (self.vmax - self.vmin) + self.vmin


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchClampParameter(TorchParameterOp):
    """min(max(x, vmin), vmax)."""

    compiles = symbolic.ClampParameter
    keeps_digits = True
    vmin: float | None
    vmax: float | None

    def link(self) -> Link:
        return ClampLink(-inf if self.vmin is None else self.vmin, inf if self.vmax is None else self.vmax)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.clamp(operands[0], min=self.vmin, max=self.vmax)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSoftplusParameter(TorchParameterOp):
    """log(1 + exp(x))."""

    compiles = symbolic.SoftplusParameter
    keeps_digits = True

    def link(self) -> Link:
        return SoftplusLink()

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.nn.functional.softplus(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchExpParameter(TorchParameterOp):
    """exp(x)."""

    compiles = symbolic.ExpParameter
    operand_domains = MappingProxyType({Domain.LINEAR: Domain.LOG})

    def link(self) -> Link:
        return ExpLink()

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.exp(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLogParameter(TorchParameterOp):
    """log(x)."""

    compiles = symbolic.LogParameter
    may_underflow = False
    operand_domains = MappingProxyType({Domain.LOG: Domain.LINEAR})

    def forward(self, *operands: Tensor) -> Tensor:
        return log(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSquareParameter(TorchParameterOp):
    """x * x."""

    compiles = symbolic.SquareParameter
    keeps_digits = True
    operand_domains = LINEAR

    def link(self) -> Link:
        return SquareLink()

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.square(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchConjugateParameter(TorchParameterOp):
    """The complex conjugate."""

    compiles = symbolic.ConjugateParameter
    may_underflow = False
    keeps_digits = True

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.conj(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSumParameter(TorchParameterOp):
    """x + y."""

    compiles = symbolic.SumParameter
    may_underflow = False
    operand_domains = BOTH

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0] + operands[1]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchHadamardParameter(TorchParameterOp):
    """x * y, elementwise."""

    compiles = symbolic.HadamardParameter
    keeps_digits = True
    operand_domains = LINEAR

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0] * operands[1]
