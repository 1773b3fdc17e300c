"""Runs launches: the kernels, their arguments, and how a launch is divided into programs."""

from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor

from explorer.runtime.constants import SMALLEST, TOLERANCE
from explorer.runtime.cuda import kernels as triton_kernels
from explorer.runtime.cuda.launches import Launch, Launches
from explorer.runtime.cuda.placed import LaunchIndices, Placed
from explorer.runtime.grouped.constants import GroupConstants, Tables
from explorer.runtime.grouped.kernels import from_logarithms
from explorer.runtime.units import Kind

kernels: Any = triton_kernels
"""Called with a grid, for which their types have no place."""

MIN_BLOCK = 16
"""The smallest side of a block whose products are matrix products."""
MAX_BLOCK = 64
BLOCK_NUMBERS = 2048
"""Numbers of a block of sums, if its columns leave more than `MIN_BLOCK` rows: larger ones have no registers left."""
MAX_IN = 64
"""Summands whose products are computed at a time."""
MAX_OUT = 256
"""A wider row of a sum is divided among programs."""
MAX_DENSITIES = 16
"""Logarithms of more densities than that are added in double precision."""
PROGRAMS_PER_PROCESSOR = 2
PER_WARP, PER_WARP_TUCKER = 512, 1024
"""Numbers of a block that a warp computes."""
PRECISION = "ieee"
"""Of matrix products: float32, not rounded to TF32."""


Results = tuple[Tensor, Tensor, Tensor]
"""Logarithms (B, outputs, classes), which rows (B) are certified, and two flags.

The first flag is set if x has a value that a variable cannot have, the second if a row is not certified.
"""


def evaluate_launches(
    launches: Launches, constants: GroupConstants, placed: Placed, x: Tensor, densities: Sequence[Tensor]
) -> Results:
    """The outputs of a circuit; `densities` are the logarithms (G, B, K) of the launches that PyTorch evaluates."""
    return _Evaluation(launches, constants, placed, x).results(densities)


