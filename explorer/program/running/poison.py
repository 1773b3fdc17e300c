"""Memory that nobody may read, filled with numbers that would be noticed."""

import torch


def poison(memory: torch.Tensor) -> None:
    """Fill memory with NaN, or with large integers; invert bools."""
    dtype = memory.dtype
    if dtype == torch.bool:
        memory.logical_not_()
    elif dtype.is_floating_point or dtype.is_complex:
        memory.fill_(float("nan"))
    else:
        memory.fill_(torch.iinfo(dtype).max // 3)
