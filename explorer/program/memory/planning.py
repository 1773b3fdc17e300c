"""Lifetimes of buffers, and the memory plan: an offset for each, so that buffers that are alive together share no byte.

Finding the smallest plan is NP-hard (Buchsbaum et al. 2003, OPT versus LOAD in dynamic storage allocation). As in the
planners of PyTorch and TensorFlow Lite, each buffer in some order goes into the lowest gap that it fits in. All buffers
of a device share one block of memory, often called an arena. Buffers
are first placed as they come, as an allocator would, which takes linear time. If that is not optimal, several orders
are tried; then the best of their plans are repaired: the buffers at the top are placed first, as long as that may help.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import torch

from explorer.program.ir.instructions import Call, Number, Role, Way, calls_of
from explorer.program.ir.program import Program
from explorer.program.ir.results import results_of
from explorer.program.ir.verify import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer is alive from moment `start` on, and no longer from moment `end` on.

    A moment is a call, copy or stack, counted from 0. `size_bytes` is rounded up to the alignment.
    """

    buffer: int
    start: int
    end: int
    size_bytes: int
    device: torch.device

    def overlaps(self, other: "Lifetime") -> bool:
        """Return whether both are alive at some moment, on one device."""
        return self.device == other.device and self.start < other.end and other.start < self.end


