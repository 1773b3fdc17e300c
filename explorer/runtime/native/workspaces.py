"""Memory of the native library, kept from call to call."""

from weakref import finalize

import torch
from torch import Tensor

from explorer.runtime.memory import Memory, allocate


class Workspaces:
    """Pieces of memory that begin at lines of the cache, each with one borrower at a time."""

    def __init__(self) -> None:
        self._free: list[Memory] = []

    def borrow(self, size: int) -> Memory:
        """Return memory of at least `size` bytes, with any content."""
        while self._free:
            try:
                found = self._free.pop()
            except IndexError:  # another thread took the last one
                break
            if found.nbytes >= size:
                return found
        return allocate(size)

    def lend(self, size: int) -> Tensor:
        """As `borrow`, but given back when nobody has the tensor any more."""
        memory = self.borrow(size)
        view = memory[:size]
        finalize(view, self.give_back, memory).atexit = False
        return torch.from_numpy(view)

    def give_back(self, *pieces: Memory) -> None:
        """Let others borrow these pieces."""
        self._free.extend(pieces)
