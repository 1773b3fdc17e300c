"""The evaluation of rows by several threads: each computes its own rows, or, of a batch for one tile, its own units."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.constants import TOLERANCE, Constants
from explorer.runtime.native.arrays import NativeArrays, make_arrays
from explorer.runtime.native.library import TILE_ROWS
from explorer.runtime.native.sharing import SharedUnits, share_units
from explorer.runtime.native.structures import NativeCall, NativeInput, NativeShare
from explorer.runtime.native.threads import THREAD_ROWS, call_in_threads, num_threads
from explorer.runtime.native.workspaces import Workspaces
from explorer.runtime.units import Units

Found = tuple[Tensor, Tensor]
"""Outputs (B, outputs, classes), and for each row whether it is certified."""

MAX_DIVISIONS = 64
"""How many are kept: a program has few sizes of batches."""


class UnitShares:
    """What each of several threads computes, decided once for each number of threads."""

    def __init__(self, units: Units, circuit: EvaluatedCircuit) -> None:
        self.units = units
        self.circuit = circuit
        self._found: dict[int, SharedUnits | None] = {}

    def for_threads(self, threads: int, rows: int) -> SharedUnits | None:
        """The units of threads for a call of some rows; None if they had better divide the rows."""
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
    """What each thread computes of some rows, and the memory that they need.

    `values_bytes` are for the values of all threads; `values_stride` is from those of one thread to the next, or 0 if
    the threads share them; `scratch_bytes` are for each thread besides.
    """

    arrays: NativeArrays
    shares: ctypes.Array[NativeShare]
    threads: int
    values_bytes: int
    values_stride: int
    scratch_bytes: int

    @property
    def bytes(self) -> int:
        """The bytes of all threads together."""
        return self.values_bytes + self.scratch_bytes * self.threads


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
        memory = workspaces.borrow(division.bytes)
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
        """How the threads divide some rows now; decided once for each number of rows."""
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
    """The bytes for the values of a tile, and what each thread needs besides."""
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
