"""The backward pass of launches: from the gradient of the outputs to the gradients of weights, tables, densities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from explorer.runtime.cuda import backward_kernels as kernels
from explorer.runtime.cuda.launch_evaluation import Evaluation
from explorer.runtime.cuda.launches import (
    MAX_IN,
    MIN_BLOCK,
    PRECISION,
    Launch,
    LaunchIndices,
    blocks,
    distance,
    power_of_two,
    rows_beside,
)
from explorer.runtime.graphs import launcher
from explorer.runtime.plan import Kind

BATCH_BLOCK = 32
"""Rows of the batch that the gradient of a weight adds at a time."""


@dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of the weights (G, O, H*I) of launches, the rows of tables, and the densities (G, B, K)."""

    weights: tuple[Tensor, ...]
    tables: tuple[Tensor, ...]
    densities: tuple[Tensor, ...]


def pass_back(
    evaluation: Evaluation, alone: Sequence[Tensor], certified: Tensor, outputs: Sequence[int], gradient: Tensor
) -> Gradients:
    """The gradients of what an evaluation read, from the gradient of the outputs (B, outputs, classes).

    `alone` says by launch of each read whether it is the only one of the call that it reads; `outputs` are slots.
    """
    scale = _scale(gradient)
    return _Backward(evaluation, alone, certified, scale).gradients(outputs, gradient / scale)


def _scale(gradient: Tensor) -> Tensor:
    """A power of two by which gradients of the outputs are divided, so that no gradient of a value overflows."""
    largest = gradient.abs().amax()
    is_moderate = (largest > 2.0**-20) & (largest < 2.0**20)
    power = torch.exp2(torch.floor(torch.log2(largest)))
    return torch.where(is_moderate | (largest == 0) | ~torch.isfinite(largest), 1.0, power)


