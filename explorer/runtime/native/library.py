"""The functions of the native library, with the types of their arguments."""

import ctypes
from ctypes import c_int64, c_void_p
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from explorer.runtime.kernel_types import InputType
from explorer.runtime.native.build import DOUBLES, BuildError, library_path
from explorer.runtime.native.structures import NativeInput

TYPES = {torch.int64: InputType.INT64, torch.float32: InputType.FLOAT32, torch.float64: InputType.FLOAT64}
"""The types of x that the library reads."""

TILE_ROWS = 256
"""Weights are read once per tile, and the values of a tile stay in the cache."""


def make_input(x: Tensor, densities: Tensor) -> NativeInput:
    """X (B, D) and the logarithms (B, calls) of densities that PyTorch has computed; the result keeps what it needs."""
    x = (x if x.dtype in TYPES else x.float() if x.is_floating_point() else x.long()).contiguous()
    given = NativeInput(
        x=x.data_ptr(),
        type=TYPES[x.dtype],
        columns=x.shape[1],
        densities=densities.data_ptr(),
        density_floats=densities.shape[1],
    )
    given.kept = (x, densities)  # a thread may still read them after an interrupt has left the caller
    return given


SIGNATURES = {
    "lanes": ((), c_int64),
    "values_bytes": ((c_void_p, c_int64), c_int64),
    "scratch_bytes": ((c_void_p, c_int64), c_int64),
    "take_shares": ((c_void_p,), None),
    "kept_bytes": ((c_void_p, c_void_p, c_int64), c_int64),
    "training_workspace": ((c_void_p, c_void_p, c_int64), c_int64),
    "take_forward_shares": ((c_void_p,), None),
    "take_tiles": ((c_void_p,), None),
    "compare_parts": ((c_void_p,), None),
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
        function = getattr(library, name, None)
        if function is None:
            raise BuildError(f"the native kernels {path} have no function {name}; delete the file")
        function.argtypes, function.restype = SIGNATURES[name]
    return library
