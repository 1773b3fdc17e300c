"""A circuit for the native library: its units, its packed parameters, and its evaluation by the threads of torch."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.constants import pack_constants
from explorer.runtime.native.arrays import NativeArrays, make_arrays
from explorer.runtime.native.doubles import DoubleCopy
from explorer.runtime.native.library import BAD_INPUT, NativeInput, load_library
from explorer.runtime.native.snapshots import Snapshot, take_snapshot
from explorer.runtime.units import lower_to_units, plan_units

TYPES = {torch.int64: 0, torch.float32: 1, torch.float64: 2}
"""The types of x that the library reads, by its own numbers."""

TILE_ROWS = 256
"""Weights are read once per tile, and the values of a tile stay in the cache."""

THREAD_ROWS = 16
"""A thread for fewer rows costs more than it saves."""

TOLERANCE = 1e-6
"""A row is certified if underflow has changed no output by more than this, relatively."""

Memory = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Packed:
    """The parameters at some time, and what the library reads of them."""

    snapshot: Snapshot
    arrays: NativeArrays
    doubles: DoubleCopy

    @cached_property
    def precise(self) -> EvaluatedCircuit:
        """The circuit with these parameters in double precision, in the logarithmic domain."""
        return self.doubles.frozen(self.snapshot)


class NativeProgram:
    """The units of a circuit, evaluated by the native library.

    Parameters are packed when they have changed: their bytes are compared with a copy in each call, since some changes
    leave no other trace. Those of a frozen circuit are compared by the version that PyTorch counts.

    Raises: LoweringError if the library cannot be compiled, or a layer has no units.
    """

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        self.circuit = circuit
        self.library = load_library()
        self.units = plan_units(lower_to_units(circuit))
        self._doubles = DoubleCopy(circuit)
        self._memory: list[Memory] = []
        self._packed: Packed | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """A copy compiles and packs anew: addresses are of this process, and a copy has parameters of its own."""
        return {"circuit": self.circuit, "units": self.units}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, library=load_library(), _memory=[], _packed=None, _lock=Lock())
        self._doubles = DoubleCopy(self.circuit)

    def packed(self) -> Packed:
        """The present parameters: packed now, if they have changed."""
        packed = self._packed
        if packed is None or not packed.snapshot.is_present():
            with self._lock:
                snapshot = take_snapshot(self.circuit, self.library)
                values = self._doubles.layer_values(snapshot)
                constants = pack_constants(self.circuit, values, self.units, self.library.lanes())
                self._packed = packed = Packed(snapshot, make_arrays(self.circuit, constants), self._doubles)
        return packed

    def why_not(self) -> str:
        """Why it may not be evaluated with the present parameters; empty if it may."""
        return self.packed().arrays.constants.problem

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes) of x (B, D), and how many rows were not certified.

        Those are evaluated in double precision, in the logarithmic domain. None if a variable has a value that it
        cannot have, or if the present parameters have a problem.
        """
        packed = self.packed()
        if packed.arrays.constants.problem:
            return None
        found = self._evaluate(packed.arrays, x)
        if found is None:
            return None
        result, certified = found
        again = (~certified).nonzero().squeeze(1)
        if len(again):
            with torch.no_grad():
                chosen = x[again].double() if x.is_floating_point() else x[again]
                result[again] = packed.precise(chosen).to(result.dtype)
        return result, len(again)

    def _evaluate(self, arrays: NativeArrays, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """The outputs, and for each row whether it is certified; None if a variable has a value that it cannot have."""
        native, rows = arrays.native, x.shape[0]
        x = (x if x.dtype in TYPES else x.float() if x.is_floating_point() else x.long()).contiguous()
        densities = self._densities(arrays, x)
        given = NativeInput(x.data_ptr(), TYPES[x.dtype], x.shape[1], densities.data_ptr(), densities.shape[1])
        given.tensors = (x, densities)  # a thread may still read them after an interrupt has left this function
        result = torch.empty((rows, native.num_outputs, native.output_units), dtype=torch.float32, device="cpu")
        certified = torch.empty(rows, dtype=torch.bool, device="cpu")
        threads = max(1, min(torch.get_num_threads(), rows // THREAD_ROWS))
        share = -(-rows // threads)
        tile = min(share, TILE_ROWS)

        def run(start: int) -> int:
            memory = self._borrow(arrays, tile)
            status = self.library.evaluate(
                ctypes.byref(native),
                ctypes.byref(given),
                start,
                min(start + share, rows),
                tile,
                TOLERANCE,
                memory.ctypes.data,
                result.data_ptr(),
                certified.data_ptr(),
            )
            self._memory.append(memory)
            return status

        starts = range(0, rows, share)
        found = map(run, starts) if threads == 1 else _pool(threads, os.getpid()).map(run, starts)
        return None if BAD_INPUT in list(found) else (result, certified)

    def memory(self, rows: int) -> int:
        """The bytes for the values of a tile of some rows."""
        return self.library.workspace(ctypes.byref(self.packed().arrays.native), min(rows, TILE_ROWS))

    def _borrow(self, arrays: NativeArrays, rows: int) -> Memory:
        """Memory for a tile that no other thread has, at a multiple of 64 bytes."""
        needed = self.library.workspace(ctypes.byref(arrays.native), rows)
        while self._memory:
            found = self._memory.pop()
            if found.nbytes >= needed:
                return found
        found = np.empty(needed + 64, dtype=np.uint8)
        start = -found.ctypes.data % 64
        return found[start : start + needed]

    def _densities(self, arrays: NativeArrays, x: Tensor) -> Tensor:
        """The logarithms (B, units of all folds) of the layers that PyTorch evaluates."""
        layers = arrays.densities
        if not layers:
            return torch.empty((0, 0), dtype=torch.float32, device="cpu")
        x = x.double() if x.is_floating_point() else x
        found = self.circuit.input_activations(x, layers, arrays.constants.densities)
        return torch.cat([found[layer].transpose(0, 1).flatten(1) for layer in layers], dim=1).float().contiguous()


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process: those of a process do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"circuit-{process}")
