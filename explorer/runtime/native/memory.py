"""Memory and threads of the native library, kept from call to call."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar
from weakref import finalize

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Memory = NDArray[np.uint8]

Result = TypeVar("Result")

ALIGNMENT = 64
"""Bytes of a vector, and of a line of the cache."""

THREAD_ROWS = 16
"""A thread for fewer rows costs more than it saves."""


class Workspaces:
    """Pieces of memory at multiples of 64 bytes, each with one borrower at a time."""

    def __init__(self) -> None:
        self._free: list[Memory] = []

    def borrow(self, size: int) -> Memory:
        """At least so many bytes, with any content."""
        while (found := self._take()) is not None:
            if found.nbytes >= size:
                return found
        found = np.empty(size + ALIGNMENT, dtype=np.uint8)
        start = -found.ctypes.data % ALIGNMENT
        return found[start : start + size]

    def _take(self) -> Memory | None:
        """A free piece: other threads may take the last one at any time."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def lend(self, size: int) -> Tensor:
        """As `borrow`, but given back when nobody has the tensor any more."""
        memory = self.borrow(size)
        view = memory[:size]
        finalize(view, self.give_back, memory).atexit = False
        return torch.from_numpy(view)

    def give_back(self, memory: Memory) -> None:
        """It may be lent again."""
        self._free.append(memory)


def num_threads(rows: int) -> int:
    """As many as torch has, but not for a few rows each."""
    return max(1, min(torch.get_num_threads(), rows // THREAD_ROWS))


def run_in_threads(function: Callable[[int], Result], items: Iterable[int], threads: int) -> list[Result]:
    """The results for all items, in order."""
    return list(map(function, items) if threads == 1 else _pool(threads, os.getpid()).map(function, items))


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process: those of a process do not survive a fork."""
    return ThreadPoolExecutor(threads, thread_name_prefix=f"circuit-{process}")
