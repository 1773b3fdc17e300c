"""Functions of one variable whose expectation is asked for."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.errors import ShapeError

LeafFunction = Callable[[Tensor], Tensor]
"""Maps the values of a variable to numbers, elementwise, in double precision."""


@dataclass(frozen=True)
class Polynomial:
    """x -> sum_d coefficients[d] x^d: the functions whose expectation is known for real variables too.

    Raises: ShapeError without a coefficient.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.coefficients:
            raise ShapeError("a polynomial has at least one coefficient, the constant one")

    def __call__(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        for coefficient in reversed(self.coefficients):
            y = y * x + coefficient
        return y


def power(order: int) -> Polynomial:
    """X -> x^order."""
    return Polynomial((0.0,) * order + (1.0,))
