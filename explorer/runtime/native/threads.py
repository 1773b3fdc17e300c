"""The threads that run the kernels: the OpenMP threads of PyTorch, or a pool.

Each caller has an OpenMP team of its own, and callers share the pool. So one caller computes with its team, which is
also what PyTorch's operators in between run on, and several callers at a time with the pool. The threads of a team wait
for their next work by spinning, for some milliseconds: on other threads the kernels would compete with them for the
processors after each operator of PyTorch.
"""

import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_uint, c_void_p
from functools import cache
from threading import get_ident
from typing import Any

import torch

NativeFunction = Callable[[Any], Any]
"""A function of the library, called with the address of its argument."""

StartTeam = Callable[[int | None, int, int, int], None]
"""Calls a function with an address in each thread of a team, and waits: the function, the address, threads, flags."""

THREAD_ROWS = 16
"""A thread for fewer rows costs more than it saves."""

PROCESS = os.getpid()
"""In a process that was forked from this one, OpenMP would wait forever for threads that it does not have."""

CALLERS: deque[int] = deque(maxlen=16)
"""The threads that made the last calls."""


def num_threads(rows: int) -> int:
    """As many as torch has, but not for a few rows each."""
    return max(1, min(torch.get_num_threads(), rows // THREAD_ROWS))


def call_in_threads(function: NativeFunction, argument: ctypes.Structure, threads: int) -> None:
    """Call a function of the library once on each thread, each time with the address of one argument."""
    if threads == 1:
        function(ctypes.byref(argument))
        return
    start_team = find_start_team() if os.getpid() == PROCESS and _is_only_caller() else None
    if start_team is None:
        list(_pool(threads, os.getpid()).map(lambda _: function(ctypes.byref(argument)), range(threads)))
        return
    team = max(threads, torch.get_num_threads())  # OpenMP ends the threads that a smaller team does not need
    start_team(_address_of(function), ctypes.addressof(argument), team, 0)


def _is_only_caller() -> bool:
    caller = get_ident()
    CALLERS.append(caller)
    return CALLERS.count(caller) == len(CALLERS)


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process; threads do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"circuit-{process}")


@cache
def find_start_team() -> StartTeam | None:
    """`GOMP_parallel` of the runtime that PyTorch is linked to; None if that cannot be told.

    None on other systems than Linux, for a PyTorch that was built without OpenMP, and where PyTorch and the process
    find different runtimes, as with another one in `LD_PRELOAD`: a second team would compete with PyTorch's.
    """
    if sys.platform != "linux" or "ATen parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return None
    try:
        found = ctypes.CDLL(torch._C.__file__, mode=os.RTLD_NOLOAD).GOMP_parallel
    except (OSError, AttributeError):
        return None
    first = getattr(ctypes.CDLL(None), "GOMP_parallel", found)
    if _address_of(first) != _address_of(found):
        return None
    found.argtypes, found.restype = (c_void_p, c_void_p, c_uint, c_uint), None
    return found


def _address_of(function: object) -> int | None:
    """The address of a function of a library."""
    return c_void_p.from_buffer(function).value  # pyright: ignore[reportArgumentType]
