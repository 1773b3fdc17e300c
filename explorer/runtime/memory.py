"""Memory for numbers that kernels read: it begins at a line of the cache."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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
