"""Operators that multiply or add up entries across axes. MatMul and Einsum are created by optimization rules only."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from explorer.backend.declarations import BOTH, LINEAR, LOG
from explorer.backend.numeric import common_type, in_double_precision
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.symbolic import parameter_operators as symbolic

__all__ = [
    "TorchEinsumParameter",
    "TorchKroneckerParameter",
    "TorchMatMulParameter",
    "TorchOuterProductParameter",
    "TorchOuterSumParameter",
    "TorchReduceLSEParameter",
    "TorchReduceProductParameter",
    "TorchReduceSumParameter",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchKroneckerParameter(TorchParameterOp):
    """The Kronecker product in every fold; the first operand varies slower along every axis."""

    compiles = symbolic.KroneckerParameter
    keeps_digits = True
    operand_domains = LINEAR

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
    keeps_digits = True
    operand_domains = LINEAR
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        return (left.unsqueeze(self.axis + 2) * right.unsqueeze(self.axis + 1)).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchOuterSumParameter(TorchParameterOp):
    """All sums of entries along an axis; the first operand varies slower."""

    compiles = symbolic.OuterSumParameter
    may_underflow = False
    operand_domains = LOG
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        return (left.unsqueeze(self.axis + 2) + right.unsqueeze(self.axis + 1)).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceSumParameter(TorchParameterOp):
    """The sum along an axis."""

    compiles = symbolic.ReduceSumParameter
    may_underflow = False
    operand_domains = BOTH
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.sum(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceProductParameter(TorchParameterOp):
    """The product along an axis, in double precision on the way: the first factors may underflow where all do not."""

    compiles = symbolic.ReduceProductParameter
    operand_domains = LINEAR
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.prod(in_double_precision(operands[0]), dim=self.axis + 1).to(operands[0].dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceLSEParameter(TorchParameterOp):
    """log sum exp along an axis."""

    compiles = symbolic.ReduceLSEParameter
    may_underflow = False
    operand_domains = LOG
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.logsumexp(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMatMulParameter(TorchParameterOp):
    """The matrix product (F, A, B) (F, B, C) -> (F, A, C)."""

    operand_domains = LINEAR

    def _contraction_flops(self) -> int:
        return 2 * prod(self.in_shapes[0]) * self.in_shapes[1][-1]

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.matmul(*common_type(operands))


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchEinsumParameter(TorchParameterOp):
    """A sum of products; `axes` labels the axes of each operand with numbers, and `result` the axes of the result."""

    operand_domains = LINEAR
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
