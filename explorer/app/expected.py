"""What to expect of each variable given evidence: mean and deviation of its codes, probabilities of its categories."""

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.queries import marginal, moments

MIN_VARIANCE = 1e-9
"""Variances below this share of E[X^2] are rounding: they are differences of two numbers that are almost equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Mean and standard deviation (B, D) of the codes of variables; NaN where the output does not read a variable.

    Where `is_bound`, the deviation is at most this: it is too small to tell from rounding.
    """

    mean: Tensor
    deviation: Tensor
    is_bound: Tensor


def spread_of(circuit: TorchCircuit, x: Tensor, observed: Tensor, root: tuple[int, int]) -> Spread:
    """Mean and deviation given the observed entries of each row (B, D). Raises: the errors of `moments`."""
    output, number = root
    first, second = (moments(circuit, order, x, observed)[:, output, number] for order in (1, 2))
    variance, least = second - first.square(), MIN_VARIANCE * second
    is_bound = variance < least
    return Spread(first, torch.where(is_bound, least, variance).sqrt(), is_bound)


def category_probabilities(
    circuit: TorchCircuit, variable: int, count: int, x: Tensor, observed: Tensor, root: tuple[int, int]
) -> Tensor:
    """The probability (B, count) of each value of a variable, given the observed entries of each row (B, D).

    Of an observed variable, that of the observed value is 1.
    """
    output, number = root
    values = torch.arange(count, device=x.device)
    rows, known = x.repeat_interleave(count, 0), observed.repeat_interleave(count, 0)
    rows[:, variable], known[:, variable] = values.to(x.dtype).repeat(len(x)), True
    logs = marginal(circuit, rows, known)[:, output, number].reshape(len(x), count)
    given = marginal(circuit, x, observed)[:, output, number].unsqueeze(1)
    found = (logs - given).exp().real.double()
    seen = (x[:, variable, None] == values).double()
    return torch.where(observed[:, variable, None], seen, found)
