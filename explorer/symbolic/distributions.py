"""Further distributions as input layers: a joint normal density of several variables."""

from dataclasses import dataclass, field

from explorer.errors import ScopeError
from explorer.graph import PARAMETER
from explorer.symbolic.layers import InputLayer, check_constant, check_shape
from explorer.symbolic.parameters import ParameterNode

__all__ = ["MultivariateGaussianLayer"]


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
