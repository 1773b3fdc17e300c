"""Runs launches: the kernels, their arguments, and how a launch is divided into programs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from explorer.runtime.constants import TOLERANCE
from explorer.runtime.cuda import kernels
from explorer.runtime.cuda.launches import (
    MAX_IN,
    MAX_OUT,
    MIN_BLOCK,
    PER_WARP,
    PER_WARP_TUCKER,
    PRECISION,
    Launch,
    Launches,
    LaunchIndices,
    Placed,
    blocks,
    distance,
    matrix_rows,
    num_processors,
    power_of_two,
    rows_beside,
)
from explorer.runtime.graphs import launcher
from explorer.runtime.grouped.group_evaluation import MAX_DENSITIES
from explorer.runtime.grouped.kernels import Values, from_logarithms
from explorer.runtime.kernel_types import SINGLE
from explorer.runtime.packed_tensors import PackedTensors, Tables
from explorer.runtime.plan import Kind

Results = tuple[Tensor, Tensor, Tensor]
"""Logarithms (B, outputs, classes), which rows (B) are certified, and two flags.

The first flag is set if x has a value that a variable cannot have, the second if a row is not certified.
"""


def evaluate_launches(
    launches: Launches, constants: PackedTensors, placed: Placed, x: Tensor, densities: Sequence[Tensor]
) -> Results:
    """The outputs of a circuit; `densities` are the logarithms (G, B, K) of the launches that PyTorch evaluates."""
    return Evaluation(launches, constants, placed, x).results([from_logarithms(one) for one in densities])


class Evaluation:
    """One evaluation of launches, with the memory of their values.

    With `keep`, weights are as the layers have them (G, O, H*I), and what rows were multiplied by is kept in `factors`.
    """

    def __init__(
        self, launches: Launches, constants: PackedTensors, placed: Placed, x: Tensor, *, keep: bool = False
    ) -> None:
        self.launches = launches
        self.constants = constants
        self.placed = placed
        self.x = x
        self.batch = len(x)
        self.keep = keep
        empty, device = torch.empty, x.device
        self.slots: dict[int, Tables] = {}
        self.factors: dict[int, Tensor] = {}
        self.tables = dict(zip(launches.tables, constants.tables, strict=True))
        for width in launches.widths:
            rows = max(launches.num_slots.get(width, 0), 1) * self.batch
            self.slots[width] = Tables(
                empty((rows, width), device=device),
                empty(rows, dtype=torch.float64, device=device),
                empty(rows, device=device),
            )
            self.factors[width] = empty(rows if keep else 1, device=device)
        inputs = placed.inputs
        self.states = empty((inputs.num_discrete + 2, self.batch), dtype=torch.int64, device=device)
        self.points = empty((inputs.num_continuous, self.batch), device=device)
        self.flags = torch.zeros(2, dtype=torch.int32, device=device)
        self.processors = num_processors(device)

    def results(self, densities: Sequence[Values]) -> Results:
        """The outputs; `densities` are the values of the launches that PyTorch evaluates."""
        self._read()
        given = iter(densities)
        for launch, numbers, indices in zip(
            self.launches.launches, self.constants.numbers, self.placed.launches, strict=True
        ):
            match launch.kind:
                case Kind.GAUSSIAN:
                    self._gaussians(launch, numbers, indices)
                case Kind.DENSITY:
                    self._densities(launch, indices, next(given))
                case Kind.SUM:
                    self._sums(launch, numbers, indices)
                case Kind.TUCKER:
                    self._tuckers(launch, numbers, indices)
                case Kind.KRONECKER:
                    self._kroneckers(launch, indices)
                case Kind.REARRANGE:
                    self._rearrangements(launch, indices)
                case _:
                    self._mixtures(launch, numbers, indices)
        return self._write()

    def _read(self) -> None:
        inputs, rows, block = self.placed.inputs, len(self.placed.inputs.columns), 32
        grid = (blocks(self.batch, block), blocks(rows, block))
        launcher(kernels.read_inputs, grid)(
            self.x, inputs.columns, inputs.num_values, self.states, self.points, self.flags, self.batch,
            self.x.shape[1], inputs.num_discrete, inputs.num_continuous, BLOCK_ROWS=block, BLOCK_BATCH=block,
        )  # fmt: skip

    def _write(self) -> Results:
        outputs = self.launches.plan.outputs
        width = self.launches.plan.calls[outputs[0]].width
        found = torch.empty((self.batch, len(outputs), width), device=self.x.device)
        certified = torch.empty(self.batch, dtype=torch.int8, device=self.x.device)
        out, size = power_of_two(width), rows_beside(power_of_two(width), 32)
        launcher(kernels.write_outputs, (blocks(self.batch, size),))(
            self.placed.outputs, self.states, *self.read_of(width), found, certified, self.flags, self.batch,
            len(outputs), TOLERANCE, WIDTH=width, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip
        return found, certified, self.flags

    # ------------------------------------------------------------------ launches

    def _sums(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        weights, norms = numbers
        block_in = min(max(power_of_two(launch.in_width), MIN_BLOCK), MAX_IN)
        size, out, warps = self._matrix_blocks(launch)
        is_split = out < launch.width
        grid = (len(launch.members) * blocks(self.batch, size), blocks(launch.width, out))
        launcher(kernels.sums, grid)(
            indices.reads, self.states, weights, norms, *self.read_of(launch.widths[0]), indices.slots,
            *self._written(launch.width), self.batch, blocks(self.batch, size),
            _underflow(launch.in_width, launch.factors),
            WIDTH=launch.width, IN_WIDTH=launch.in_width, TERMS=launch.terms, FACTORS=launch.factors, SPLIT=is_split,
            KEEP=self.keep, BLOCK_BATCH=size, BLOCK_IN=block_in, BLOCK_OUT=out, PRECISION=PRECISION, num_warps=warps,
        )  # fmt: skip
        if is_split:
            self._rescale(launch, indices)

    def _tuckers(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        weights, norms = numbers
        left, right = launch.widths
        block_in = min(max(power_of_two(right), MIN_BLOCK), MAX_IN)
        size, out, warps = self._matrix_blocks(launch)
        is_split = out < launch.width
        grid = (len(launch.members) * blocks(self.batch, size), blocks(launch.width, out))
        launcher(kernels.tuckers, grid)(
            indices.reads, self.states, weights, norms, *self.read_of(left), *self.read_of(right), indices.slots,
            *self._written(launch.width), self.batch, blocks(self.batch, size),
            _underflow(launch.in_width, launch.factors),
            WIDTH=launch.width, LEFT=left, RIGHT=right, SPLIT=is_split, KEEP=self.keep,
            BLOCK_BATCH=size, BLOCK_IN=block_in, BLOCK_OUT=out, PRECISION=PRECISION, num_warps=warps,
        )  # fmt: skip
        if is_split:
            self._rescale(launch, indices)

    def _rescale(self, launch: Launch, indices: LaunchIndices) -> None:
        grid, size, out = self._row_blocks(launch)
        launcher(kernels.rescale, grid)(
            indices.slots, *self._written(launch.width), self.batch, blocks(self.batch, size),
            WIDTH=launch.width, KEEP=self.keep, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _kroneckers(self, launch: Launch, indices: LaunchIndices) -> None:
        left, right = launch.widths
        grid, size, out = self._row_blocks(launch)
        launcher(kernels.kroneckers, grid)(
            indices.reads, self.states, *self.read_of(left), *self.read_of(right), indices.slots,
            *self._written(launch.width)[:3], self.batch, blocks(self.batch, size),
            LEFT=left, RIGHT=right, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _rearrangements(self, launch: Launch, indices: LaunchIndices) -> None:
        grid, size, out = self._row_blocks(launch)
        launcher(kernels.rearrangements, grid)(
            indices.reads, self.states, indices.positions, *self.read_of(launch.in_width), indices.slots,
            *self._written(launch.width)[:3], self.batch, blocks(self.batch, size),
            WIDTH=launch.width, IN_WIDTH=launch.in_width, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _mixtures(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        weights, norms = numbers or (self.flags, self.flags)
        grid, size, out = self._row_blocks(launch)
        launcher(kernels.mixtures, grid)(
            indices.reads, self.states, weights, norms, *self.read_of(launch.widths[0]), indices.slots,
            *self._written(launch.width), self.batch, blocks(self.batch, size),
            _underflow(launch.terms, launch.factors),
            WIDTH=launch.width, TERMS=launch.terms, FACTORS=launch.factors, WEIGHTED=bool(numbers), KEEP=self.keep,
            BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _gaussians(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        means, factors, constants = numbers
        grid, size, out = self._row_blocks(launch)
        count = len(launch.variables)
        launcher(kernels.gaussians, grid)(
            indices.points, self.points, means, factors, constants, indices.slots, *self._written(launch.width)[:3],
            len(launch.members), self.batch, blocks(self.batch, size),
            WIDTH=launch.width, COUNT=count, MANY=count > MAX_DENSITIES, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _densities(self, launch: Launch, indices: LaunchIndices, found: Values) -> None:
        to = self.slots[launch.width]
        shape = (-1, self.batch)
        to.rows.view(*shape, launch.width)[indices.slots] = found.values
        to.scales.view(shape)[indices.slots] = found.scales
        to.bounds.view(shape)[indices.slots] = found.bounds

    # ------------------------------------------------------------------ arguments

    def read_of(self, width: int) -> tuple[Any, ...]:
        """Values, scales and bounds in slots, and the distances of tables from them, in numbers."""
        slots, tables = self.slots[width], self.tables.get(width)
        found = (slots.rows, slots.scales, slots.bounds)
        if tables is None:
            return (*found, 0, 0, 0)
        return (
            *found,
            *(distance(*pair) for pair in zip(found, (tables.rows, tables.scales, tables.bounds), strict=True)),
        )

    def _written(self, width: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        slots = self.slots[width]
        return slots.rows, slots.scales, slots.bounds, self.factors[width]

    def matrix_rows(self, programs: int, columns: int) -> int:
        """Return the rows of a block of a matrix product, for `programs` programs of one block of rows each."""
        return matrix_rows(self.batch, columns, programs, self.processors)

    def _matrix_blocks(self, launch: Launch) -> tuple[int, int, int]:
        """The rows and columns of a block of a sum, and the warps for it."""
        out = max(power_of_two(launch.width), MIN_BLOCK)
        if out > MAX_OUT:
            out = MAX_OUT // 2
        size = self.matrix_rows(len(launch.members) * blocks(launch.width, out), out)
        per_warp = PER_WARP_TUCKER if launch.kind is Kind.TUCKER else PER_WARP
        return size, out, min(max(size * out // per_warp, 1), 8)

    def _row_blocks(self, launch: Launch) -> tuple[tuple[int], int, int]:
        """The programs of an elementwise kernel, and the rows and columns of a block."""
        out = power_of_two(launch.width)
        size = min(rows_beside(out), power_of_two(self.batch))
        return (len(launch.members) * blocks(self.batch, size),), size, out


def _underflow(summands: int, factors: int) -> float:
    """Return what underflows in a sum: of products, of partial sums, and where a matrix product splits its factors."""
    return (4 + 2**factors) * (summands + 1) * SINGLE.smallest
