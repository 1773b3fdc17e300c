"""The initial values of parameter leaves, as plain data; the compiler turns them into functions that draw values."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import DataTypeError, ValueRangeError
from explorer.symbolic.checks import check_fields, wrong_type

__all__ = [
    "ConstantInitializer",
    "DirichletInitializer",
    "Initializer",
    "LearnedInitializer",
    "NormalInitializer",
    "SoftmaxInitializer",
    "UniformInitializer",
]


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
class LearnedInitializer(Initializer):
    """The values that a leaf of a circuit of the gallery has learned until an epoch, by name: files do not copy them.

    Raises: DataTypeError. An unknown name is an error of compiling.
    """

    circuit: str
    epoch: int
    leaf: str

    def _check(self) -> None:
        pass


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
    """Dirichlet along an axis (not counting the fold axis), along which the entries sum to one.

    `alpha` is one concentration for all entries, or a tuple of one per entry of the axis.
    Raises: DataTypeError; ValueRangeError unless every alpha is above 0 and finite.
    """

    alpha: float | tuple[float, ...] = 1.0
    axis: int = -1

    def _check(self) -> None:
        given = cast("object", self.alpha)
        many = isinstance(given, (tuple, list))
        values = tuple(cast("Sequence[object]", given)) if many else (given,)
        if not values or not all(_is_real(a) for a in values):
            raise wrong_type(self, "alpha", "a number or a tuple of numbers", given)
        alphas = tuple(float(cast("float", a)) for a in values)
        for alpha in alphas:
            if not 0 < alpha < inf:
                raise ValueRangeError(f"DirichletInitializer needs a finite alpha > 0; found {alpha}")
        object.__setattr__(self, "alpha", alphas if many else alphas[0])


def _is_real(value: object) -> bool:
    return type(value) is not bool and isinstance(value, Real)


@dataclass(frozen=True)
class SoftmaxInitializer(Initializer):
    """The softmax, along an axis (not counting the fold axis), of values drawn by another initializer."""

    initializer: Initializer
    axis: int = -1

    def _check(self) -> None:
        if isinstance(self.initializer, (ConstantInitializer, LearnedInitializer)):
            found = type(self.initializer).__name__
            raise DataTypeError(f"SoftmaxInitializer needs an initializer that draws; found a {found}")
