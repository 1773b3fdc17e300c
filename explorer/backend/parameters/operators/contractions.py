"""Operators that multiply or add up entries across axes. MatMul and Einsum are created by optimization rules only."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from explorer.backend.numeric import common_type
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.backend.semiring import LogarithmicSemiring
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
    may_underflow = True

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = self._pairs(*operands)
        return (left * right).reshape(-1, *self.shape)

    def log_forward(self, semiring: LogarithmicSemiring, operands: Sequence[Tensor], logs: Sequence[Tensor]) -> Tensor:
        return semiring.multiply(*self._pairs(*logs)).reshape(-1, *self.shape)

    def _pairs(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        for axis in range(left.dim() - 1):
            left = left.unsqueeze(2 * axis + 2)
            right = right.unsqueeze(2 * axis + 1)
        return left, right


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchOuterProductParameter(TorchParameterOp):
    """All products of entries along an axis; the first operand varies slower."""

    compiles = symbolic.OuterProductParameter
    keeps_digits = True
    may_underflow = True
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        left, right = operands
        return (left.unsqueeze(self.axis + 2) * right.unsqueeze(self.axis + 1)).reshape(-1, *self.shape)

    def log_forward(self, semiring: LogarithmicSemiring, operands: Sequence[Tensor], logs: Sequence[Tensor]) -> Tensor:
        left, right = logs
        products = semiring.multiply(left.unsqueeze(self.axis + 2), right.unsqueeze(self.axis + 1))
        return products.reshape(-1, *self.shape)


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

    def log_forward(self, semiring: LogarithmicSemiring, operands: Sequence[Tensor], logs: Sequence[Tensor]) -> Tensor:
        return semiring.sum(logs[0], self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceProductParameter(TorchParameterOp):
    """The product along an axis."""

    compiles = symbolic.ReduceProductParameter
    may_underflow = True
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.prod(operands[0], dim=self.axis + 1)

    def log_forward(self, semiring: LogarithmicSemiring, operands: Sequence[Tensor], logs: Sequence[Tensor]) -> Tensor:
        return semiring.product(logs[0], self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchReduceLSEParameter(TorchParameterOp):
    """log sum exp along an axis."""

    compiles = symbolic.ReduceLSEParameter
    axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.logsumexp(operands[0], dim=self.axis + 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMatMulParameter(TorchParameterOp):
    """The matrix product (F, A, B) (F, B, C) -> (F, A, C)."""

    may_underflow = True

    def _contraction_flops(self) -> int:
        return 2 * prod(self.in_shapes[0]) * self.in_shapes[1][-1]

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.matmul(*common_type(operands))

    def log_forward(self, semiring: LogarithmicSemiring, operands: Sequence[Tensor], logs: Sequence[Tensor]) -> Tensor:
        return semiring.contract((logs[1].transpose(1, 2),), operands[0], logs[0]).transpose(1, 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchEinsumParameter(TorchParameterOp):
    """A sum of products; `axes` labels the axes of each operand with numbers, and `result` those of the result."""

    may_underflow = True
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

    def log_forward(self, semiring: LogarithmicSemiring, operands: Sequence[Tensor], logs: Sequence[Tensor]) -> Tensor:
        every = list(dict.fromkeys(a for names in (self.result, *self.axes) for a in names))
        terms = logs[0].new_zeros(())
        for names, one in zip(self.axes, logs, strict=True):
            order = sorted(range(len(names)), key=lambda place: every.index(names[place]))
            view = one.permute(0, *(1 + place for place in order))
            for place, axis in enumerate(every):
                if axis not in names:
                    view = view.unsqueeze(1 + place)
            terms = semiring.multiply(terms, view)
        kept = 1 + len(self.result)
        return semiring.sum(terms.flatten(kept), kept) if terms.dim() > kept else terms
