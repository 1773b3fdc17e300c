"""The evaluation of rows by several threads: each computes its own rows, or, of a batch for one tile, its own units.

Threads that divide the rows of a tile read all weights and tables each. Threads that divide the units read them once:
units between which nothing is read, such as those of the quarters of an image, are computed side by side, and then the
few that read the results of several threads.
"""

import ctypes
from bisect import insort
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.constants import TOLERANCE, Constants
from explorer.runtime.native.arrays import NativeArrays, make_arrays
from explorer.runtime.native.library import TILE_ROWS
from explorer.runtime.native.structures import NativeCall, NativeInput, NativeShare
from explorer.runtime.native.threads import THREAD_ROWS, call_in_threads, num_threads
from explorer.runtime.native.workspaces import Workspaces
from explorer.runtime.units import Kind, Plan, with_slots
from explorer.runtime.work import measure_work

NS_PER_FLOP, NS_PER_BYTE, NS_PER_VALUE = 0.01, 0.04, 0.15
"""The time of units on one thread of a server (Zen 4, 2026), nearly: the values are those that they read and write."""

MIN_NS = 1e5
"""Per thread: in calls that take less, threads would wait for each other longer than they compute."""

PARTS = 4
"""A part of the units costs at most 1/PARTS of a thread's equal share."""

MAX_SLOWDOWN = 1.15
"""Largest work of a thread, relative to an equal share."""

MAX_UNDIVIDED = 8
"""Treat units as a chain if peeling off unread units this many times does not split them."""


@dataclass(frozen=True, slots=True)
class SharedUnits:
    """Units in the order of threads, and how many the first thread computes, the second, and so on, and all in the end.

    Those of a thread read nothing that others compute. The rest come last: threads divide the rows of these. All
    take about `ns_per_row` nanoseconds for a row, on one thread.
    """

    units: Plan
    counts: tuple[int, ...]
    ns_per_row: float

    def pays(self, rows: int) -> bool:
        """Return whether a call of some rows takes long enough for these threads."""
        return rows * self.ns_per_row >= MIN_NS * (len(self.counts) - 1)


class Part(NamedTuple):
    """Units that read nothing of others but tables, and what they take."""

    cost: float
    units: set[int]


def share_units(units: Plan, circuit: EvaluatedCircuit, rows: int, threads: int) -> SharedUnits | None:
    """The units of each thread for tiles of some rows; None if they cannot be divided well."""
    costs = _costs(units, circuit, rows)
    shares = _divide(units, costs, threads)
    return None if shares is None else _in_order(units, shares, sum(costs.values()) / rows)


def _costs(units: Plan, circuit: EvaluatedCircuit, rows: int) -> Mapping[int, float]:
    """The nanoseconds of each computed unit, nearly."""
    work = measure_work(units, circuit, rows)
    widths = {number: unit.width for number, unit in units.calls.items()}
    return {
        number: NS_PER_FLOP * work[number].flops
        + NS_PER_BYTE * work[number].num_bytes
        + NS_PER_VALUE * rows * (unit.width + sum(widths[one] for one in unit.inputs))
        for number, unit in units.computed()
    }


def _divide(units: Plan, costs: Mapping[int, float], threads: int) -> list[set[int]] | None:
    """Divide the largest part until none is large; each part goes to the thread that has least."""
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


def _divide_part(units: Plan, part: set[int]) -> list[set[int]]:
    """Split a part by peeling off its unread units; empty for a chain."""
    for _ in range(MAX_UNDIVIDED):
        part = {number for number in part if not part.isdisjoint(units.users[number])}
        found = _connected(units, part)
        if len(found) > 1:
            return found
    return []


def _size(part: Part) -> tuple[float, int]:
    return part.cost, -min(part.units)


def _connected(units: Plan, part: Collection[int]) -> list[set[int]]:
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
            near = left.intersection((*units.calls[number].inputs, *units.users[number]))
            left -= near
            waiting.extend(near)
        found.append(one)
    return found


