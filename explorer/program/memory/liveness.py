"""When each buffer is alive, and how many bytes are alive at most."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from explorer.program.ir.instructions import Call, Number, Role, Way, unstacked
from explorer.program.ir.program import Program
from explorer.program.ir.results import results_of
from explorer.program.ir.verify import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer is alive from moment `start` on, and no longer from moment `end` on.

    A moment is a call, copy or stack; moments are counted from 0. `size_bytes` is rounded up to the alignment.
    """

    buffer: int
    start: int
    end: int
    size_bytes: int
    device: torch.device

    def overlaps(self, other: "Lifetime") -> bool:
        """Whether both are alive at some moment, on one device."""
        return self.device == other.device and self.start < other.end and other.start < self.end


def aligned(size_bytes: int) -> int:
    """The number of bytes that a buffer of this size takes."""
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def lifetimes(program: Program) -> tuple[Lifetime, ...]:
    """The lifetime of each buffer, from its allocation to its deallocation, in the order of the allocations."""
    moments, positions = program.moments, program.positions
    found: list[Lifetime] = []
    for buffer, alloc in program.allocs.items():
        start = moments[positions[buffer]]
        dealloc = program.deallocs.get(buffer)
        end = moments[-1] if dealloc is None else moments[positions[dealloc.id]]
        end = max(end, start + 1)  # one that nothing uses takes its place all the same
        found.append(Lifetime(buffer, start, end, aligned(alloc.type.size_bytes), alloc.type.device))
    return tuple(found)


def peak_bytes(program: Program) -> int:
    """The most bytes that are alive at one moment: no plan of this program can need fewer."""
    found = lifetimes(program)
    devices = dict.fromkeys(one.device for one in found)
    return sum(max(live_bytes([one for one in found if one.device == device]), default=0) for device in devices)


def call_bytes(program: Program) -> int:
    """The most bytes that a call without a backward pass allocates.

    These are its buffers, its outputs, and the results of one call that are computed elsewhere and then copied.
    """
    buffers = [start + aligned(program.allocs[buffer].type.size_bytes) for buffer, start in program.offsets.items()]
    outputs = sum(weight.type.size_bytes for weight in program.with_role(Role.OUTPUT))
    calls = [call for one in program.instructions for call in unstacked(one) if isinstance(call, Call)]
    elsewhere = [_bytes_of_results(program, call) for call in calls if call.way is Way.COPIED]
    return (max(buffers, default=0) if buffers else peak_bytes(program)) + outputs + max(elsewhere, default=0)


def _bytes_of_results(program: Program, call: Call) -> int:
    kinds = tuple(v if isinstance(v, Number) else program.definitions[v].type for v in call.inputs)
    results = [result for result in results_of(call.op, kinds) if result is not None]
    return sum(result.type.size_bytes for result in results if result.source is None)


def live_bytes(found: Sequence[Lifetime]) -> list[int]:
    """The bytes of some buffers that are alive at each moment."""
    moments = max((one.end for one in found), default=0)
    change = [0] * (moments + 1)
    for one in found:
        change[one.start] += one.size_bytes
        change[one.end] -= one.size_bytes
    live: list[int] = []
    total = 0
    for step in change[:-1]:
        total += step
        live.append(total)
    return live
