"""Memory for numbers that kernels read and write, at lines of the cache; gradients as kernels read them."""

from collections.abc import Sequence
from weakref import finalize

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor

from explorer.errors import LoweringError
from explorer.runtime.kernel_types import LINE_BYTES

Memory = NDArray[np.uint8]


def align(size: int) -> int:
    """The bytes of the lines that hold `size` bytes."""
    return -(-size // LINE_BYTES) * LINE_BYTES


def allocate(size: int) -> Memory:
    """Memory of `size` bytes with arbitrary content; numpy asks for huge pages if it is large."""
    found = np.empty(size + LINE_BYTES, dtype=np.uint8)
    start = -found.ctypes.data % LINE_BYTES
    return found[start : start + size]


def concat(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Concatenate 1-D tensors into one of this type that begins at a cache line."""
    numbers = sum(one.numel() for one in parts)
    found = torch.from_numpy(allocate(numbers * dtype.itemsize)).view(dtype)
    start = 0
    for one in parts:
        found[start : start + one.numel()] = one
        start += one.numel()
    return found


class Workspaces:
    """Pieces of memory, kept from call to call, each with one borrower at a time."""

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


def refuse_unusual_gradients(gradient: Tensor | None) -> None:
    """Raises: LoweringError in a backward pass that is itself recorded, or of many gradients at a time."""
    if torch.is_grad_enabled():
        what = "second derivatives (create_graph=True)"
    elif gradient is not None and is_legacy_batchedtensor(gradient):
        what = "gradients of many vectors at a time (is_grads_batched=True)"
    else:
        return
    raise LoweringError(
        f"the kernels have no {what}: call the circuit itself, which is the attribute `circuit` of the fast one"
    )


def in_memory(gradient: Tensor) -> Tensor:
    """A gradient in single precision with its values in memory: it may be the negative of its memory, or have none."""
    found = gradient.float().resolve_neg()
    has_none = torch._is_zerotensor(found)  # pyright: ignore[reportPrivateImportUsage]
    return (found.clone() if has_none else found).contiguous()
