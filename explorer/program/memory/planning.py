"""The memory plan: a place for each buffer, such that buffers that are alive at one moment share no byte.

Finding the smallest plan is NP-hard (Buchsbaum et al. 2003, OPT versus LOAD in dynamic storage allocation). As in the
planners of PyTorch and TensorFlow Lite, each buffer in some order goes into the lowest gap that it fits in. Here
several orders are tried; then the buffers at the top of the best plan are placed first, as long as that may help.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.program.ir.program import Program
from explorer.program.memory.liveness import Lifetime, lifetimes, live_bytes, peak_bytes

Order = Callable[[Lifetime], tuple[int, ...]]
Placing = tuple[dict[int, int], int]
"""A place for each buffer, and the size of all."""

ORDERS: tuple[Order, ...] = (
    lambda one: (-one.size_bytes, one.start, one.buffer),
    lambda one: (-one.size_bytes * (one.end - one.start), one.start, one.buffer),
    lambda one: (one.start - one.end, -one.size_bytes, one.buffer),
    lambda one: (one.start, -one.size_bytes, one.buffer),
    lambda one: (-one.end, -one.size_bytes, one.buffer),
)
"""The orders in which buffers are placed: the largest first, the longest lived first, as they come, and the reverse."""

MAX_REPAIRS = 50
"""How often the buffers at the top of a plan are placed first."""


@dataclass(frozen=True)
class MemoryPlan:
    """A place for each buffer, in bytes; `lower_bound_bytes` is alive at the fullest moment, so no plan is smaller."""

    offsets: dict[int, int]
    size_bytes: int
    lower_bound_bytes: int


def plan_memory(program: Program) -> MemoryPlan:
    """The smallest plan that was found."""
    found = lifetimes(program)
    offsets: dict[int, int] = {}
    size = 0
    for device in dict.fromkeys(one.device for one in found):
        here = [one for one in found if one.device == device]
        placed, used = _smallest(here, max(live_bytes(here), default=0))
        offsets |= placed
        size += used
    return MemoryPlan(offsets, size, peak_bytes(program))


def _smallest(found: Sequence[Lifetime], bound: int) -> Placing:
    """The smallest placing of the buffers of a device; `bound` is what is alive at the fullest moment."""
    best: Placing | None = None
    best_order: list[Lifetime] = []
    for key in ORDERS:
        order = sorted(found, key=key)
        placing = _place(order)
        if best is None or placing[1] < best[1]:
            best, best_order = placing, order
        if best[1] == bound:
            return best
    assert best is not None
    order, placing, seen = best_order, best, set[tuple[int, ...]]()
    for _ in range(MAX_REPAIRS):
        offsets, size = placing
        on_top = [one for one in order if offsets[one.buffer] + one.size_bytes == size]
        order = [*on_top, *(one for one in order if one not in on_top)]
        names = tuple(one.buffer for one in order)
        if names in seen:
            break
        seen.add(names)
        placing = _place(order)
        best = min(best, placing, key=lambda found: found[1])
        if best[1] == bound:
            break
    return best


def _place(order: Sequence[Lifetime]) -> Placing:
    """Each buffer in the lowest gap between those that are placed and alive with it; the places, and the size."""
    offsets: dict[int, int] = {}
    by_moment: list[list[Lifetime]] = [[] for _ in range(max((one.end for one in order), default=0))]
    size = 0
    for one in order:
        near = {other.buffer: other for moment in range(one.start, one.end) for other in by_moment[moment]}
        place = 0
        for other in sorted(near.values(), key=lambda other: offsets[other.buffer]):
            if place + one.size_bytes <= offsets[other.buffer]:
                break
            place = max(place, offsets[other.buffer] + other.size_bytes)
        offsets[one.buffer] = place
        size = max(size, place + one.size_bytes)
        for moment in range(one.start, one.end):
            by_moment[moment].append(one)
    return offsets, size
