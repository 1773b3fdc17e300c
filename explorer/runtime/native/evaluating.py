"""The evaluation by several threads: each computes its own rows, or, of a batch for one tile, its own kernel calls.

Threads that divide the rows of a tile read all weights and tables each. Threads that divide the calls read them once:
calls between which nothing is read, such as of two quarters of an image, are computed side by side, and then the
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
from explorer.runtime.memory import Workspaces
from explorer.runtime.native.arrays import NativeArrays, make_arrays
from explorer.runtime.native.library import TILE_ROWS
from explorer.runtime.native.structures import NativeEvaluationCall, NativeInput, NativeShare
from explorer.runtime.native.threads import THREAD_ROWS, call_in_threads, num_threads
from explorer.runtime.plan import Kind, Plan, with_slots
from explorer.runtime.work import measure_work

NS_PER_FLOP, NS_PER_BYTE, NS_PER_VALUE = 0.01, 0.04, 0.15
"""The time of kernel calls on one thread of a server (Zen 4, 2026), nearly; values are what they read and write."""

MIN_NS = 1e5
"""Per thread: in evaluations that take less, threads would wait for each other longer than they compute."""

PARTS = 4
"""A part of the kernel calls costs at most 1/PARTS of a thread's equal share."""

MAX_SLOWDOWN = 1.15
"""Largest work of a thread, relative to an equal share."""

MAX_UNDIVIDED = 8
"""Treat kernel calls as a chain if peeling off unread calls this many times does not split them."""


@dataclass(frozen=True, slots=True)
class SharedCalls:
    """Calls in the order of threads, and how many the first thread computes, the second, and so on, and all in the end.

    The calls of a thread read nothing that other threads compute. The rest come last: threads divide their rows. All
    take about `ns_per_row` nanoseconds for a row, on one thread.
    """

    plan: Plan
    counts: tuple[int, ...]
    ns_per_row: float

    def pays(self, rows: int) -> bool:
        """Return whether an evaluation of some rows takes long enough for these threads."""
        return rows * self.ns_per_row >= MIN_NS * (len(self.counts) - 1)


class Part(NamedTuple):
    """Calls that read nothing of others but tables, and what they take."""

    cost: float
    calls: set[int]


def share_calls(plan: Plan, circuit: EvaluatedCircuit, rows: int, threads: int) -> SharedCalls | None:
    """The calls of each thread for tiles of some rows; None if they cannot be divided well."""
    costs = _costs(plan, circuit, rows)
    shares = _divide(plan, costs, threads)
    return None if shares is None else _in_order(plan, shares, sum(costs.values()) / rows)


def _costs(plan: Plan, circuit: EvaluatedCircuit, rows: int) -> Mapping[int, float]:
    """The nanoseconds of each computed call, nearly."""
    work = measure_work(plan, circuit, rows)
    widths = {number: call.width for number, call in plan.calls.items()}
    return {
        number: NS_PER_FLOP * work[number].flops
        + NS_PER_BYTE * work[number].num_bytes
        + NS_PER_VALUE * rows * (call.width + sum(widths[one] for one in call.inputs))
        for number, call in plan.computed()
    }


def _divide(plan: Plan, costs: Mapping[int, float], threads: int) -> list[set[int]] | None:
    """Divide the largest part until none is large; each part goes to the thread that has least."""
    total = sum(costs.values())
    parts = [Part(total, set(costs))]
    while parts[-1].cost > total / (threads * PARTS):
        found = _divide_part(plan, parts.pop().calls)
        if not found:
            return None
        for one in found:
            insort(parts, Part(sum(costs[number] for number in one), one), key=_size)
    shares = [Part(0, set()) for _ in range(threads)]
    for part in reversed(parts):
        least = min(range(threads), key=lambda thread: shares[thread].cost)
        shares[least] = Part(shares[least].cost + part.cost, shares[least].calls | part.calls)
    rest = total - sum(share.cost for share in shares)
    slowest = max(share.cost for share in shares) + rest / threads
    return None if slowest > MAX_SLOWDOWN * total / threads else [share.calls for share in shares]


def _divide_part(plan: Plan, part: set[int]) -> list[set[int]]:
    """Split a part by peeling off its unread calls; empty for a chain."""
    for _ in range(MAX_UNDIVIDED):
        part = {number for number in part if not part.isdisjoint(plan.users[number])}
        found = _connected(plan, part)
        if len(found) > 1:
            return found
    return []


def _size(part: Part) -> tuple[float, int]:
    return part.cost, -min(part.calls)


def _connected(plan: Plan, part: Collection[int]) -> list[set[int]]:
    """The calls of a part in sets that read nothing of each other."""
    left = set(part)
    found: list[set[int]] = []
    while left:
        waiting = [min(left)]
        left.discard(waiting[0])
        one: set[int] = set()
        while waiting:
            number = waiting.pop()
            one.add(number)
            near = left.intersection((*plan.calls[number].inputs, *plan.users[number]))
            left -= near
            waiting.extend(near)
        found.append(one)
    return found


