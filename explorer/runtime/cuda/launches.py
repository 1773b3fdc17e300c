"""Kernel calls in launches: calls of one shape and level are computed together; values are kept in slots by width.

What a launch reads and writes are integers on a device.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.errors import LoweringError
from explorer.runtime.packed import columns_of, state_of
from explorer.runtime.plan import OF_ONE_LAYER, Kind, Plan, SlotStep, num_states, slots_by_width, units_read

MAX_WIDTH = 8192
"""Maximum width of a call: a program of a kernel has whole rows."""

WITHOUT_KERNEL = (Kind.TENSOR_DOT,)

MIN_BLOCK = 16
"""The smallest side of a block for matrix products."""
MAX_BLOCK = 64
BLOCK_NUMBERS = 2048
"""Numbers of a block, if its columns leave enough rows: larger ones have no registers left."""
MAX_IN = 32
"""Summands per step: with 64, a kernel has no registers left, and takes 5 times longer."""
MAX_OUT = 256
"""A wider row of a sum is divided among programs."""
PROGRAMS_PER_PROCESSOR = 2
PER_WARP, PER_WARP_TUCKER = 512, 1024
"""Numbers of a block that a warp computes."""
PRECISION = "ieee"
"""The precision of matrix products: float32, not rounded to TF32."""
MAX_SHARED = 227 << 10
"""Bytes of shared memory of a program on an H100."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Calls of one shape that no other of them reads: one launch of a kernel.

    `widths` has the width of each factor of a term, the same for all terms. `variables` are by factor of a density.
    """

    kind: Kind
    width: int
    members: tuple[int, ...]
    terms: int
    widths: tuple[int, ...]
    variables: tuple[tuple[int, ...], ...]

    @property
    def factors(self) -> int:
        """The number of factors of a term."""
        return len(self.widths)

    @property
    def in_width(self) -> int:
        """The number of summands of a term: the width of its product."""
        if not self.widths:
            return self.width
        return self.widths[0] * self.widths[1] if self.kind in (Kind.TUCKER, Kind.KRONECKER) else self.widths[0]


@dataclass(frozen=True, eq=False)
class Launches:
    """The launches of a circuit in order.

    Each width has slots of its own; a later call gets a slot once no launch reads its value any more. `tables` are the
    tables that are read, by width.
    """

    plan: Plan
    launches: tuple[Launch, ...]
    slots: Mapping[int, int]
    num_slots: Mapping[int, int]
    tables: Mapping[int, tuple[int, ...]]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths of calls and of tables."""
        return tuple(dict.fromkeys((*self.num_slots, *self.tables)))

    def __repr__(self) -> str:
        return f"<Launches: {len(self.launches)} of {sum(len(launch.members) for launch in self.launches)} calls>"


def plan_launches(plan: Plan, *, keep: bool = False) -> Launches:
    """The launches of planned calls; with `keep` each call has a slot of its own, and its values stay.

    Raises: LoweringError for a kind of call that has no kernel, or a width above `MAX_WIDTH`.
    """
    for number, call in plan.computed():
        if call.kind in WITHOUT_KERNEL:
            raise LoweringError(f"there is no Triton kernel of kind {call.kind.value}, as for kernel call %{number}")
        if call.width > MAX_WIDTH:
            raise LoweringError(f"kernel call %{number} is {call.width} wide; Triton kernels take up to {MAX_WIDTH}")
    launches = tuple(_launch(plan, members) for members in _members(plan))
    widths = {number: call.width for number, call in plan.computed()}
    steps = [
        SlotStep(launch.members, [one for number in launch.members for one in plan.calls[number].inputs])
        for launch in launches
    ]
    by_width = slots_by_width(steps, widths, kept=widths if keep else plan.outputs)
    slots = {number: slot for found in by_width.values() for number, slot in found.items()}
    num_slots = {width: 1 + max(found.values()) for width, found in by_width.items()}
    tables: dict[int, list[int]] = {}
    for number in plan.read_tables:
        tables.setdefault(plan.calls[number].width, []).append(number)
    return Launches(plan, launches, slots, num_slots, {width: tuple(found) for width, found in tables.items()})


def _members(plan: Plan) -> Sequence[tuple[int, ...]]:
    """The calls of each launch, level by level, in the order of the folds that have their numbers."""
    levels: dict[int, int] = {}
    found: dict[tuple[object, ...], list[int]] = {}
    for number, call in plan.computed():
        level = levels[number] = 1 + max((levels.get(one, 0) for one in call.inputs), default=0)
        widths = tuple(plan.calls[one].width for one in call.inputs)
        layers = tuple((one.layer, one.part) for one in call.sources) if call.kind in OF_ONE_LAYER else ()
        key = (level, call.kind.value, call.width, call.terms, widths, len(call.variables), layers)
        found.setdefault(key, []).append(number)
    launches = [found[key] for key in sorted(found, key=lambda key: key[0])]  # pyright: ignore[reportArgumentType, reportCallIssue]

    def place(number: int) -> tuple[int, str, int]:
        source = plan.calls[number].sources[0]
        return source.layer, source.part, source.fold

    return [tuple(sorted(launch, key=place)) for launch in launches]