class _Backward:
    def __init__(self, evaluation: Evaluation, alone: Sequence[Tensor], certified: Tensor, scale: Tensor) -> None:
        self.evaluation = evaluation
        self.alone = alone
        self.certified = certified
        self.scale = scale
        self.batch = evaluation.batch
        self.slots: Mapping[int, Tensor] = {
            width: torch.zeros_like(found.rows) for width, found in evaluation.slots.items()
        }
        self.tables: Mapping[int, Tensor] = {
            width: torch.zeros_like(found.rows) for width, found in evaluation.tables.items()
        }

    def gradients(self, outputs: Sequence[int], gradient: Tensor) -> Gradients:
        self._begin(outputs, gradient)
        evaluation = self.evaluation
        weights: list[Tensor] = []
        densities: list[Tensor] = []
        steps = zip(
            evaluation.launches.launches,
            evaluation.constants.numbers,
            evaluation.placed.launches,
            self.alone,
            strict=True,
        )
        for launch, numbers, indices, alone in reversed(list(steps)):
            if launch.kind is Kind.DENSITY:
                found = self.slots[launch.width].view(-1, self.batch, launch.width)[indices.slots]
                densities.append(found * self.scale)
                continue
            found = torch.empty_like(numbers[0]) if numbers else None
            match launch.kind:
                case Kind.SUM:
                    self._sums(launch, numbers[0], indices, alone, found)
                case Kind.TUCKER:
                    self._tuckers(launch, numbers[0], indices, alone, found)
                case _:
                    self._mixtures(launch, numbers, indices, alone, found)
            if found is not None:
                weights.append(found)
        return Gradients(
            tuple(reversed(weights)),
            tuple(one.mul_(self.scale) for one in self.tables.values()),
            tuple(reversed(densities)),
        )

    def _begin(self, outputs: Sequence[int], gradient: Tensor) -> None:
        """Begin with the gradients of the outputs: the gradients of their logarithms, divided by the values."""
        width = gradient.shape[2]
        values = self.evaluation.slots[width].rows.view(-1, self.batch, width)
        found = self.slots[width].view(-1, self.batch, width)
        is_certified = self.certified.to(torch.bool).unsqueeze(1)
        for number, slot in enumerate(outputs):
            found[slot] += torch.where(is_certified, gradient[:, number] / values[slot], 0.0)

    # ------------------------------------------------------------------ launches

    def _sums(
        self, launch: Launch, weights: Tensor, indices: LaunchIndices, alone: Tensor, found: Tensor | None
    ) -> None:
        block_in = min(max(power_of_two(launch.in_width), MIN_BLOCK), MAX_IN)
        block_out = min(max(power_of_two(launch.width), MIN_BLOCK), MAX_IN)
        in_blocks, width = blocks(launch.in_width, block_in), launch.widths[0]
        size, warps = self._matrix_rows(launch, block_in)
        shape = {"WIDTH": launch.width, "IN_WIDTH": launch.in_width, "TERMS": launch.terms, "FACTORS": launch.factors}
        sizes = {"BLOCK_IN": block_in, "BLOCK_OUT": block_out, "IN_BLOCKS": in_blocks, "PRECISION": PRECISION}
        launcher(kernels.sums_back, (len(launch.members) * blocks(self.batch, size), launch.terms * in_blocks))(
            indices.reads, alone, self.evaluation.states, weights, *self._read_of(width), *self._gradients_of(width),
            indices.slots, *self._written(launch.width), self.batch, blocks(self.batch, size),
            **shape, **sizes, BLOCK_BATCH=size, num_warps=warps,
        )  # fmt: skip
        grid = (len(launch.members) * launch.terms * in_blocks, blocks(launch.width, block_out))
        launcher(kernels.weights_of_sums_back, grid)(
            indices.reads, self.evaluation.states, *self._read_of(width),
            indices.slots, *self._written(launch.width), found, self.scale, self.batch,
            **shape, **sizes, BLOCK_BATCH=BATCH_BLOCK, num_warps=min(max(block_in * block_out // 512, 1), 8),
        )  # fmt: skip

    def _mixtures(
        self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices, alone: Tensor, found: Tensor | None
    ) -> None:
        out = power_of_two(launch.width)
        size, width = min(rows_beside(out), power_of_two(self.batch)), launch.widths[0]
        weights = numbers[0] if numbers else self.certified
        shape = {"WIDTH": launch.width, "TERMS": launch.terms, "FACTORS": launch.factors}
        launcher(kernels.mixtures_back, (len(launch.members) * blocks(self.batch, size), launch.terms))(
            indices.reads, alone, self.evaluation.states, weights, *self._read_of(width), *self._gradients_of(width),
            indices.slots, *self._written(launch.width), self.batch, blocks(self.batch, size),
            **shape, WEIGHTED=found is not None, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip
        if found is None:
            return
        out = min(out, MAX_IN)
        launcher(kernels.weights_of_mixtures_back, (len(launch.members) * launch.terms, blocks(launch.width, out)))(
            indices.reads, self.evaluation.states, *self._read_of(width),
            indices.slots, *self._written(launch.width), found, self.scale, self.batch,
            **shape, BLOCK_BATCH=BATCH_BLOCK, BLOCK_OUT=out,
        )  # fmt: skip

    def _tuckers(
        self, launch: Launch, weights: Tensor, indices: LaunchIndices, alone: Tensor, found: Tensor | None
    ) -> None:
        left, right = launch.widths
        block_in, out = max(power_of_two(right), MIN_BLOCK), max(power_of_two(launch.width), MIN_BLOCK)
        size, warps = self._matrix_rows(launch, max(block_in, out))
        shape = {"WIDTH": launch.width, "LEFT": left, "RIGHT": right, "PRECISION": PRECISION}
        of_left, of_right = self._read_of(left), self._read_of(right)
        launcher(kernels.tuckers_back, (len(launch.members) * blocks(self.batch, size),))(
            indices.reads, alone, self.evaluation.states, weights,
            of_left[0], of_left[2], *self._gradients_of(left), of_right[0], of_right[2], *self._gradients_of(right),
            indices.slots, *self._written(launch.width), self.batch, blocks(self.batch, size),
            **shape, BLOCK_BATCH=size, BLOCK_IN=block_in, BLOCK_OUT=out, num_warps=warps,
        )  # fmt: skip
        block_in, out = min(block_in, MAX_IN), min(out, MAX_IN)
        grid = (len(launch.members) * left, blocks(right, block_in), blocks(launch.width, out))
        launcher(kernels.weights_of_tuckers_back, grid)(
            indices.reads, self.evaluation.states, of_left[0], of_left[2], of_right[0], of_right[2],
            indices.slots, *self._written(launch.width), found, self.scale, self.batch,
            **shape, BLOCK_BATCH=BATCH_BLOCK, BLOCK_IN=block_in, BLOCK_OUT=out,
            num_warps=min(max(block_in * out // 512, 1), 8),
        )  # fmt: skip

    # ------------------------------------------------------------------ arguments

    def _matrix_rows(self, launch: Launch, columns: int) -> tuple[int, int]:
        """Return the rows of a block with some columns, and the warps for it."""
        size = self.evaluation.matrix_rows(len(launch.members), columns)
        return size, min(max(size * columns // 512, 1), 8)

    def _read_of(self, width: int) -> tuple[Any, ...]:
        """Values and scales in slots, and the distances of tables from them, in numbers."""
        values, scales, _, values_apart, scales_apart, _ = self.evaluation.read_of(width)
        return values, scales, values_apart, scales_apart

    def _gradients_of(self, width: int) -> tuple[Tensor, int]:
        """Gradients in slots, and the distance of the gradients of tables, in numbers."""
        slots, tables = self.slots[width], self.tables.get(width)
        return slots, 0 if tables is None else distance(slots, tables)

    def _written(self, width: int) -> tuple[Tensor, Tensor, Tensor]:
        return self.slots[width], self.evaluation.factors[width], self.certified
