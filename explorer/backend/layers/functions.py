"""Functions of one variable whose expectation is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor

from explorer.errors import DataTypeError, ShapeError, ValueRangeError, check_type
from explorer.symbolic.checks import is_integer

LeafFunction = Callable[[Tensor], Tensor]
"""Maps the values of a variable to numbers, elementwise, in double precision."""


@dataclass(frozen=True)
class Polynomial:
    """x -> sum_d coefficients[d] x^d: the functions whose expectation is known for real variables too.

    Raises: ShapeError without a coefficient; DataTypeError unless they are real numbers.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        check_type("the coefficients of a polynomial", self.coefficients, Sequence)
        if not all(isinstance(one, Real) for one in self.coefficients):
            raise DataTypeError(f"the coefficients of a polynomial must be real numbers; found {self.coefficients!r}")
        if not self.coefficients:
            raise ShapeError("a polynomial has at least one coefficient, the constant one")
        object.__setattr__(self, "coefficients", tuple(map(float, self.coefficients)))

    def __call__(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        for coefficient in reversed(self.coefficients):
            y = y * x + coefficient
        return y


def apply(function: LeafFunction, x: Tensor) -> Tensor:
    """The values of a function. Raises: DataTypeError, ShapeError unless it is a number for each entry of x."""
    if not callable(function):
        raise DataTypeError(f"expected a function of a tensor, such as a Polynomial; found {function!r}")
    y = function(x)
    if not isinstance(y, Tensor):
        raise DataTypeError(f"{function!r} must map a tensor to a tensor; it returned {type(y).__name__}")
    if y.shape != x.shape:
        raise ShapeError(f"{function!r} must map its argument elementwise: {tuple(x.shape)} became {tuple(y.shape)}")
    return y


def power(order: int) -> Polynomial:
    """X -> x^order. Raises: DataTypeError, ValueRangeError unless the order is an integer of at least 0."""
    if not is_integer(order):
        raise DataTypeError(f"the order of a power must be an integer; found {order!r}")
    if order < 0:
        raise ValueRangeError(f"the order of a power must be at least 0; found {order}")
    return Polynomial((0.0,) * order + (1.0,))
