"""The memory plan: a place for each buffer, such that buffers that are alive at one moment share no byte.

Finding the smallest plan is NP-hard (Buchsbaum et al. 2003, OPT versus LOAD in dynamic storage allocation). As PyTorch's
and TensorFlow's planners do, each buffer in some order goes into the lowest gap that it fits in; here several orders
are tried, and the smallest plan wins.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.program.ir.program import Program
from explorer.program.memory.liveness import Lifetime, lifetimes, peak_bytes

Order = Callable[[Lifetime], tuple[int, ...]]

ORDERS: dict[str, Order] = {
    "largest first": lambda one: (-one.size_bytes, one.start, one.buffer),
    "largest bytes times moments first": lambda one: (-one.size_bytes * (one.end - one.start), one.start, one.buffer),
    "longest first": lambda one: (one.start - one.end, -one.size_bytes, one.buffer),
    "first come first": lambda one: (one.start, -one.size_bytes, one.buffer),
    "last come first": lambda one: (-one.end, -one.size_bytes, one.buffer),
}
"""The orders in which buffers are placed."""


@dataclass(frozen=True)
class MemoryPlan:
    """A place for each buffer, in bytes; `order` is the one that gave the smallest plan.

    `lower_bound_bytes` is what is alive at the fullest moment: no plan is smaller.
    """

    offsets: dict[int, int]
    size_bytes: int
    lower_bound_bytes: int
    order: str


def plan_memory(program: Program) -> MemoryPlan:
    """The smallest plan that was found."""
    found = lifetimes(program)
    devices = list(dict.fromkeys(one.device for one in found))
    bound = peak_bytes(program)
    best: MemoryPlan | None = None
    for name, order in ORDERS.items():
        offsets: dict[int, int] = {}
        size = 0
        for device in devices:
            placed, used = _place([one for one in found if one.device == device], order)
            offsets |= placed
            size += used
        if best is None or size < best.size_bytes:
            best = MemoryPlan(offsets, size, bound, name)
        if best.size_bytes == bound:
            break
    return best if best is not None else MemoryPlan({}, 0, 0, "")


def _place(found: Sequence[Lifetime], order: Order) -> tuple[dict[int, int], int]:
    """Each buffer in the lowest gap between those that are placed and alive with it; the places, and the size."""
    offsets: dict[int, int] = {}
    by_moment: list[list[Lifetime]] = [[] for _ in range(max((one.end for one in found), default=0))]
    size = 0
    for one in sorted(found, key=order):
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