class _Evaluation:
    def __init__(self, launches: Launches, constants: GroupConstants, placed: Placed, x: Tensor) -> None:
        self.launches = launches
        self.constants = constants
        self.placed = placed
        self.x = x
        self.batch = len(x)
        empty, device = torch.empty, x.device
        self.slots: dict[int, Tables] = {}
        self.tables = dict(zip(launches.tables, constants.tables, strict=True))
        for width in launches.widths:
            rows = max(launches.num_slots.get(width, 0), 1) * self.batch
            self.slots[width] = Tables(
                empty((rows, width), device=device),
                empty(rows, dtype=torch.float64, device=device),
                empty(rows, device=device),
            )
        inputs = placed.inputs
        self.states = empty((inputs.num_discrete + 2, self.batch), dtype=torch.int64, device=device)
        self.points = empty((inputs.num_continuous, self.batch), device=device)
        self.flags = torch.zeros(2, dtype=torch.int32, device=device)
        self.processors = num_processors(device)

    def results(self, densities: Sequence[Tensor]) -> Results:
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
                case _:
                    self._mixtures(launch, numbers, indices)
        return self._write()

    def _read(self) -> None:
        inputs, rows, block = self.placed.inputs, len(self.placed.inputs.columns), 32
        grid = (_blocks(rows, block), _blocks(self.batch, block))
        kernels.read_inputs[grid](
            self.x, inputs.columns, inputs.num_values, self.states, self.points, self.flags, self.batch,
            self.x.shape[1], inputs.num_discrete, inputs.num_continuous, BLOCK_ROWS=block, BLOCK_BATCH=block,
        )  # fmt: skip

    def _write(self) -> Results:
        outputs = self.launches.units.outputs
        width = self.launches.units.units[outputs[0]].width
        found = torch.empty((self.batch, len(outputs), width), device=self.x.device)
        certified = torch.empty(self.batch, dtype=torch.int8, device=self.x.device)
        out, size = _power_of_two(width), _rows_beside(_power_of_two(width), 32)
        kernels.write_outputs[(_blocks(self.batch, size),)](
            self.placed.outputs, self.states, *self._read_of(width), found, certified, self.flags, self.batch,
            len(outputs), TOLERANCE, WIDTH=width, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip
        return found, certified, self.flags

    # ------------------------------------------------------------------ launches

    def _sums(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        weights, norms = numbers
        block_in = min(max(_power_of_two(launch.in_width), MIN_BLOCK), MAX_IN)
        size, out, warps = self._matrix_blocks(launch)
        is_split = out < launch.width
        grid = (len(launch.members) * _blocks(self.batch, size), _blocks(launch.width, out))
        kernels.sums[grid](
            indices.reads, self.states, weights, norms, *self._read_of(launch.widths[0]), indices.slots,
            *self._written(launch.width), self.batch, _blocks(self.batch, size),
            _underflow(launch.in_width, launch.factors),
            WIDTH=launch.width, IN_WIDTH=launch.in_width, TERMS=launch.terms, FACTORS=launch.factors, SPLIT=is_split,
            BLOCK_BATCH=size, BLOCK_IN=block_in, BLOCK_OUT=out, PRECISION=PRECISION, num_warps=warps,
        )  # fmt: skip
        if is_split:
            self._rescale(launch, indices)

    def _tuckers(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        weights, norms = numbers
        left, right = launch.widths
        block_in = min(max(_power_of_two(right), MIN_BLOCK), MAX_IN)
        size, out, warps = self._matrix_blocks(launch)
        is_split = out < launch.width
        grid = (len(launch.members) * _blocks(self.batch, size), _blocks(launch.width, out))
        kernels.tuckers[grid](
            indices.reads, self.states, weights, norms, *self._read_of(left), *self._read_of(right), indices.slots,
            *self._written(launch.width), self.batch, _blocks(self.batch, size),
            _underflow(launch.in_width, launch.factors),
            WIDTH=launch.width, LEFT=left, RIGHT=right, SPLIT=is_split,
            BLOCK_BATCH=size, BLOCK_IN=block_in, BLOCK_OUT=out, PRECISION=PRECISION, num_warps=warps,
        )  # fmt: skip
        if is_split:
            self._rescale(launch, indices)

    def _rescale(self, launch: Launch, indices: LaunchIndices) -> None:
        grid, size, out = self._row_blocks(launch)
        kernels.rescale[grid](
            indices.slots, *self._written(launch.width), self.batch, _blocks(self.batch, size),
            WIDTH=launch.width, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _kroneckers(self, launch: Launch, indices: LaunchIndices) -> None:
        left, right = launch.widths
        grid, size, out = self._row_blocks(launch)
        kernels.kroneckers[grid](
            indices.reads, self.states, *self._read_of(left), *self._read_of(right), indices.slots,
            *self._written(launch.width), self.batch, _blocks(self.batch, size),
            LEFT=left, RIGHT=right, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _mixtures(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        weights, norms = numbers or (self.flags, self.flags)
        grid, size, out = self._row_blocks(launch)
        kernels.mixtures[grid](
            indices.reads, self.states, weights, norms, *self._read_of(launch.widths[0]), indices.slots,
            *self._written(launch.width), self.batch, _blocks(self.batch, size),
            _underflow(launch.terms, launch.factors),
            WIDTH=launch.width, TERMS=launch.terms, FACTORS=launch.factors, WEIGHTED=bool(numbers),
            BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _gaussians(self, launch: Launch, numbers: Sequence[Tensor], indices: LaunchIndices) -> None:
        means, factors, constants = numbers
        grid, size, out = self._row_blocks(launch)
        count = len(launch.variables)
        kernels.gaussians[grid](
            indices.points, self.points, means, factors, constants, indices.slots, *self._written(launch.width),
            len(launch.members), self.batch, _blocks(self.batch, size),
            WIDTH=launch.width, COUNT=count, MANY=count > MAX_DENSITIES, BLOCK_BATCH=size, BLOCK_OUT=out,
        )  # fmt: skip

    def _densities(self, launch: Launch, indices: LaunchIndices, logarithms: Tensor) -> None:
        found, to = from_logarithms(logarithms), self.slots[launch.width]
        shape = (-1, self.batch)
        to.rows.view(*shape, launch.width)[indices.slots] = found.values
        to.scales.view(shape)[indices.slots] = found.scales
        to.bounds.view(shape)[indices.slots] = found.bounds

    # ------------------------------------------------------------------ arguments

    def _read_of(self, width: int) -> tuple[Any, ...]:
        """Values, scales and bounds in slots, and how far those of tables are from them, in numbers."""
        slots, tables = self.slots[width], self.tables.get(width)
        found = (slots.rows, slots.scales, slots.bounds)
        if tables is None:
            return (*found, 0, 0, 0)
        return (
            *found,
            *(_apart(*pair) for pair in zip(found, (tables.rows, tables.scales, tables.bounds), strict=True)),
        )

    def _written(self, width: int) -> tuple[Tensor, Tensor, Tensor]:
        slots = self.slots[width]
        return slots.rows, slots.scales, slots.bounds

    def _matrix_blocks(self, launch: Launch) -> tuple[int, int, int]:
        """The rows and columns of a block of a sum, and the warps for it: small ones where there are few units."""
        out = max(_power_of_two(launch.width), MIN_BLOCK)
        if out > MAX_OUT:
            out = MAX_OUT // 2
        size = min(MAX_BLOCK, max(BLOCK_NUMBERS // out, MIN_BLOCK), max(_power_of_two(self.batch), MIN_BLOCK))
        programs = len(launch.members) * _blocks(launch.width, out)
        while size > MIN_BLOCK and programs * _blocks(self.batch, size) < PROGRAMS_PER_PROCESSOR * self.processors:
            size //= 2
        per_warp = PER_WARP_TUCKER if launch.kind is Kind.TUCKER else PER_WARP
        return size, out, min(max(size * out // per_warp, 1), 8)

    def _row_blocks(self, launch: Launch) -> tuple[tuple[int], int, int]:
        """The programs of an elementwise kernel, and the rows and columns of a block."""
        out = _power_of_two(launch.width)
        size = min(_rows_beside(out, MAX_BLOCK), _power_of_two(self.batch))
        return (len(launch.members) * _blocks(self.batch, size),), size, out


def num_processors(device: torch.device) -> int:
    """The number of multiprocessors of a device."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def _apart(slots: Tensor, tables: Tensor) -> int:
    difference = tables.data_ptr() - slots.data_ptr()
    assert difference % slots.element_size() == 0, "memory is aligned"
    return difference // slots.element_size()


def _power_of_two(count: int) -> int:
    return triton.next_power_of_2(count)


def _rows_beside(out: int, most: int) -> int:
    """How many rows of a width a block has: 2,048 numbers."""
    return max(1, min(most, 2048 // out))


def _underflow(summands: int, factors: int) -> float:
    """What underflows in a sum: of products, of partial sums, and where a matrix product splits its factors."""
    return (4 + 2**factors) * (summands + 1) * SMALLEST


def _blocks(count: int, size: int) -> int:
    return -(-count // size)