def _in_order(units: Plan, shares: list[set[int]], ns_per_row: float) -> SharedUnits:
    """The units one share after the other, each in its order, and then the rest."""
    thread_of = {number: thread for thread, share in enumerate(shares) for number in share}
    last = len(shares)
    position = {number: at for at, number in enumerate(units.calls)}

    def key(number: int) -> tuple[int, int]:
        is_table = units.calls[number].kind is Kind.TABLE
        return (-1 if is_table else thread_of.get(number, last), position[number])

    order = {number: units.calls[number] for number in sorted(units.calls, key=key)}
    rest = sum(1 for number, _ in units.computed()) - len(thread_of)
    return SharedUnits(with_slots(replace(units, calls=order), shares=shares), (*map(len, shares), rest), ns_per_row)


Found = tuple[Tensor, Tensor]
"""Outputs (B, outputs, classes), and for each row whether it is certified."""

MAX_DIVISIONS = 64
"""Maximum number of divisions that are kept: a program has few sizes of batches."""


class UnitShares:
    """The units of each of several threads, decided once for each number of threads."""

    def __init__(self, units: Plan, circuit: EvaluatedCircuit) -> None:
        self.units = units
        self.circuit = circuit
        self._found: dict[int, SharedUnits | None] = {}

    def for_threads(self, threads: int, rows: int) -> SharedUnits | None:
        """The units of threads for a call of some rows; None if dividing the rows is faster."""
        if threads == 1 or not THREAD_ROWS <= rows <= TILE_ROWS:
            return None
        if threads not in self._found:
            self._found[threads] = share_units(self.units, self.circuit, TILE_ROWS, threads)
        found = self._found[threads]
        return found if found is not None and found.pays(rows) else None


@dataclass(frozen=True, eq=False)
class SharedArrays:
    """The arrays of units that threads share, and where those of each thread begin and end; the rest come last."""

    arrays: NativeArrays
    stops: Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Division:
    """The work of each thread for some rows, and the memory that they need.

    `values_bytes` are for the values of all threads; `values_stride` is from those of one thread to the next, or 0 if
    the threads share them; `scratch_bytes` are for each thread in addition.
    """

    arrays: NativeArrays
    shares: ctypes.Array[NativeShare]
    threads: int
    values_bytes: int
    values_stride: int
    scratch_bytes: int


