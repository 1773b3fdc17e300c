"""Further distributions as input layers: exponential, Laplace, histogram, and a joint normal density."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite

from explorer.errors import ScopeError, ValueRangeError
from explorer.graph import PARAMETER
from explorer.symbolic.layers import InputLayer, check_constant, check_shape, check_univariate
from explorer.symbolic.parameters import ParameterNode

__all__ = ["ExponentialLayer", "HistogramLayer", "LaplaceLayer", "MultivariateGaussianLayer"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ExponentialLayer(InputLayer):
    """An exponential density per unit: exp(-x / mean) / mean for x >= 0, and 0 below. Shapes: mean (O,)."""

    mean: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        check_univariate(self)
        check_shape(self, "mean", self.mean, (self.num_output_units,))
        check_constant(self, "mean", self.mean, "above 0", lambda m: m > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class LaplaceLayer(InputLayer):
    """A Laplace density per unit: exp(-|x - location| / scale) / (2 scale). Shapes: location, scale (O,)."""

    location: ParameterNode = field(metadata=PARAMETER)
    scale: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        check_univariate(self)
        for name, value in (("location", self.location), ("scale", self.scale)):
            check_shape(self, name, value, (self.num_output_units,))
        check_constant(self, "scale", self.scale, "above 0", lambda s: s > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramLayer(InputLayer):
    """A density per unit that is constant between two edges: probs[o, bin] / width of the bin, and 0 outside.

    A bin contains its left edge, the last one its right edge too. Shapes: probs (O, number of edges - 1).
    """

    edges: tuple[float, ...]
    probs: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        check_univariate(self)
        object.__setattr__(self, "edges", tuple(map(float, self.edges)))
        pairs = list(pairwise(self.edges))
        if not pairs or not all(low < high for low, high in pairs) or not all(map(isfinite, self.edges)):
            raise ValueRangeError(f"HistogramLayer: edges must be finite and increase; found {self.edges}")
        check_shape(self, "probs", self.probs, (self.num_output_units, len(pairs)))
        check_constant(self, "probs", self.probs, "at least 0", lambda p: p >= 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class MultivariateGaussianLayer(InputLayer):
    """A joint normal density of V variables per unit, in which each is linear in those before it in the scope.

    With d = x - mean: d_v = sum_{w<v} slope[o, v, w] d_w + stddev[o, v] e_v, where e is standard normal. Every
    covariance has this form, and all slopes with positive standard deviations are one; slopes with w >= v are ignored.
    Shapes: mean, stddev (O, V), slope (O, V, V).
    """

    mean: ParameterNode = field(metadata=PARAMETER)
    stddev: ParameterNode = field(metadata=PARAMETER)
    slope: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        if not self.scope:
            raise ScopeError("MultivariateGaussianLayer reads at least one variable; found an empty scope")
        units, count = self.num_output_units, len(self.scope)
        for name, value in (("mean", self.mean), ("stddev", self.stddev)):
            check_shape(self, name, value, (units, count))
        check_shape(self, "slope", self.slope, (units, count, count))
        check_constant(self, "stddev", self.stddev, "above 0", lambda s: s > 0)
