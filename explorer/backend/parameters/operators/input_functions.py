"""Operators that make the parameters of products, derivatives and integrals of input functions."""

import math
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from explorer.backend.numeric import binomial_log_prob
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.symbolic import parameter_operators as symbolic

__all__ = [
    "TorchBinomialTableParameter",
    "TorchGaussianProductLogPartitionParameter",
    "TorchGaussianProductMeanParameter",
    "TorchGaussianProductStddevParameter",
    "TorchPolynomialDifferentialParameter",
    "TorchPolynomialProductParameter",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchPolynomialDifferentialParameter(TorchParameterOp):
    """Coefficients of the order-th derivative, lowest first; the zero polynomial has one coefficient."""

    compiles = symbolic.PolynomialDifferentialParameter
    order: int

    def forward(self, *operands: Tensor) -> Tensor:
        x = operands[0]
        if x.shape[-1] <= self.order:
            return torch.zeros_like(x[..., :1])
        for _ in range(self.order):
            x = x[..., 1:] * torch.arange(1, x.shape[-1], device=x.device)
        return x


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchPolynomialProductParameter(TorchParameterOp):
    """Coefficients of the products of all pairs of polynomials: (F, K, d+1), (F, L, e+1) -> (F, K*L, d+e+1)."""

    compiles = symbolic.PolynomialProductParameter

    def _contraction_flops(self) -> int:
        return 2 * prod(self.in_shapes[0]) * prod(self.in_shapes[1])

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        terms = left.unsqueeze(2).unsqueeze(4) * right.unsqueeze(1).unsqueeze(3)  # (F, K, L, d+1, e+1)
        degree = terms.shape[-2]
        # Row i is shifted by i places: rows of one entry less than they are padded to begin one place later each.
        padded = torch.nn.functional.pad(terms, (0, degree)).flatten(3)
        width = terms.shape[-1] + degree - 1
        return padded[..., : degree * width].unflatten(3, (degree, width)).sum(3).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGaussianProductMeanParameter(TorchParameterOp):
    """(m t^2 + n s^2) / (s^2 + t^2), for all pairs; the squares are of ratios, so that none overflows."""

    compiles = symbolic.GaussianProductMeanParameter
    may_underflow = False

    def forward(self, *operands: Tensor) -> Tensor:
        m, s, n, t = _all_pairs(operands)
        both = torch.hypot(s, t)
        return (m * (t / both) ** 2 + n * (s / both) ** 2).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGaussianProductStddevParameter(TorchParameterOp):
    """s t / sqrt(s^2 + t^2), for all pairs; the ratio is at least sqrt(1/2), so that it never underflows."""

    compiles = symbolic.GaussianProductStddevParameter

    def forward(self, *operands: Tensor) -> Tensor:
        s, t = _all_pairs(operands)
        return (torch.minimum(s, t) * (torch.maximum(s, t) / torch.hypot(s, t))).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGaussianProductLogPartitionParameter(TorchParameterOp):
    """log N(m; n, s^2 + t^2), for all pairs."""

    compiles = symbolic.GaussianProductLogPartitionParameter
    may_underflow = False

    def forward(self, *operands: Tensor) -> Tensor:
        m, s, n, t = _all_pairs(operands)
        both = torch.hypot(s, t)
        return (-0.5 * ((m - n) / both) ** 2 - torch.log(both) - 0.5 * math.log(2 * math.pi)).reshape(-1, *self.shape)


def _all_pairs(operands: tuple[Tensor, ...]) -> list[Tensor]:
    """The first half of the operands (F, K) as (F, K, 1), the second (F, L) as (F, 1, L)."""
    half = len(operands) // 2
    return [x.unsqueeze(2) for x in operands[:half]] + [x.unsqueeze(1) for x in operands[half:]]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchBinomialTableParameter(TorchParameterOp):
    """log C(n, x) + x log p + (n - x) log(1 - p) for x in 0 .. n: (F, K) -> (F, K, n+1)."""

    compiles = symbolic.BinomialTableParameter
    may_underflow = False
    total_count: int
    is_logits: bool

    def forward(self, *operands: Tensor) -> Tensor:
        given = operands[0].unsqueeze(2)
        count = torch.arange(self.total_count + 1, device=given.device)
        return binomial_log_prob(count, self.total_count, given, is_logits=self.is_logits)