@dataclass(frozen=True, eq=False)
class Kernels:
    """A library, and what it reads of the parameters at some time; without `sharing`, threads always divide rows."""

    library: ctypes.CDLL
    constants: Constants
    arrays: NativeArrays
    sharing: UnitShares | None
    shared: dict[int, SharedArrays] = field(init=False, default_factory=dict[int, SharedArrays])
    """The arrays for numbers of threads, made when they are first needed."""
    divisions: dict[tuple[int, int], Division] = field(init=False, default_factory=dict[tuple[int, int], Division])
    """The divisions for numbers of threads and of rows, likewise."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of its numbers."""
        return self.constants.floats.dtype

    def evaluate(self, given: NativeInput, rows: int, workspaces: Workspaces) -> Found | None:
        """The outputs for some rows; None if a variable has a value that it cannot have."""
        native = self.arrays.native
        result = torch.empty((rows, native.num_outputs, native.output_units), dtype=torch.float32, device="cpu")
        certified = torch.empty(rows, dtype=torch.bool, device="cpu")
        division = self._division(rows)
        memory = workspaces.borrow(division.values_bytes + division.scratch_bytes * division.threads)
        address = memory.ctypes.data
        call = NativeCall(
            circuit=ctypes.addressof(division.arrays.native),
            input=ctypes.addressof(given),
            shares=ctypes.addressof(division.shares),
            num_shares=len(division.shares),
            values=address,
            values_stride=division.values_stride,
            scratch=address + division.values_bytes,
            scratch_stride=division.scratch_bytes,
            num_threads=division.threads,
            result=result.data_ptr(),
            certified=certified.data_ptr(),
            tolerance=TOLERANCE,
        )
        call.kept = (self, division, given, memory, result, certified)  # threads may outlive an interrupted call
        call_in_threads(self.library.take_shares, call, division.threads)
        workspaces.give_back(memory)
        return None if call.is_bad else (result, certified)

    def memory(self, rows: int) -> int:
        """The bytes for the values of a tile of some rows, on one thread."""
        return sum(_sizes(self.library, self.arrays, min(rows, TILE_ROWS)))

    def _division(self, rows: int) -> Division:
        """Return the division of some rows among the threads; decided once for each number of rows."""
        key = torch.get_num_threads(), rows
        found = self.divisions.get(key)
        if found is None:
            if len(self.divisions) >= MAX_DIVISIONS:
                self.divisions.clear()
            found = self.divisions[key] = self._divide(*key)
        return found

    def _divide(self, available: int, rows: int) -> Division:
        shared = self._shared(available, rows)
        threads = num_threads(rows) if shared is None else len(shared.stops) - 1
        arrays = self.arrays if shared is None else shared.arrays
        shares = _divide_rows(arrays, rows, threads) if shared is None else _divide_units(shared, rows)
        size, scratch_bytes = _sizes(self.library, arrays, max(share.rows for share in shares))
        values_bytes, values_stride = (size * threads, size) if shared is None else (size, 0)
        return Division(arrays, shares, threads, values_bytes, values_stride, scratch_bytes)

    def _shared(self, threads: int, rows: int) -> SharedArrays | None:
        """The arrays of units that threads share in a call of some rows; None if threads divide the rows."""
        units = None if self.sharing is None else self.sharing.for_threads(threads, rows)
        if self.sharing is None or units is None:
            return None
        if threads not in self.shared:
            arrays = make_arrays(self.sharing.circuit, self.constants, units.units)
            self.shared[threads] = SharedArrays(arrays, tuple(pairwise(accumulate(units.counts, initial=0))))
        return self.shared[threads]


def _sizes(library: ctypes.CDLL, arrays: NativeArrays, rows: int) -> tuple[int, int]:
    """Return the bytes for the values of a tile, and those that each thread needs in addition."""
    native = ctypes.byref(arrays.native)
    return library.values_bytes(native, rows), library.scratch_bytes(native, rows)


def _divide_rows(arrays: NativeArrays, rows: int, threads: int) -> ctypes.Array[NativeShare]:
    """As many tiles for each thread, each with all units."""
    tiles = threads * -(-rows // (threads * TILE_ROWS))
    units = arrays.native.num_units
    shares = [
        NativeShare(first=first, rows=some, stop_row=some, stop_unit=units, reads=1, writes=1)
        for first, some in _equal_parts(rows, tiles)
    ]
    return _shares(shares)


def _divide_units(shared: SharedArrays, rows: int) -> ctypes.Array[NativeShare]:
    """The variables of some rows for each thread, then units of its own, then the rest of the units for some rows."""
    parts = [{"start_row": first, "stop_row": first + some} for first, some in _equal_parts(rows, num_threads(rows))]
    *own, rest = ({"start_unit": start, "stop_unit": stop} for start, stop in shared.stops)
    read = [NativeShare(rows=rows, **part, reads=1) for part in parts]
    computed = [NativeShare(rows=rows, stop_row=rows, **units, after=len(read)) for units in own]
    written = [NativeShare(rows=rows, **part, **rest, writes=1, after=len(read) + len(computed)) for part in parts]
    return _shares([*read, *computed, *written])


def _equal_parts(rows: int, count: int) -> list[tuple[int, int]]:
    """The first row and the number of rows of each part."""
    size = max(1, -(-rows // count))
    return [(first, min(size, rows - first)) for first in range(0, rows, size)]


def _shares(given: Sequence[NativeShare]) -> ctypes.Array[NativeShare]:
    return (NativeShare * len(given))(*given)
