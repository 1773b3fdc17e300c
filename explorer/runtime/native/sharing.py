"""Which units each thread computes, where a batch has too few rows for a tile of each thread.

Threads that divide the rows of a tile read all weights and tables each. Threads that divide the units read them once:
units between which nothing is read, such as those of the quarters of an image, are computed side by side, and then the
few that read the results of several threads.
"""

from bisect import insort
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from explorer.backend import EvaluatedCircuit
from explorer.runtime.units import Kind, Units, with_slots
from explorer.runtime.work import measure_work

NS_PER_FLOP, NS_PER_BYTE, NS_PER_VALUE = 0.01, 0.04, 0.15
"""What units take on one thread of a server (Zen 4, 2026), nearly: the values are those that they read and write."""

MIN_NS = 1e5
"""Per thread: in calls that take less, threads would wait for each other longer than they compute."""

PARTS = 4
"""A part of the units costs at most one in so many of the equal share of a thread."""

MAX_SLOWDOWN = 1.15
"""What a thread computes at most, relative to an equal share."""

MAX_UNDIVIDED = 8
"""Units are a chain if what nothing reads, taken away so many times, has not divided them."""


@dataclass(frozen=True, slots=True)
class SharedUnits:
    """Units in the order of threads, and how many the first thread computes, the second, and so on, and all in the end.

    Those of a thread read nothing that others compute. The rest come last: threads divide the rows of these. All
    take about `ns_per_row` nanoseconds for a row, on one thread.
    """

    units: Units
    counts: tuple[int, ...]
    ns_per_row: float

    def pays(self, rows: int) -> bool:
        """Whether a call of some rows takes long enough for so many threads."""
        return rows * self.ns_per_row >= MIN_NS * (len(self.counts) - 1)


class Part(NamedTuple):
    """Units that read nothing of others but tables, and what they take."""

    cost: float
    units: set[int]


def share_units(units: Units, circuit: EvaluatedCircuit, rows: int, threads: int) -> SharedUnits | None:
    """The units of each thread for tiles of some rows; None if they cannot be divided well."""
    costs = _costs(units, circuit, rows)
    shares = _divide(units, costs, threads)
    return None if shares is None else _in_order(units, shares, sum(costs.values()) / rows)


def _costs(units: Units, circuit: EvaluatedCircuit, rows: int) -> Mapping[int, float]:
    """The nanoseconds of each computed unit, nearly."""
    work = measure_work(units, circuit, rows)
    widths = {number: unit.width for number, unit in units.units.items()}
    return {
        number: NS_PER_FLOP * work[number].flops
        + NS_PER_BYTE * work[number].num_bytes
        + NS_PER_VALUE * rows * (unit.width + sum(widths[one] for one in unit.inputs))
        for number, unit in units.computed()
    }


def _divide(units: Units, costs: Mapping[int, float], threads: int) -> list[set[int]] | None:
    """What each thread computes: the largest part is divided until none is large, and parts go to who has least."""
    total = sum(costs.values())
    parts = [Part(total, set(costs))]
    while parts[-1].cost > total / (threads * PARTS):
        found = _divide_part(units, parts.pop().units)
        if not found:
            return None
        for one in found:
            insort(parts, Part(sum(costs[number] for number in one), one), key=_size)
    shares = [Part(0, set()) for _ in range(threads)]
    for part in reversed(parts):
        least = min(range(threads), key=lambda thread: shares[thread].cost)
        shares[least] = Part(shares[least].cost + part.cost, shares[least].units | part.units)
    rest = total - sum(share.cost for share in shares)
    slowest = max(share.cost for share in shares) + rest / threads
    return None if slowest > MAX_SLOWDOWN * total / threads else [share.units for share in shares]


def _divide_part(units: Units, part: set[int]) -> list[set[int]]:
    """What a part falls into without the units that nothing in it reads, removed until it does; empty for a chain."""
    for _ in range(MAX_UNDIVIDED):
        part = {number for number in part if not part.isdisjoint(units.users[number])}
        found = _connected(units, part)
        if len(found) > 1:
            return found
    return []


def _size(part: Part) -> tuple[float, int]:
    return part.cost, -min(part.units)


def _connected(units: Units, part: Collection[int]) -> list[set[int]]:
    """The units of a part in sets that read nothing of each other."""
    left = set(part)
    found: list[set[int]] = []
    while left:
        waiting = [min(left)]
        left.discard(waiting[0])
        one: set[int] = set()
        while waiting:
            number = waiting.pop()
            one.add(number)
            near = left.intersection((*units.units[number].inputs, *units.users[number]))
            left -= near
            waiting.extend(near)
        found.append(one)
    return found


def _in_order(units: Units, shares: list[set[int]], ns_per_row: float) -> SharedUnits:
    """The units one share after the other, each in its order, and then the rest."""
    thread_of = {number: thread for thread, share in enumerate(shares) for number in share}
    last = len(shares)
    position = {number: at for at, number in enumerate(units.units)}

    def key(number: int) -> tuple[int, int]:
        is_table = units.units[number].kind is Kind.TABLE
        return (-1 if is_table else thread_of.get(number, last), position[number])

    order = {number: units.units[number] for number in sorted(units.units, key=key)}
    rest = sum(1 for number, _ in units.computed()) - len(thread_of)
    return SharedUnits(with_slots(replace(units, units=order), shares=shares), (*map(len, shares), rest), ns_per_row)
