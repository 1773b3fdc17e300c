"""Operators that choose, repeat or reorder entries. Flatten is created by optimization rules only."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from explorer.backend.declarations import LINEAR
from explorer.backend.parameters.nodes import TorchParameterOp
from explorer.symbolic import arrangement_operators as symbolic

__all__ = [
    "TorchFlattenParameter",
    "TorchIndexParameter",
    "TorchKroneckerIdentityParameter",
    "TorchMixingWeightParameter",
    "TorchReorderParameter",
    "TorchTriangleParameter",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchIndexParameter(TorchParameterOp):
    """The entries at some indices along an axis: one slice for each run of consecutive indices."""

    compiles = symbolic.IndexParameter
    may_underflow = False
    keeps_digits = True
    operand_domains = LINEAR
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
    may_underflow = False
    keeps_digits = True
    operand_domains = LINEAR

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        return all(inputs)

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.diag_embed(operands[0].transpose(1, 2)).transpose(1, 2).flatten(2)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchKroneckerIdentityParameter(TorchParameterOp):
    """The Kronecker product with an identity matrix: (F, O, C) -> (F, O*size, C*size)."""

    compiles = symbolic.KroneckerIdentityParameter
    may_underflow = False
    keeps_digits = True
    operand_domains = LINEAR
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
    may_underflow = False
    keeps_digits = True
    operand_domains = LINEAR
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
    may_underflow = False
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
class TorchFlattenParameter(TorchParameterOp):
    """Flattens the axes start_axis .. end_axis, both included, into one."""

    may_underflow = False
    keeps_digits = True
    operand_domains = LINEAR
    start_axis: int
    end_axis: int

    def forward(self, *operands: Tensor) -> Tensor:
        return torch.flatten(operands[0], self.start_axis + 1, self.end_axis + 1)