def _in_order(plan: Plan, shares: list[set[int]], ns_per_row: float) -> SharedCalls:
    """The calls one share after the other, each in its order, and then the rest."""
    thread_of = {number: thread for thread, share in enumerate(shares) for number in share}
    last = len(shares)
    position = {number: at for at, number in enumerate(plan.calls)}

    def key(number: int) -> tuple[int, int]:
        is_table = plan.calls[number].kind is Kind.TABLE
        return (-1 if is_table else thread_of.get(number, last), position[number])

    order = {number: plan.calls[number] for number in sorted(plan.calls, key=key)}
    rest = sum(1 for number, _ in plan.computed()) - len(thread_of)
    return SharedCalls(with_slots(replace(plan, calls=order), shares=shares), (*map(len, shares), rest), ns_per_row)


Found = tuple[Tensor, Tensor]
"""Outputs (B, outputs, classes), and for each row whether it is certified."""

MAX_DIVISIONS = 64
"""Maximum number of divisions that are kept: a program has few sizes of batches."""


class CallShares:
    """The calls of each of several threads, decided once for each number of threads."""

    def __init__(self, plan: Plan, circuit: EvaluatedCircuit) -> None:
        self.plan = plan
        self.circuit = circuit
        self._found: dict[int, SharedCalls | None] = {}

    def for_threads(self, threads: int, rows: int) -> SharedCalls | None:
        """The kernel calls of threads for some rows; None if dividing the rows is faster."""
        if threads == 1 or not THREAD_ROWS <= rows <= TILE_ROWS:
            return None
        if threads not in self._found:
            self._found[threads] = share_calls(self.plan, self.circuit, TILE_ROWS, threads)
        found = self._found[threads]
        return found if found is not None and found.pays(rows) else None


@dataclass(frozen=True, eq=False)
class SharedArrays:
    """The arrays of calls that threads share, and where the calls of each thread begin and end; the rest come last."""

    arrays: NativeArrays
    stops: Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Division:
    """The work of each thread for some rows, and the memory that they need.

    `values_bytes` are for the values of all threads; `values_stride` is the distance from thread to thread, or 0 if
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
    sharing: CallShares | None
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
        call = NativeEvaluationCall(
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
        shares = _divide_rows(arrays, rows, threads) if shared is None else _divide_calls(shared, rows)
        size, scratch_bytes = _sizes(self.library, arrays, max(share.rows for share in shares))
        values_bytes, values_stride = (size * threads, size) if shared is None else (size, 0)
        return Division(arrays, shares, threads, values_bytes, values_stride, scratch_bytes)

    def _shared(self, threads: int, rows: int) -> SharedArrays | None:
        """The arrays of calls that threads share for some rows; None if threads divide the rows."""
        shared = None if self.sharing is None else self.sharing.for_threads(threads, rows)
        if self.sharing is None or shared is None:
            return None
        if threads not in self.shared:
            arrays = make_arrays(self.sharing.circuit, self.constants, shared.plan)
            self.shared[threads] = SharedArrays(arrays, tuple(pairwise(accumulate(shared.counts, initial=0))))
        return self.shared[threads]


def _sizes(library: ctypes.CDLL, arrays: NativeArrays, rows: int) -> tuple[int, int]:
    """Return the bytes for the values of a tile, and those that each thread needs in addition."""
    native = ctypes.byref(arrays.native)
    return library.values_bytes(native, rows), library.scratch_bytes(native, rows)


def _divide_rows(arrays: NativeArrays, rows: int, threads: int) -> ctypes.Array[NativeShare]:
    """As many tiles for each thread, each with all calls."""
    tiles = threads * -(-rows // (threads * TILE_ROWS))
    calls = arrays.native.num_calls
    shares = [
        NativeShare(first=first, rows=some, stop_row=some, stop_call=calls, reads=1, writes=1)
        for first, some in _equal_parts(rows, tiles)
    ]
    return _shares(shares)


def _divide_calls(shared: SharedArrays, rows: int) -> ctypes.Array[NativeShare]:
    """The variables of some rows for each thread, then calls of its own, then the rest of the calls for some rows."""
    parts = [{"start_row": first, "stop_row": first + some} for first, some in _equal_parts(rows, num_threads(rows))]
    *own, rest = ({"start_call": start, "stop_call": stop} for start, stop in shared.stops)
    read = [NativeShare(rows=rows, **part, reads=1) for part in parts]
    computed = [NativeShare(rows=rows, stop_row=rows, **calls, after=len(read)) for calls in own]
    written = [NativeShare(rows=rows, **part, **rest, writes=1, after=len(read) + len(computed)) for part in parts]
    return _shares([*read, *computed, *written])


def _equal_parts(rows: int, count: int) -> list[tuple[int, int]]:
    """The first row and the number of rows of each part."""
    size = max(1, -(-rows // count))
    return [(first, min(size, rows - first)) for first in range(0, rows, size)]


def _shares(given: Sequence[NativeShare]) -> ctypes.Array[NativeShare]:
    return (NativeShare * len(given))(*given)
