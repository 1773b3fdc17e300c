"""The division of a launch into blocks, one for each program of a kernel."""

import torch
from torch import Tensor

MIN_BLOCK = 16
"""The smallest side of a block for matrix products."""
MAX_BLOCK = 64
BLOCK_NUMBERS = 2048
"""Numbers of a block, if its columns leave enough rows: larger ones have no registers left."""
MAX_IN = 32
"""Summands per step: with 64, a kernel has no registers left, and takes 5 times longer."""
MAX_OUT = 256
"""A wider row of a sum is divided among programs."""
PROGRAMS_PER_PROCESSOR = 2
PER_WARP, PER_WARP_TUCKER = 512, 1024
"""Numbers of a block that a warp computes."""
PRECISION = "ieee"
"""The precision of matrix products: float32, not rounded to TF32."""
MAX_SHARED = 227 << 10
"""Bytes of shared memory of a program on an H100."""


def matrix_rows(batch: int, columns: int, programs: int, processors: int) -> int:
    """The rows of a block of a matrix product: few where there are few programs of one block of rows each."""
    size = min(MAX_BLOCK, max(BLOCK_NUMBERS // columns, MIN_BLOCK), max(power_of_two(batch), MIN_BLOCK))
    while size > MIN_BLOCK and programs * blocks(batch, size) < PROGRAMS_PER_PROCESSOR * processors:
        size //= 2
    return size


def rows_beside(columns: int, most: int = MAX_BLOCK) -> int:
    """The rows of a block of an elementwise kernel."""
    return max(1, min(most, BLOCK_NUMBERS // columns))


def blocks(count: int, size: int) -> int:
    """Return the number of blocks of a size."""
    return -(-count // size)


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below a count."""
    return 1 << max(count - 1, 0).bit_length()


def num_processors(device: torch.device) -> int:
    """The number of multiprocessors of a device."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def shared_bytes(device: torch.device) -> int:
    """The shared memory that a program can have on a device; on the CPU, for tests, what the largest devices have."""
    if device.type != "cuda":
        return MAX_SHARED
    properties = torch.cuda.get_device_properties(device)
    return getattr(properties, "shared_memory_per_block_optin", properties.shared_memory_per_block)


def tucker_bytes(inputs: int, outputs: int) -> int:
    """The shared memory of the gradients of what a Tucker product reads: twice a matrix of weights, and its rows."""
    right, out = (max(power_of_two(width), MIN_BLOCK) for width in (inputs, outputs))
    return 8 * right * out + 64 * max(right, out) + 64


def distance(start: Tensor, stop: Tensor) -> int:
    """Return how many numbers lie between the first ones of two tensors of one type."""
    found, rest = divmod(stop.data_ptr() - start.data_ptr(), start.element_size())
    assert rest == 0, "memory is aligned"
    return found
