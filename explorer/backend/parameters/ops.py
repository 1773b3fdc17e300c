"""The operators of compiled parameter graphs: one class each, its config and its kernel.

MatMul, Flatten and Einsum have no symbolic operator: only optimization rules create them. Axes do not count the fold
axis.
"""

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from explorer.backend.numeric import common_type, log
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.symbolic import parameter_operators as symbolic

__all__ = [
    "TorchClampParameter",
    "TorchConjugateParameter",
    "TorchEinsumParameter",
    "TorchExpParameter",
    "TorchFlattenParameter",
    "TorchHadamardParameter",
    "TorchKroneckerParameter",
    "TorchLogParameter",
    "TorchLogSoftmaxParameter",
    "TorchMatMulParameter",
    "TorchMixingWeightParameter",
    "TorchOuterProductParameter",
    "TorchOuterSumParameter",
    "TorchPolynomialDifferentialParameter",
    "TorchReduceLSEParameter",
    "TorchReduceProductParameter",
    "TorchReduceSumParameter",
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
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.softmax(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLogSoftmaxParameter(TorchParameterOp):
    """x - log sum exp(x) along an axis."""

    compiles = symbolic.LogSoftmaxParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.log_softmax(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSigmoidParameter(TorchParameterOp):
    """1 / (1 + exp(-x))."""

    compiles = symbolic.SigmoidParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.sigmoid(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchScaledSigmoidParameter(TorchParameterOp):
    """sigmoid(x) * (vmax - vmin) + vmin."""

    compiles = symbolic.ScaledSigmoidParameter
    vmin: float
    vmax: float

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.sigmoid(operands[0]) * (self.vmax - self.vmin) + self.vmin


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchClampParameter(TorchParameterOp):
    """min(max(x, vmin), vmax)."""

    compiles = symbolic.ClampParameter
    vmin: float | None
    vmax: float | None

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.clamp(operands[0], min=self.vmin, max=self.vmax)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSoftplusParameter(TorchParameterOp):
    """log(1 + exp(x))."""

    compiles = symbolic.SoftplusParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.nn.functional.softplus(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchExpParameter(TorchParameterOp):
    """exp(x)."""

    compiles = symbolic.ExpParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.exp(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLogParameter(TorchParameterOp):
    """log(x)."""

    compiles = symbolic.LogParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return log(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSquareParameter(TorchParameterOp):
    """x * x."""

    compiles = symbolic.SquareParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.square(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchConjugateParameter(TorchParameterOp):
    """The complex conjugate."""

    compiles = symbolic.ConjugateParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.conj(operands[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSumParameter(TorchParameterOp):
    """x + y."""

    compiles = symbolic.SumParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0] + operands[1]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchHadamardParameter(TorchParameterOp):
    """x * y, elementwise."""

    compiles = symbolic.HadamardParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0] * operands[1]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchKroneckerParameter(TorchParameterOp):
    """The Kronecker product in every fold; the first operand varies slower along every axis."""

    compiles = symbolic.KroneckerParameter

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        for axis in range(left.dim() - 1):
            left = left.unsqueeze(2 * axis + 2)
            right = right.unsqueeze(2 * axis + 1)
        return (left * right).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchOuterProductParameter(TorchParameterOp):
    """All products of entries along an axis; the first operand varies slower."""

    compiles = symbolic.OuterProductParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        return (left.unsqueeze(self.axis + 2) * right.unsqueeze(self.axis + 1)).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchOuterSumParameter(TorchParameterOp):
    """All sums of entries along an axis; the first operand varies slower."""

    compiles = symbolic.OuterSumParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        return (left.unsqueeze(self.axis + 2) + right.unsqueeze(self.axis + 1)).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceSumParameter(TorchParameterOp):
    """The sum along an axis."""

    compiles = symbolic.ReduceSumParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.sum(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceProductParameter(TorchParameterOp):
    """The product along an axis."""

    compiles = symbolic.ReduceProductParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.prod(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceLSEParameter(TorchParameterOp):
    """log sum exp along an axis."""

    compiles = symbolic.ReduceLSEParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.logsumexp(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMixingWeightParameter(TorchParameterOp):
    """(F, K, H) -> (F, K, H*K): one diagonal block for each input."""

    compiles = symbolic.MixingWeightParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.diag_embed(operands[0].transpose(1, 2)).transpose(1, 2).flatten(2)


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
class TorchMatMulParameter(TorchParameterOp):
    """The matrix product (F, A, B) (F, B, C) -> (F, A, C)."""

    def _contraction_flops(self) -> int:
        return 2 * prod(self.in_shapes[0]) * self.in_shapes[1][-1]

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.matmul(*common_type(operands))


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchFlattenParameter(TorchParameterOp):
    """Flattens the axes start_axis .. end_axis, both included, into one."""

    start_axis: int
    end_axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.flatten(operands[0], self.start_axis + 1, self.end_axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchEinsumParameter(TorchParameterOp):
    """A sum of products; `axes` labels the axes of each operand with numbers, and `result` those of the result."""

    axes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]

    def _contraction_flops(self) -> int:
        sizes = {
            a: n
            for names, shape in zip(self.axes, self.in_shapes, strict=True)
            for a, n in zip(names, shape, strict=True)
        }
        return 2 * prod(sizes.values())

    def forward(self, *operands: Tensor) -> Tensor:
        letters = "abcdeghijklmnopqrstuvwxyz"
        terms = ",".join("f" + "".join(letters[a] for a in names) for names in self.axes)
        return torch.einsum(f"{terms}->f{''.join(letters[a] for a in self.result)}", *common_type(operands))
