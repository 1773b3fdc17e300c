"""When each buffer is alive, and how many bytes are alive at most."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from explorer.program.ir.program import Program
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
