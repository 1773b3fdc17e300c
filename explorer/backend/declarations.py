"""Declarations of compiled classes: the class that they compile, and how expectation-maximization learns through them.

An M-step finds the best value of a leaf behind a link, such as a softmax: a row of probabilities. The inverse of
the link is stored in the leaf. Between this value and the parameter of a layer may be operators that only add and
multiply, so that the likelihood is a polynomial in the values. All computations are in double precision.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from explorer.errors import DataTypeError, DuplicateNameError

_compiled_classes: dict[type, type] = {}


def register_compiled_class(compiled: Any, family: type) -> None:
    """Register a class that declares what it compiles itself; an inherited declaration does not count.

    A class that is defined again under its name, as in a notebook, replaces the earlier definition.
    Raises: DataTypeError unless `compiles` is a subclass of `family`; DuplicateNameError if another class compiles it.
    """
    symbolic = compiled.__dict__.get("compiles")
    if symbolic is None:
        return
    if not isinstance(symbolic, type) or not issubclass(symbolic, family):
        raise DataTypeError(f"{compiled.__name__}: compiles must be a subclass of {family.__name__}; got {symbolic!r}")
    known: Any = _compiled_classes.get(symbolic, compiled)
    if (known.__module__, known.__qualname__) != (compiled.__module__, compiled.__qualname__):
        raise DuplicateNameError(f"{compiled.__name__}: {symbolic.__name__} is already compiled by {known.__name__}")
    _compiled_classes[symbolic] = compiled


def compiled_class_of(symbolic: type) -> Any:
    """The class that declares to compile this symbolic class; None if there is none."""
    return _compiled_classes.get(symbolic)


TINY = 1e-30
"""The smallest probability with a logarithm in a leaf: it is a number in single precision."""
MARGIN = 1e-6
"""Smallest distance of a sigmoid to its bounds after an M-step, by its range: at 0, the leaf is infinite."""
NEXT_TO_BOUND = 1e-15
"""Smallest distance to its bounds at which the inverse of a sigmoid can be computed."""


class Role(Enum):
    """The meaning of a parameter in the value of a unit."""

    WEIGHTS = "factors of the terms of a sum"
    LOG_WEIGHTS = "logarithms of such factors"
    PROBABILITY = "the probability of success of a binomial distribution"
    LOG_ODDS = "its log-odds"
    MEAN = "the mean of a normal distribution"
    STDDEV = "its standard deviation"
    EXPECTED_VALUE = "the expected value of the variable, which determines the distribution"
    SLOPE = "the slopes of its variables in those before them"


class Domain(Enum):
    """The factors of terms that the entries of a value are: themselves, or their exponentials."""

    LINEAR = "linear"
    LOG = "log"


Domains = Mapping[Domain, Domain]
"""The domain of the operands of an operator, for each domain that its result may have."""

LINEAR: Domains = MappingProxyType({Domain.LINEAR: Domain.LINEAR})
LOG: Domains = MappingProxyType({Domain.LOG: Domain.LOG})
BOTH: Domains = MappingProxyType({**LINEAR, **LOG})


@dataclass(frozen=True, slots=True)
class Link(ABC):
    """A function of a leaf with an inverse. Equal links have equal fields.

    Shapes: leaf (F, *shape), with the shape of the leaf -> value (F, *shape).
    """

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that the link can have, apart from rounding."""
        return (0.0, inf)

    @property
    def normalized_axis(self) -> int | None:
        """The axis, not counting the folds, along which the values of each leaf sum to one; None without one."""
        return None

    @abstractmethod
    def value(self, leaf: Tensor) -> Tensor:
        """The value of the numbers of a leaf."""

    @abstractmethod
    def inverse(self, value: Tensor) -> Tensor:
        """Numbers of a leaf that have this value, which is within the bounds."""


@dataclass(frozen=True, slots=True)
class IdentityLink(Link):
    """The leaf itself."""

    def value(self, leaf: Tensor) -> Tensor:
        return leaf

    def inverse(self, value: Tensor) -> Tensor:
        return value


@dataclass(frozen=True, slots=True)
class ExpLink(Link):
    """exp(x)."""

    def value(self, leaf: Tensor) -> Tensor:
        return torch.exp(leaf)

    def inverse(self, value: Tensor) -> Tensor:
        return torch.log(value.clamp(min=TINY))


@dataclass(frozen=True, slots=True)
class SoftmaxLink(Link):
    """exp(x) / sum exp(x) along an axis, which does not count the fold axis."""

    axis: int

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def normalized_axis(self) -> int:
        return self.axis

    def value(self, leaf: Tensor) -> Tensor:
        return torch.softmax(leaf, dim=self.axis + 1)

    def inverse(self, value: Tensor) -> Tensor:
        return torch.log(value.clamp(min=TINY))


@dataclass(frozen=True, slots=True)
class SoftplusLink(Link):
    """log(1 + exp(x))."""

    def value(self, leaf: Tensor) -> Tensor:
        return torch.nn.functional.softplus(leaf)

    def inverse(self, value: Tensor) -> Tensor:
        y = value.clamp(min=TINY)
        return y + torch.log(-torch.expm1(-y))


@dataclass(frozen=True, slots=True)
class SquareLink(Link):
    """x * x."""

    def value(self, leaf: Tensor) -> Tensor:
        return leaf * leaf

    def inverse(self, value: Tensor) -> Tensor:
        return torch.sqrt(value)


@dataclass(frozen=True, slots=True)
class SigmoidLink(Link):
    """low + (high - low) / (1 + exp(-x))."""

    low: float = 0.0
    high: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        return (self.low, self.high)

    def value(self, leaf: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * torch.sigmoid(leaf)

    def inverse(self, value: Tensor) -> Tensor:
        return torch.logit((value - self.low) / (self.high - self.low), eps=NEXT_TO_BOUND)


@dataclass(frozen=True, slots=True)
class ClampLink(Link):
    """min(max(x, low), high)."""

    low: float
    high: float

    @property
    def bounds(self) -> tuple[float, float]:
        return (self.low, self.high)

    def value(self, leaf: Tensor) -> Tensor:
        return leaf.clamp(self.low, self.high)

    def inverse(self, value: Tensor) -> Tensor:
        return value.clamp(self.low, self.high)
