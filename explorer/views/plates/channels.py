"""Lanes of channels: wires that share a channel are next to each other, in an order in which few of them cross."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, permutations
from math import inf
from operator import sub

APART = 8.0
"""Wires with less space than this between their ends do not share a lane."""
SAME = 3.0
"""Parts of two wires that are nearer to each other than this look like one line."""
COVERED = 100
"""An order in which a part of one wire covers a part of another is as bad as this number of crossings."""

Name = tuple[str, int]
"""The kind of a wire, and the position of its plate or link."""


@dataclass(slots=True)
class Wire:
    """A stretch along a channel.

    It leaves the channel at `low` on the side of the first lane, and at `high` on the side of the last one.
    """

    low: list[float] = field(default_factory=list[float])
    high: list[float] = field(default_factory=list[float])
    first: float = inf
    last: float = -inf

    def leave(self, at: float, *, low: bool) -> None:
        """Leave the channel at a position; lines that leave it together do so once."""
        side = self.low if low else self.high
        if at not in side:
            side.append(at)
        self.reach(at)

    def reach(self, at: float) -> None:
        """Go on to a position."""
        self.first, self.last = min(self.first, at), max(self.last, at)


def assign_lanes(wires: Mapping[Name, Wire]) -> dict[Name, int]:
    """Return the lane of each wire of a channel: wires that overlap are in different lanes, in the order found."""
    lanes: dict[Name, int] = {}
    for name in _fewest_crossings(wires):
        one = wires[name]
        below = [lane for other, lane in lanes.items() if overlap(one, wires[other], APART)]
        lanes[name] = max(below, default=-1) + 1
    return lanes


def _fewest_crossings(wires: Mapping[Name, Wire]) -> list[Name]:
    """Order wires from the first lane to the last: short ones first, then each is moved to where fewest lines cross."""
    order = sorted(wires, key=lambda name: wires[name].last - wires[name].first)
    costs = {(one, other): _crossings(wires[one], wires[other]) for one, other in permutations(order, 2)}
    is_done = False
    while not is_done:  # each move removes crossings
        is_done = True
        for name in list(order):
            before = order.index(name)
            others = [other for other in order if other != name]
            above = [costs[name, other] - costs[other, name] for other in others]
            totals = list(accumulate(above, sub, initial=sum(above)))  # those below a position are passed
            best = min(range(len(totals)), key=lambda at: (totals[at], abs(at - before)))
            if totals[best] < totals[before]:
                order = [*others[:best], name, *others[best:]]
                is_done = False
    return order


def overlap(one: Wire, other: Wire, apart: float) -> bool:
    """Return whether two wires in one lane would meet, or be less than `apart` from each other."""
    return one.first < other.last + apart and other.first < one.last + apart


def _crossings(lower: Wire, upper: Wire) -> int:
    """Count how often two wires cross or cover each other if the first one is in the lower lane."""
    if not overlap(lower, upper, SAME):
        return 0
    crossed = [upper.first - SAME < at < upper.last + SAME for at in lower.high]
    crossed += [lower.first - SAME < at < lower.last + SAME for at in upper.low]
    covered = sum(abs(at - there) < SAME for at in lower.high for there in upper.low)
    return sum(crossed) + COVERED * covered
