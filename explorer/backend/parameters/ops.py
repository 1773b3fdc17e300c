"""The operators of compiled parameter graphs: one class each, its config and its kernel.

MatMul, Flatten and Einsum have no symbolic operator: only optimization rules create them. Axes do not count the fold
axis.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import torch
from torch import Tensor

from explorer.backend.numeric import binomial_log_prob, binomial_logs, common_type, log
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.symbolic import parameter_operators as symbolic

__all__ = [
    "TorchBinomialTableParameter",
    "TorchClampParameter",
    "TorchConjugateParameter",
    "TorchEinsumParameter",
    "TorchExpParameter",
    "TorchFlattenParameter",
    "TorchGaussianProductLogPartitionParameter",
    "TorchGaussianProductMeanParameter",
    "TorchGaussianProductStddevParameter",
    "TorchHadamardParameter",
    "TorchIndexParameter",
    "TorchKroneckerIdentityParameter",
    "TorchKroneckerParameter",
    "TorchLogParameter",
    "TorchLogSoftmaxParameter",
    "TorchMatMulParameter",
    "TorchMixingWeightParameter",
    "TorchOuterProductParameter",
    "TorchOuterSumParameter",
    "TorchPolynomialDifferentialParameter",
    "TorchPolynomialProductParameter",
    "TorchReduceLSEParameter",
    "TorchReduceProductParameter",
    "TorchReduceSumParameter",
    "TorchReorderParameter",
    "TorchScaledSigmoidParameter",
    "TorchSigmoidParameter",
    "TorchSoftmaxParameter",
    "TorchSoftplusParameter",
    "TorchSquareParameter",
    "TorchSumParameter",
    "TorchTriangleParameter",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSoftmaxParameter(TorchParameterOp):
    """exp(x) / sum exp(x) along an axis."""

    compiles = symbolic.SoftmaxParameter
    axis: int

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return self.axis == len(self.shape) - 1

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

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

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
class TorchIndexParameter(TorchParameterOp):
    """The entries at some indices along an axis: one slice for each run of consecutive indices."""

    compiles = symbolic.IndexParameter
    indices: tuple[int, ...]
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        starts = [n for n, i in enumerate(self.indices) if n == 0 or i != self.indices[n - 1] + 1]
        runs = [
            operands[0].narrow(self.axis + 1, self.indices[start], end - start)
            for start, end in pairwise([*starts, len(self.indices)])
        ]
        return torch.cat(runs, self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMixingWeightParameter(TorchParameterOp):
    """(F, K, H) -> (F, K, H*K): one diagonal block for each input."""

    compiles = symbolic.MixingWeightParameter

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

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

    def forward(self, *operands: Tensor) -> Tensor:
        m, s, n, t = _all_pairs(operands)
        both = torch.hypot(s, t)
        return (m * (t / both) ** 2 + n * (s / both) ** 2).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGaussianProductStddevParameter(TorchParameterOp):
    """s t / sqrt(s^2 + t^2), for all pairs."""

    compiles = symbolic.GaussianProductStddevParameter

    def forward(self, *operands: Tensor) -> Tensor:
        s, t = _all_pairs(operands)
        return (s * (t / torch.hypot(s, t))).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGaussianProductLogPartitionParameter(TorchParameterOp):
    """log N(m; n, s^2 + t^2), for all pairs."""

    compiles = symbolic.GaussianProductLogPartitionParameter

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
    total_count: int
    is_logits: bool

    def forward(self, *operands: Tensor) -> Tensor:
        given = operands[0].unsqueeze(2)
        count = torch.arange(self.total_count + 1, device=given.device, dtype=given.dtype)
        return binomial_log_prob(count, self.total_count, *binomial_logs(given, is_logits=self.is_logits))


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchKroneckerIdentityParameter(TorchParameterOp):
    """The Kronecker product with an identity matrix: (F, O, C) -> (F, O*size, C*size)."""

    compiles = symbolic.KroneckerIdentityParameter
    size: int

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

    def forward(self, *operands: Tensor) -> Tensor:
        blocks = torch.diag_embed(operands[0].unsqueeze(3).expand(-1, -1, -1, self.size))  # (F, O, C, size, size)
        return blocks.transpose(2, 3).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReorderParameter(TorchParameterOp):
    """An axis viewed as several, which are transposed."""

    compiles = symbolic.ReorderParameter
    sizes: tuple[int, ...]
    order: tuple[int, ...]
    axis: int

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

    def forward(self, *operands: Tensor) -> Tensor:
        first = self.axis + 1
        view = operands[0].unflatten(first, self.sizes)
        last = first + len(self.sizes)
        order = (*range(first), *(first + place for place in self.order), *range(last, view.dim()))
        return view.permute(order).flatten(first, last - 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchTriangleParameter(TorchParameterOp):
    """The entries (i, j) with i <= j of an axis; with `add`, (j, i) is added where i < j."""

    compiles = symbolic.TriangleParameter
    size: int
    block: int
    add: bool
    axis: int

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        """A choice of rows keeps the others; columns are lost unless they are added to those that stay."""
        return all(inputs) and (self.add or self.axis < len(self.shape) - 1)

    def forward(self, *operands: Tensor) -> Tensor:
        first = self.axis + 1
        view = operands[0].unflatten(first, (self.size, self.block, self.size, self.block))
        square = view.transpose(first + 1, first + 2)
        if self.add:
            mirrored = square.transpose(first, first + 1).transpose(first + 2, first + 3)
            square = square + mirrored.movedim((first, first + 1), (-2, -1)).triu(1).movedim(
                (-2, -1), (first, first + 1)
            )
        rows = [square.select(first, i).narrow(first, i, self.size - i) for i in range(self.size)]
        return torch.cat(rows, dim=first).flatten(first, first + 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMatMulParameter(TorchParameterOp):
    """The matrix product (F, A, B) (F, B, C) -> (F, A, C)."""

    def _contraction_flops(self) -> int:
        return 2 * prod(self.in_shapes[0]) * self.in_shapes[1][-1]

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

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
