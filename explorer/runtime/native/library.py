"""The functions of the native library, with the types of their arguments."""

import ctypes
from ctypes import c_float, c_int64, c_void_p
from functools import cache

from explorer.errors import LoweringError
from explorer.runtime.native.build import library_path

BAD_INPUT = -1
"""What `evaluate` returns if a variable has a value that it cannot have."""


class NativeCircuit(ctypes.Structure):
    """As `struct Circuit` in `kernels.cpp`."""

    _fields_ = (
        ("units", c_void_p),
        ("num_units", c_int64),
        ("operands", c_void_p),
        ("constants", c_void_p),
        ("scales", c_void_p),
        ("slot_floats", c_int64),
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
    )


class NativeInput(ctypes.Structure):
    """As `struct Input` in `kernels.cpp`."""

    _fields_ = (
        ("x", c_void_p),
        ("type", c_int64),
        ("columns", c_int64),
        ("densities", c_void_p),
        ("density_floats", c_int64),
    )


@cache
def load_library() -> ctypes.CDLL:
    """The library. Raises: LoweringError if it cannot be compiled or loaded."""
    path = library_path()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise LoweringError(f"the native kernels {path} cannot be loaded: {error}; delete the file") from error
    library.lanes.restype = c_int64
    library.tucker_scratch.argtypes = (c_int64, c_int64)
    library.tucker_scratch.restype = c_int64
    library.is_equal.argtypes = (c_void_p, c_void_p, c_int64)
    library.is_equal.restype = c_int64
    library.workspace.argtypes = (c_void_p, c_int64)
    library.workspace.restype = c_int64
    library.evaluate.argtypes = (
        c_void_p,
        c_void_p,
        c_int64,
        c_int64,
        c_int64,
        c_float,
        c_void_p,
        c_void_p,
        c_void_p,
    )
    library.evaluate.restype = c_int64
    return library
