"""The initial values of parameter leaves, as plain data; the compiler turns them into functions that draw values."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import DataTypeError, ValueRangeError
from explorer.symbolic.checks import check_fields

__all__ = ["ConstantInitializer", "DirichletInitializer", "Initializer", "NormalInitializer", "UniformInitializer"]


@dataclass(frozen=True, eq=False)
class Initializer(ABC):
    """Base of all initializers. Raises: DataTypeError if a field does not have its declared type."""

    def __post_init__(self) -> None:
        check_fields(self)
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Further checks of a class at construction."""


@dataclass(frozen=True, eq=False)
class ConstantInitializer(Initializer):
    """Fixed values: one number, or an array with the shape of the leaf.

    Raises: DataTypeError for values that are not numbers; ValueRangeError for NaN.
    """

    value: NDArray[np.generic]

    def __init__(self, value: ArrayLike) -> None:
        try:
            array = np.array(value)
        except (ValueError, TypeError, RuntimeError) as error:
            raise DataTypeError(f"ConstantInitializer needs a number or an array of numbers; {error}") from error
        array.setflags(write=False)
        object.__setattr__(self, "value", array)
        self._check()

    def _check(self) -> None:
        if self.value.dtype.kind not in "biufc":
            raise DataTypeError(f"ConstantInitializer needs a number or an array of numbers; found {self.value.dtype}")
        if self.value.dtype.kind in "fc" and np.isnan(self.value).any():
            raise ValueRangeError("ConstantInitializer needs numbers; found NaN")

    def __repr__(self) -> str:
        what = str(self.value[()]) if self.value.ndim == 0 else f"array{self.value.shape}"
        return f"ConstantInitializer({what})"


@dataclass(frozen=True)
class UniformInitializer(Initializer):
    """Uniform on [low, high). Raises: ValueRangeError unless low < high, both finite."""

    low: float = 0.0
    high: float = 1.0

    def _check(self) -> None:
        if not -inf < self.low < self.high < inf:
            raise ValueRangeError(f"UniformInitializer needs finite low < high; found low={self.low}, high={self.high}")


@dataclass(frozen=True)
class NormalInitializer(Initializer):
    """Normal with a mean and a standard deviation. Raises: ValueRangeError unless stddev > 0, both finite."""

    mean: float = 0.0
    stddev: float = 1.0

    def _check(self) -> None:
        if not isfinite(self.mean):
            raise ValueRangeError(f"NormalInitializer needs a finite mean; found {self.mean}")
        if not 0 < self.stddev < inf:
            raise ValueRangeError(f"NormalInitializer needs a finite stddev > 0; found {self.stddev}")


@dataclass(frozen=True)
class DirichletInitializer(Initializer):
    """Dirichlet with one concentration for all entries, which sum to one along an axis (not counting the fold axis).

    Raises: ValueRangeError unless alpha > 0 and finite.
    """

    alpha: float = 1.0
    axis: int = -1

    def _check(self) -> None:
        if not 0 < self.alpha < inf:
            raise ValueRangeError(f"DirichletInitializer needs a finite alpha > 0; found {self.alpha}")