def align(size_bytes: int) -> int:
    """Round up a size to the alignment."""
    return -(-size_bytes // ALIGNMENT) * ALIGNMENT


def lifetimes(program: Program) -> tuple[Lifetime, ...]:
    """Return the lifetime of each buffer, from allocation to deallocation, in the order of the allocations."""
    moments, positions = program.moments, program.positions
    found: list[Lifetime] = []
    for buffer, alloc in program.allocs.items():
        start = moments[positions[buffer]]
        dealloc = program.deallocs.get(buffer)
        end = moments[-1] if dealloc is None else moments[positions[dealloc.id]]
        end = max(end, start + 1)  # an unused buffer needs memory all the same
        found.append(Lifetime(buffer, start, end, align(alloc.type.size_bytes), alloc.type.device))
    return tuple(found)


def peak_bytes(program: Program) -> int:
    """Return the maximum of the bytes alive at one moment: no plan of this program can need fewer."""
    found = lifetimes(program)
    devices = dict.fromkeys(one.device for one in found)
    return sum(max(live_bytes([one for one in found if one.device == device]), default=0) for device in devices)


def call_bytes(program: Program) -> int:
    """Return the maximum of the bytes that a call without a backward pass allocates.

    It allocates its buffers, its outputs, and the results of one call that are computed elsewhere and then copied.
    """
    buffers = [start + align(program.allocs[buffer].type.size_bytes) for buffer, start in program.offsets.items()]
    outputs = sum(weight.type.size_bytes for weight in program.with_role(Role.OUTPUT))
    calls = [call for one in program.instructions for call in calls_of(one) if isinstance(call, Call)]
    elsewhere = [_bytes_of_results(program, call) for call in calls if call.way is Way.COPIED]
    return (max(buffers, default=0) if buffers else peak_bytes(program)) + outputs + max(elsewhere, default=0)


def _bytes_of_results(program: Program, call: Call) -> int:
    kinds = tuple(v if isinstance(v, Number) else program.definitions[v].type for v in call.inputs)
    results = [result for result in results_of(call.op, kinds) if result is not None]
    return sum(result.type.size_bytes for result in results if result.source is None)


def live_bytes(found: Sequence[Lifetime]) -> list[int]:
    """Count the bytes of some buffers that are alive at each moment."""
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


Order = Callable[[Lifetime], tuple[int, ...]]
Placing = tuple[dict[int, int], int]
"""An offset for each buffer, and the size of the whole."""

ORDERS: tuple[Order, ...] = (
    lambda one: (-one.size_bytes, one.start, one.buffer),
    lambda one: (-one.size_bytes * (one.end - one.start), one.start, one.buffer),
    lambda one: (one.start - one.end, -one.size_bytes, one.buffer),
    lambda one: (-one.end, -one.size_bytes, one.buffer),
)
"""Orders in which buffers are placed: the largest first, the longest lived first, and from the end.

One more order begins with the buffers that are alive at the fullest moment.
"""

MAX_REPAIRED = 3
"""Number of the smallest plans that are repaired: any of them may end as the smallest one."""

MAX_REPAIRS = 40
"""Maximum number of repairs of a plan."""

MAX_LIVE_PAIRS = 100_000
"""Maximum number of pairs of live buffers; beyond it, other orders are not tried, as each takes that many steps."""


@dataclass(frozen=True)
class MemoryPlan:
    """The offset of each buffer, in bytes; `lower_bound_bytes` are alive at the fullest moment, so no plan is smaller.

    Without `is_searched` there were too many buffers to try orders other than the allocations'.
    """

    offsets: dict[int, int]
    size_bytes: int
    lower_bound_bytes: int
    is_searched: bool = True


def plan_memory(program: Program) -> MemoryPlan:
    """Search for the smallest plan."""
    found = lifetimes(program)
    offsets: dict[int, int] = {}
    size, is_searched = 0, True
    for device in dict.fromkeys(one.device for one in found):
        (placed, used), was_searched = _smallest([one for one in found if one.device == device])
        offsets |= placed
        size += used
        is_searched = is_searched and was_searched
    return MemoryPlan(offsets, size, peak_bytes(program), is_searched)


def _smallest(found: Sequence[Lifetime]) -> tuple[Placing, bool]:
    """Place the buffers of a device; also return whether other orders were tried if that may help."""
    order: Sequence[Lifetime] = sorted(found, key=lambda one: (one.start, -one.size_bytes, one.buffer))
    live = live_bytes(found)
    bound = max(live, default=0)
    best = _place_as_they_come(order)
    if best[1] == bound:
        return best, True
    neighbors = _neighbors(order)
    if neighbors is None:
        return best, False
    return _search(order, best, live.index(bound), bound, neighbors), True


def _search(
    found: Sequence[Lifetime], best: Placing, fullest: int, bound: int, neighbors: Mapping[int, list[Lifetime]]
) -> Placing:
    """Return the smallest placing in several orders; `bound` bytes are alive at the moment `fullest`."""

    def fullest_first(one: Lifetime) -> tuple[int, ...]:
        return (not one.start <= fullest < one.end, one.start - one.end, -one.size_bytes, one.buffer)

    candidates: list[tuple[Placing, Sequence[Lifetime]]] = []
    for key in (*ORDERS, fullest_first):
        order = sorted(found, key=key)
        placing = _place(order, neighbors)
        if placing[1] == bound:
            return placing
        candidates.append((placing, order))
    candidates.sort(key=lambda one: one[0][1])
    for placing, order in candidates[:MAX_REPAIRED]:
        best = min(best, placing, _repair(order, placing, bound, neighbors), key=lambda one: one[1])
        if best[1] == bound:
            break
    return best


def _repair(
    order: Sequence[Lifetime], placing: Placing, bound: int, neighbors: Mapping[int, list[Lifetime]]
) -> Placing:
    """Place the buffers at the top of the previous placing first, repeatedly, and return the smallest placing."""
    best, seen = placing, set[tuple[int, ...]]()
    for _ in range(MAX_REPAIRS):
        offsets, size = placing
        on_top = {one.buffer: one for one in order if offsets[one.buffer] + one.size_bytes == size}
        order = [*on_top.values(), *(one for one in order if one.buffer not in on_top)]
        names = tuple(one.buffer for one in order)
        if names in seen:
            break
        seen.add(names)
        placing = _place(order, neighbors)
        best = min(best, placing, key=lambda one: one[1])
        if best[1] == bound:
            break
    return best


def _place_as_they_come(order: Sequence[Lifetime]) -> Placing:
    """Place each buffer, by its start, into the lowest gap that fits; freed memory becomes a gap, and gaps merge."""
    offsets: dict[int, int] = {}
    live: list[tuple[int, int, int]] = []
    """End, first byte and size of the live buffers, by their end."""
    gaps: list[tuple[int, int]] = []
    top = size = 0
    for one in order:
        while live and live[0][0] <= one.start:
            _, start, length = heappop(live)
            top = _free(gaps, start, start + length, top)
        place = next((i for i, (start, end) in enumerate(gaps) if end - start >= one.size_bytes), None)
        if place is None:
            start, top = top, top + one.size_bytes
        else:
            start, end = gaps[place]
            rest = (start + one.size_bytes, end)
            gaps[place : place + 1] = [rest] if rest[0] < end else []
        offsets[one.buffer] = start
        size = max(size, top)
        heappush(live, (one.end, start, one.size_bytes))
    return offsets, size


def _free(gaps: list[tuple[int, int]], start: int, end: int, top: int) -> int:
    """Add a gap to the sorted gaps below `top`; return the new top, below which some byte is in use."""
    place = bisect_left(gaps, (start, end))
    if place < len(gaps) and gaps[place][0] == end:
        end = gaps.pop(place)[1]
    if place and gaps[place - 1][1] == start:
        place -= 1
        start = gaps.pop(place)[0]
    if end == top:
        return start
    if start < end:
        gaps.insert(place, (start, end))
    return top


def _neighbors(order: Sequence[Lifetime]) -> Mapping[int, list[Lifetime]] | None:
    """Return the buffers that are alive together with each buffer; None for too many pairs."""
    found: dict[int, list[Lifetime]] = {}
    live: list[Lifetime] = []
    pairs = 0
    for one in order:
        live = [other for other in live if other.end > one.start]
        pairs += len(live)
        if pairs > MAX_LIVE_PAIRS:
            return None
        found[one.buffer] = list(live)
        for other in live:
            found[other.buffer].append(one)
        live.append(one)
    return found


def _place(order: Sequence[Lifetime], neighbors: Mapping[int, list[Lifetime]]) -> Placing:
    """Place each buffer into the lowest gap between the placed buffers that are alive together with it."""
    offsets: dict[int, int] = {}
    size = 0
    for one in order:
        near = [(offsets[other.buffer], other.size_bytes) for other in neighbors[one.buffer] if other.buffer in offsets]
        place = 0
        for start, length in sorted(near):
            if place + one.size_bytes <= start:
                break
            place = max(place, start + length)
        offsets[one.buffer] = place
        size = max(size, place + one.size_bytes)
    return offsets, size
