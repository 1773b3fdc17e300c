"""Random numbers of a generator on any device, and indices drawn by inverting cumulative sums."""

import torch
from torch import Tensor

from explorer.errors import ValueRangeError


def uniform(shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
    """Numbers in [0, 1) in double precision; the same ones on every device."""
    return torch.rand(shape, generator=generator, dtype=torch.float64, device=generator.device).to(device)


def normal(shape: tuple[int, ...], generator: torch.Generator, device: torch.device) -> Tensor:
    """Standard normal numbers in double precision; the same ones on every device."""
    return torch.randn(shape, generator=generator, dtype=torch.float64, device=generator.device).to(device)


def cumulative_weights(logs: Tensor) -> Tensor:
    """Cumulative sums of exp(logs) along the last axis, scaled by the largest one, in double precision.

    Raises: ValueRangeError for NaN, the logarithm of a negative number.
    """
    logs = logs.double()
    if bool(torch.isnan(logs).any()):
        raise ValueRangeError("a unit has negative values, so it is not a distribution from which one can sample")
    largest = logs.amax(-1, keepdim=True).clamp(min=torch.finfo(torch.float64).min)
    return torch.cumsum((logs - largest).exp(), -1)


def search(sums: Tensor, at: tuple[Tensor, ...], draws: Tensor) -> Tensor:
    """The index (P,) at which the cumulative sums `sums[at]` (P, T) first exceed `draws` (P,) of their total.

    A term of weight 0 is never chosen. It is a binary search, so that no tensor (P, T) is made.
    """
    last = sums.shape[-1] - 1
    total = sums[*at, last]
    target = torch.minimum(draws * total, torch.nextafter(total, torch.zeros_like(total)))
    low, high = torch.zeros_like(at[0]), torch.full_like(at[0], last)
    for _ in range(last.bit_length()):
        middle = (low + high) // 2
        is_right = sums[*at, middle] <= target
        low, high = torch.where(is_right, middle + 1, low), torch.where(is_right, high, middle)
    return low
