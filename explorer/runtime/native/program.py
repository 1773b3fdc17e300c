"""A circuit for the native library: its units, its packed parameters, and its evaluation by as many threads as torch."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.constants import Constants
from explorer.runtime.native.arrays import NativeArrays, make_arrays
from explorer.runtime.native.library import BAD_INPUT, NativeInput, load_library
from explorer.runtime.units import Units

TYPES = {torch.int64: 0, torch.float32: 1, torch.float64: 2}
"""The types of x that the library reads, by its own numbers."""

TILE_ROWS = 256
"""Weights are read once per tile, and the values of a tile stay in the cache."""

THREAD_ROWS = 16
"""A thread for fewer rows costs more than it saves."""

TOLERANCE = 1e-6
"""A row is certified if underflow has changed no output by more than this, relatively."""

Memory = NDArray[np.uint8]


class NativeProgram:
    """The units of a circuit, evaluated by the native library with the parameters that were packed last.

    Raises: LoweringError if the library cannot be compiled.
    """

    def __init__(self, circuit: EvaluatedCircuit, units: Units) -> None:
        self.circuit = circuit
        self.units = units
        self.library = load_library()
        self.constants = Constants(circuit, units, self.library.lanes())
        self._arrays: NativeArrays | None = None
        self._memory: list[Memory] = []

    @property
    def problem(self) -> str:
        """Why it may not be evaluated with the parameters that were packed; empty if it may."""
        return self.constants.problem

    def pack(self) -> None:
        """Evaluate and pack the present parameters; to be called before the first evaluation."""
        self.constants.pack()
        self._arrays = make_arrays(self.circuit, self.constants)

    def evaluate(self, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """The outputs (B, outputs, classes) of x (B, D), and for each row whether it is certified.

        None if a variable has a value that it cannot have.
        """
        assert self._arrays is not None, "pack() comes first"
        native, rows = self._arrays.native, x.shape[0]
        x = (x if x.dtype in TYPES else x.float() if x.is_floating_point() else x.long()).contiguous()
        densities = self._densities(x)
        given = NativeInput(x.data_ptr(), TYPES[x.dtype], x.shape[1], densities.data_ptr(), densities.shape[1])
        result = torch.empty((rows, native.num_outputs, native.output_units))
        certified = torch.empty(rows, dtype=torch.bool)
        threads = max(1, min(torch.get_num_threads(), rows // THREAD_ROWS))
        share = -(-rows // threads)
        tile = min(share, TILE_ROWS)

        def run(start: int) -> int:
            memory = self._borrow(tile)
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
        assert self._arrays is not None, "pack() comes first"
        return self.library.workspace(ctypes.byref(self._arrays.native), rows)

    def _borrow(self, rows: int) -> Memory:
        """Memory for a tile that no other thread has, at a multiple of 64 bytes."""
        needed = self.memory(rows)
        while self._memory:
            found = self._memory.pop()
            if found.nbytes >= needed:
                return found
        found = np.empty(needed + 64, dtype=np.uint8)
        start = -found.ctypes.data % 64
        return found[start : start + needed]

    def _densities(self, x: Tensor) -> Tensor:
        """The logarithms (B, units of all folds) of the layers that PyTorch evaluates."""
        assert self._arrays is not None
        layers = self._arrays.densities
        if not layers:
            return torch.empty((0, 0))
        found = self.circuit.input_activations(x, layers, self.constants.layer_values)
        return torch.cat([found[layer].transpose(0, 1).flatten(1) for layer in layers], dim=1).float().contiguous()


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process: those of a process do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"circuit-{process}")
