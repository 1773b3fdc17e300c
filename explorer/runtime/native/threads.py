"""The threads that run the kernels: the OpenMP threads of PyTorch, or those of a pool.

Each caller has an OpenMP team of its own, and callers share the pool. So one caller computes with its team, which is
also what PyTorch's operators in between run on, and several callers at a time with the pool.
"""

import ctypes
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import get_ident
from typing import Any, TypeVar

import torch

from explorer.errors import UserCodeError
from explorer.runtime.native.library import load_library
from explorer.runtime.native.openmp import StartTeam, address_of, find_start_team
from explorer.runtime.native.structures import NativeQueue

Result = TypeVar("Result")

NativeFunction = Callable[[Any], Any]
"""Of the library, called with the address of its argument."""

THREAD_ROWS = 16
"""A thread for fewer rows costs more than it saves."""

PROCESS = os.getpid()
"""In a process that was forked from this one, OpenMP would wait forever for threads that it does not have."""

CALLERS: deque[int] = deque(maxlen=16)
"""The threads that made the last calls."""

CALL = ctypes.CFUNCTYPE(None, ctypes.c_int64)


def num_threads(rows: int) -> int:
    """As many as torch has, but not for a few rows each."""
    return max(1, min(torch.get_num_threads(), rows // THREAD_ROWS))


def run_in_threads(function: Callable[[int], Result], items: Iterable[int], threads: int) -> list[Result]:
    """The results for all items, in order, whichever thread has computed them.

    Raises: what the function raises. If a signal handler or tracer raises before the function begins, ctypes loses the
    error: then KeyboardInterrupt, if Ctrl-C raises it in this program, otherwise UserCodeError.
    """
    if threads == 1:
        return list(map(function, items))
    start_team = _find_team()
    if start_team is None:
        return list(_pool(threads, os.getpid()).map(function, items))
    return _run_in_team(start_team, function, tuple(items), threads)


def call_in_threads(function: NativeFunction, argument: ctypes.Structure, threads: int) -> None:
    """Call a function of the library once on each thread, each time with the address of one argument."""
    if threads == 1:
        function(ctypes.byref(argument))
        return
    start_team = _find_team()
    if start_team is None:
        list(_pool(threads, os.getpid()).map(lambda _: function(ctypes.byref(argument)), range(threads)))
    else:
        _start(start_team, function, argument, threads)


def _find_team() -> StartTeam | None:
    """The team of this caller, unless it must use the pool."""
    return find_start_team() if os.getpid() == PROCESS and _is_only_caller() else None


def _start(start_team: StartTeam, function: NativeFunction, argument: ctypes.Structure, threads: int) -> None:
    team = max(threads, torch.get_num_threads())  # OpenMP ends the threads that a smaller team does not need
    start_team(address_of(function), ctypes.addressof(argument), team, 0)


def _is_only_caller() -> bool:
    caller = get_ident()
    CALLERS.append(caller)
    return CALLERS.count(caller) == len(CALLERS)


def _run_in_team(
    start_team: StartTeam, function: Callable[[int], Result], items: tuple[int, ...], threads: int
) -> list[Result]:
    results: dict[int, Result] = {}
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            if not errors:
                results[number] = function(items[number])
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    call = CALL(run)
    queue = NativeQueue(next=0, count=len(items), call=address_of(call))
    _start(start_team, load_library().take_numbers, queue, threads)
    if errors:
        raise errors[0]
    if len(results) < len(items):
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            raise KeyboardInterrupt
        raise UserCodeError("a signal handler or tracer raised an error before a kernel began; stderr has it")
    return [results[number] for number in range(len(items))]


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process: those of a process do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"circuit-{process}")
