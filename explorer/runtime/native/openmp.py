"""The function that starts a team of the OpenMP threads with which PyTorch computes.

They wait for their next work by spinning, for some milliseconds. On other threads the kernels would compete with them
for the processors after each operator of PyTorch; on the same ones they begin at once.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from ctypes import c_uint, c_void_p
from functools import cache

import torch

StartTeam = Callable[[int | None, int, int, int], None]
"""Calls a function with an address in each thread of a team, and waits: the function, the address, threads, flags."""


@cache
def find_start_team() -> StartTeam | None:
    """`GOMP_parallel` of the runtime that PyTorch is linked to; None if that cannot be told.

    None on other systems than Linux, for a PyTorch that was built without OpenMP, and where PyTorch and the process
    find different runtimes, as with another one in `LD_PRELOAD`: a second team would compete with that of PyTorch.
    """
    if sys.platform != "linux" or "ATen parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return None
    try:
        found = ctypes.CDLL(torch._C.__file__, mode=os.RTLD_NOLOAD).GOMP_parallel
    except (OSError, AttributeError):
        return None
    first = getattr(ctypes.CDLL(None), "GOMP_parallel", found)
    if address_of(first) != address_of(found):
        return None
    found.argtypes, found.restype = (c_void_p, c_void_p, c_uint, c_uint), None
    return found


def address_of(function: object) -> int | None:
    """The address of a function of a library, or of a `CFUNCTYPE` callback.

    `ctypes.cast` would make a callback refer to itself, so that it, and all that it reads, would stay in memory.
    """
    return c_void_p.from_buffer(function).value  # pyright: ignore[reportArgumentType]
