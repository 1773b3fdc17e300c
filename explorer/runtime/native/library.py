"""The functions of the native library, with the types of their arguments."""

import ctypes
from ctypes import c_double, c_float, c_int64, c_void_p
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from explorer.runtime.native.build import DOUBLES, BuildError, library_path

BAD_INPUT, BAD_WEIGHT = -1, -2
"""What is returned if a variable has a value that it cannot have, and if a weight has no bound."""


TYPES = {torch.int64: 0, torch.float32: 1, torch.float64: 2}
"""The types of x that the library reads, by its own numbers."""

TILE_ROWS = 256
"""Weights are read once per tile, and the values of a tile stay in the cache."""


class NativeCircuit(ctypes.Structure):
    """As `struct Circuit` in `kernels/circuit.h`."""

    _fields_ = (
        ("units", c_void_p),
        ("num_units", c_int64),
        ("operands", c_void_p),
        ("constants", c_void_p),
        ("scales", c_void_p),
        ("value_floats", c_int64),
        ("num_slots", c_int64),
        ("scratch_floats", c_int64),
        ("scratch_fixed", c_int64),
        ("outputs", c_void_p),
        ("num_outputs", c_int64),
        ("output_units", c_int64),
        ("discrete", c_void_p),
        ("num_values", c_void_p),
        ("num_discrete", c_int64),
        ("continuous", c_void_p),
        ("num_continuous", c_int64),
        ("ahead_lines", c_int64),
        ("absorbs", c_int64),
        ("units_read", c_void_p),
    )


class NativeInput(ctypes.Structure):
    """As `struct Input` in `kernels/circuit.h`."""

    _fields_ = (
        ("x", c_void_p),
        ("type", c_int64),
        ("columns", c_int64),
        ("densities", c_void_p),
        ("density_floats", c_int64),
    )


class NativeShare(ctypes.Structure):
    """As `struct Share` in `kernels/evaluation.h`."""

    _fields_ = (
        ("first", c_int64),
        ("rows", c_int64),
        ("start_row", c_int64),
        ("stop_row", c_int64),
        ("start_unit", c_int64),
        ("stop_unit", c_int64),
        ("reads", c_int64),
        ("writes", c_int64),
        ("after", c_int64),
    )


class NativeCall(ctypes.Structure):
    """As `struct Call` in `kernels/evaluation.h`."""

    _fields_ = (
        ("circuit", c_void_p),
        ("input", c_void_p),
        ("shares", c_void_p),
        ("num_shares", c_int64),
        ("values", c_void_p),
        ("values_stride", c_int64),
        ("scratch", c_void_p),
        ("scratch_stride", c_int64),
        ("num_threads", c_int64),
        ("result", c_void_p),
        ("certified", c_void_p),
        ("tolerance", c_double),
        ("next_share", c_int64),
        ("next_thread", c_int64),
        ("done", c_int64),
        ("is_bad", c_int64),
    )


class NativeTraining(ctypes.Structure):
    """As `struct Training` in `kernels/circuit.h`."""

    _fields_ = (
        ("sources", c_void_p),
        ("gradients", c_void_p),
        ("constants_gradient", c_void_p),
        ("densities_gradient", c_void_p),
        ("tables", c_void_p),
        ("num_rows", c_int64),
        ("most_states", c_int64),
        ("gradient_floats", c_int64),
        ("weight_floats", c_int64),
        ("block_floats", c_int64),
        ("max_terms", c_int64),
        ("widest", c_int64),
    )


class NativeKeptTile(ctypes.Structure):
    """As `struct KeptTile` in `kernels/steps.h`."""

    _fields_ = (("first", c_int64), ("rows", c_int64), ("values", c_void_p))


class NativeBackwardCall(ctypes.Structure):
    """As `struct BackwardCall` in `kernels/steps.h`."""

    _fields_ = (
        ("circuit", c_void_p),
        ("training", c_void_p),
        ("input", c_void_p),
        ("tiles", c_void_p),
        ("num_tiles", c_int64),
        ("turns", c_void_p),
        ("of_outputs", c_void_p),
        ("by", c_double),
        ("workspaces", c_void_p),
        ("num_threads", c_int64),
        ("done", c_void_p),
        ("next_tile", c_int64),
        ("next_thread", c_int64),
        ("changed", c_int64),
    )


class NativeNumbers(ctypes.Structure):
    """As `struct Numbers` in `kernels/team.h`."""

    _fields_ = (("next", c_int64), ("count", c_int64), ("call", c_void_p))


def make_input(x: Tensor, densities: Tensor) -> NativeInput:
    """X (B, D) and the logarithms (B, units) of densities that PyTorch has computed; the result keeps what it needs."""
    x = (x if x.dtype in TYPES else x.float() if x.is_floating_point() else x.long()).contiguous()
    given = NativeInput(x.data_ptr(), TYPES[x.dtype], x.shape[1], densities.data_ptr(), densities.shape[1])
    given.kept = (x, densities)  # a thread may still read them after an interrupt has left the caller
    return given


SIGNATURES = {
    "lanes": ((), c_int64),
    "values_bytes": ((c_void_p, c_int64), c_int64),
    "scratch_bytes": ((c_void_p, c_int64), c_int64),
    "take_shares": ((c_void_p,), None),
    "kept_bytes": ((c_void_p, c_void_p, c_int64), c_int64),
    "training_workspace": ((c_void_p, c_void_p, c_int64), c_int64),
    "train_forward": (
        (c_void_p, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_float, c_void_p, c_void_p, c_void_p, c_void_p),
        c_int64,
    ),
    "take_tiles": ((c_void_p,), None),
    "take_numbers": ((c_void_p,), None),
    "multiply_and_add": ((c_int64, c_void_p), c_int64),
    "read_floats": ((c_void_p, c_int64, c_void_p), None),
}
"""The types of arguments and result of each function of `kernels/`."""


IN_DOUBLES = ("lanes", "values_bytes", "scratch_bytes", "take_shares")
"""The functions that the library in double precision has."""


@cache
def load_library() -> ctypes.CDLL:
    """The library. Raises: BuildError if it cannot be compiled or loaded."""
    return _load(library_path(), tuple(SIGNATURES))


@cache
def load_doubles() -> ctypes.CDLL:
    """The functions that evaluate a circuit, in double precision. Raises: BuildError."""
    return _load(library_path(DOUBLES), IN_DOUBLES)


def _load(path: Path, names: tuple[str, ...]) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"the native kernels {path} cannot be loaded: {error}; delete the file") from error
    for name in names:
        function = getattr(library, name)
        function.argtypes, function.restype = SIGNATURES[name]
    return library
