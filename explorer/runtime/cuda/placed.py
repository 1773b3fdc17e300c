"""What launches read and write, as integers on a device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.cuda.launches import Launches
from explorer.runtime.packed import columns_of, state_of
from explorer.runtime.units import Kind, num_states, units_read


class ReadRecord(NamedTuple):
    """A read of a unit by the kernels."""

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

    `units` are the positions (O) that a rearranging launch reads.
    """

    reads: Tensor
    slots: Tensor
    points: Tensor
    units: Tensor


@dataclass(frozen=True, eq=False)
class Placed:
    """What depends neither on x nor on parameters: inputs, launches, and the reads (outputs, 3) of the outputs."""

    inputs: Inputs
    launches: tuple[LaunchIndices, ...]
    outputs: Tensor


def place_launches(circuit: EvaluatedCircuit, launches: Launches, device: torch.device) -> Placed:
    """The indices of launches on a device."""
    units = launches.units
    columns = columns_of(circuit, units, units.read_tables)
    states = {pair: row for row, pair in enumerate(columns.discrete)} | {(-1, 1): len(columns.discrete)}
    points = {variable: row for row, variable in enumerate(columns.continuous)}
    starts: dict[int, int] = {}
    for tables in launches.tables.values():
        start = 0
        for number in tables:
            starts[number] = start
            start += num_states(circuit, units, number)

    def tensor(values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=device)

    def reads(numbers: Sequence[int]) -> Tensor:
        found: list[int] = []
        for number in numbers:
            if number in starts:
                found += ReadRecord(starts[number], states[state_of(circuit, units, number)], is_table=1)
            else:
                found += ReadRecord(launches.slots[number], len(columns.discrete) + 1, is_table=0)
        return tensor(found)

    of_launches = tuple(
        LaunchIndices(
            reads([one for number in launch.members for one in units.units[number].inputs]),
            tensor([launches.slots[number] for number in launch.members]),
            tensor([points[one] for number in launch.members for one in units.units[number].variables])
            if launch.kind is Kind.GAUSSIAN
            else tensor(()),
            tensor(units_read(circuit, units.units[launch.members[0]]) if launch.kind is Kind.REARRANGE else ()),
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
    return Placed(inputs, of_launches, reads(units.outputs))