def _launch(plan: Plan, members: tuple[int, ...]) -> Launch:
    some = [plan.calls[number] for number in members]
    first = some[0]
    widths = tuple(plan.calls[one].width for one in first.inputs[: len(first.inputs) // first.terms])
    variables = tuple(zip(*(call.variables for call in some), strict=True))
    return Launch(first.kind, first.width, members, first.terms, widths, variables)


class ReadRecord(NamedTuple):
    """A read of a call by the kernels."""

    start: int
    """A slot, or the first row of a table."""
    variable: int
    """The row of `states`: the numbers of the rows of the batch for a slot, otherwise states of a variable."""
    is_table: int


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns of x: of discrete variables with their numbers of values, then two of none, then continuous ones."""

    columns: Tensor
    num_values: Tensor
    num_discrete: int
    num_continuous: int


@dataclass(frozen=True, eq=False)
class LaunchIndices:
    """The indices of a launch: its reads (G, H*C, 3), its slots (G), and the points (G, C) of densities.

    `positions` (O) are those that a rearranging launch reads.
    """

    reads: Tensor
    slots: Tensor
    points: Tensor
    positions: Tensor


@dataclass(frozen=True, eq=False)
class Placed:
    """Inputs, launches, and the reads (outputs, 3) of the outputs: they depend neither on x nor on parameters."""

    inputs: Inputs
    launches: tuple[LaunchIndices, ...]
    outputs: Tensor


def place_launches(circuit: EvaluatedCircuit, launches: Launches, device: torch.device) -> Placed:
    """The indices of launches on a device."""
    plan = launches.plan
    columns = columns_of(circuit, plan, plan.read_tables)
    states = {pair: row for row, pair in enumerate(columns.discrete)} | {(-1, 1): len(columns.discrete)}
    points = {variable: row for row, variable in enumerate(columns.continuous)}
    starts: dict[int, int] = {}
    for tables in launches.tables.values():
        start = 0
        for number in tables:
            starts[number] = start
            start += num_states(circuit, plan, number)

    def tensor(values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    def reads(numbers: Sequence[int]) -> Tensor:
        found: list[int] = []
        for number in numbers:
            if number in starts:
                found += ReadRecord(starts[number], states[state_of(circuit, plan, number)], is_table=1)
            else:
                found += ReadRecord(launches.slots[number], len(columns.discrete) + 1, is_table=0)
        return tensor(found)

    of_launches = tuple(
        LaunchIndices(
            reads([one for number in launch.members for one in plan.calls[number].inputs]),
            tensor([launches.slots[number] for number in launch.members]),
            tensor([points[one] for number in launch.members for one in plan.calls[number].variables])
            if launch.kind is Kind.GAUSSIAN
            else tensor(()),
            tensor(units_read(circuit, plan.calls[launch.members[0]]) if launch.kind is Kind.REARRANGE else ()),
        )
        for launch in launches.launches
    )
    counts = [count for _, count in columns.discrete]
    inputs = Inputs(
        tensor([*(column for column, _ in columns.discrete), 0, 0, *columns.continuous]),
        tensor([*counts, *[1] * (2 + len(columns.continuous))]),
        len(columns.discrete),
        len(columns.continuous),
    )
    return Placed(inputs, of_launches, reads(plan.outputs))


def matrix_rows(batch: int, columns: int, programs: int, processors: int) -> int:
    """The rows of a block of a matrix product: few where there are few programs of one block of rows each."""
    size = min(MAX_BLOCK, max(BLOCK_NUMBERS // columns, MIN_BLOCK), max(power_of_two(batch), MIN_BLOCK))
    while size > MIN_BLOCK and programs * blocks(batch, size) < PROGRAMS_PER_PROCESSOR * processors:
        size //= 2
    return size


def rows_beside(columns: int, most: int = MAX_BLOCK) -> int:
    """The rows of a block of an elementwise kernel."""
    return max(1, min(most, BLOCK_NUMBERS // columns))


def blocks(count: int, size: int) -> int:
    """Return the number of blocks of a size."""
    return -(-count // size)


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below a count."""
    return 1 << max(count - 1, 0).bit_length()


def num_processors(device: torch.device) -> int:
    """The number of multiprocessors of a device."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def shared_bytes(device: torch.device) -> int:
    """The shared memory that a program can have on a device; on the CPU, for tests, what the largest devices have."""
    if device.type != "cuda":
        return MAX_SHARED
    properties = torch.cuda.get_device_properties(device)
    return getattr(properties, "shared_memory_per_block_optin", properties.shared_memory_per_block)


def tucker_bytes(inputs: int, outputs: int) -> int:
    """The shared memory of the gradients of what a Tucker product reads: twice a matrix of weights, and its rows."""
    right, out = (max(power_of_two(width), MIN_BLOCK) for width in (inputs, outputs))
    return 8 * right * out + 64 * max(right, out) + 64


def distance(start: Tensor, stop: Tensor) -> int:
    """Return how many numbers lie between the first ones of two tensors of one type."""
    found, rest = divmod(stop.data_ptr() - start.data_ptr(), start.element_size())
    assert rest == 0, "memory is aligned"
    return found
