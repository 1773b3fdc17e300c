"""Memory for numbers that kernels read: it begins at a line of the cache."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Memory = NDArray[np.uint8]

ALIGNMENT = 64
"""Bytes of a vector, and of a line of the cache."""


def allocate(size: int) -> Memory:
    """So many bytes, with any content. If they are many, numpy asks for huge pages: rows of tables are found faster."""
    found = np.empty(size + ALIGNMENT, dtype=np.uint8)
    start = -found.ctypes.data % ALIGNMENT
    return found[start : start + size]


def join(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """One tensor with all numbers of some that have one axis."""
    numbers = sum(one.numel() for one in parts)
    joined = torch.from_numpy(allocate(numbers * dtype.itemsize)).view(dtype)
    start = 0
    for one in parts:
        joined[start : start + one.numel()] = one
        start += one.numel()
    return joined
