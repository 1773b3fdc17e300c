"""How a parameter leaf gets its first value. Plain data: the values are drawn where tensors live, in the backend."""

from abc import ABC
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.errors import ValueRangeError


@dataclass(frozen=True, eq=False)
class Initializer(ABC):
    """Base of all initializers."""


@dataclass(frozen=True, eq=False)
class ConstantInitializer(Initializer):
    """The same given values each time: one number, or an array of the shape of the leaf."""

    value: NDArray[np.generic]

    def __init__(self, value: ArrayLike) -> None:
        array = np.array(value)
        array.setflags(write=False)
        object.__setattr__(self, "value", array)

    def __repr__(self) -> str:
        what = str(self.value[()]) if self.value.ndim == 0 else f"array{self.value.shape}"
        return f"ConstantInitializer({what})"


@dataclass(frozen=True)
class UniformInitializer(Initializer):
    """Uniform on [low, high). Raises: ValueRangeError unless low < high."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueRangeError(f"UniformInitializer needs low < high; found low={self.low}, high={self.high}")


@dataclass(frozen=True)
class NormalInitializer(Initializer):
    """Normal with a mean and a standard deviation. Raises: ValueRangeError unless stddev > 0."""

    mean: float = 0.0
    stddev: float = 1.0

    def __post_init__(self) -> None:
        if not self.stddev > 0:
            raise ValueRangeError(f"NormalInitializer needs stddev > 0; found {self.stddev}")


@dataclass(frozen=True)
class DirichletInitializer(Initializer):
    """Dirichlet with one concentration for all entries, along an axis (fold axis not counted): entries sum to one.

    Raises: ValueRangeError unless alpha > 0.
    """

    alpha: float = 1.0
    axis: int = -1

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise ValueRangeError(f"DirichletInitializer needs alpha > 0; found {self.alpha}")
