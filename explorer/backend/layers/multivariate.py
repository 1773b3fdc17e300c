"""The compiled joint normal density, and its conditional distributions given some of its variables."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from explorer.backend.layers.base import LeafFunction, Polynomial, ReachedUnits, apply
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.backend.numeric import normal
from explorer.backend.parameters import Role, TorchParameter
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError
from explorer.graph import PARAMETER
from explorer.symbolic import Shape, distributions as symbolic

__all__ = ["TorchMultivariateGaussianLayer"]

MAX_POINTS = 100_000
"""Maximum number of points at which a product of polynomials is evaluated."""
LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, slots=True, eq=False)
class Conditionals:
    """The conditional distributions of the units of F folds given values (F, R, V), observed where `seen` (F, V).

    `rows` (R,) have their numbers. `center` (F, O, R, V) are the conditional means, and the values themselves where
    observed; `factor` (F, O, V, V) the Cholesky factor of the inverse of the covariance, with rows of the identity
    where observed; `log_peak` (F, O, 1) the logarithm of the conditional density at the mean.
    """

    rows: Tensor
    seen: Tensor
    center: Tensor
    factor: Tensor
    log_peak: Tensor

    def covariance(self) -> Tensor:
        """The conditional covariance (F, O, V, V); zero where observed."""
        unseen = ~self.seen
        both = unseen.unsqueeze(1) & unseen.unsqueeze(2)
        return torch.where(both.unsqueeze(1), torch.cholesky_inverse(self.factor), 0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMultivariateGaussianLayer(TorchContinuousLayer):
    """log y = -|z|^2 / 2 - sum_v log stddev_v - V log(2 pi) / 2, with z = root (x - mean).

    `root` = (1 - slope) / stddev is lower triangular, and root^T root the inverse of the covariance.
    Shapes: x (F, B, V), mean, stddev (F, O, V), slope (F, O, V, V) -> y (F, B, O).
    """

    compiles = symbolic.MultivariateGaussianLayer
    may_return_view = False
    roles = MappingProxyType({"mean": Role.MEAN, "stddev": Role.STDDEV, "slope": Role.SLOPE})
    mean: TorchParameter = field(metadata=PARAMETER)
    stddev: TorchParameter = field(metadata=PARAMETER)
    slope: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return self.num_output_units * (self.num_variables**2 + 3 * self.num_variables + 1)

    def parameter_shapes(self) -> Mapping[str, Shape]:
        units, count = self.num_output_units, self.num_variables
        return {"mean": (units, count), "stddev": (units, count), "slope": (units, count, count)}

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        stddev, slope = parameters["stddev"], parameters["slope"]
        one = torch.eye(self.num_variables, dtype=slope.dtype, device=slope.device)
        constant = -torch.log(stddev).sum(2) - 0.5 * self.num_variables * LOG_2PI
        return {
            "mean": parameters["mean"].unsqueeze(2),  # (F, O, 1, V)
            "root": (one - slope.tril(-1)) / stddev.unsqueeze(3),
            "constant": constant.unsqueeze(1),  # (F, 1, O)
        }

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(_log_density(x.to(parameters["mean"].dtype).unsqueeze(1), parameters))

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(torch.zeros_like(parameters["constant"]))

    def marginal(self, semiring: Semiring, x: Tensor, observed: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        if not bool((observed.any(2) & ~observed.all(2)).any()):
            return super().marginal(semiring, x, observed, parameters)
        return semiring.from_log(self._log_values(x, observed, parameters, peak=False))

    def largest_given(
        self, semiring: Semiring, x: Tensor, observed: Tensor, parameters: Mapping[str, Tensor]
    ) -> Tensor:
        return self._log_values(x, observed, parameters, peak=True)

    def _log_values(self, x: Tensor, observed: Tensor, parameters: Mapping[str, Tensor], peak: bool) -> Tensor:
        """The logarithms (F, B, O) of the density at the conditional means, or without their peak, as a marginal."""
        precise = {name: value.double() for name, value in parameters.items()}
        found: list[Tensor] = []
        order: list[Tensor] = []
        for given in _conditionals(x, observed, precise):
            logs = _log_density(given.center, precise)
            found.append(logs if peak else logs - given.log_peak.transpose(1, 2))
            order.append(given.rows)
        return torch.cat(found, 1)[:, torch.cat(order).argsort()].to(parameters["mean"].dtype)

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        return parameters["constant"].squeeze(1), parameters["mean"].squeeze(2)

    def mode_given(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, x: Tensor, observed: Tensor
    ) -> Tensor:
        return _complete(parameters, at, x, observed, torch.zeros_like(x, dtype=torch.float64))

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        nothing = torch.zeros((len(at.folds), self.num_variables), dtype=torch.bool, device=at.folds.device)
        return self.sample_given(semiring, parameters, at, generator, nothing.double(), nothing)

    def sample_given(
        self,
        semiring: Semiring,
        parameters: Mapping[str, Tensor],
        at: ReachedUnits,
        generator: torch.Generator,
        x: Tensor,
        observed: Tensor,
    ) -> Tensor:
        return _complete(parameters, at, x, observed, normal(tuple(x.shape), generator, x.device))

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        if self.num_variables > 1:
            return super().expectation(semiring, parameters, function)
        nothing = torch.zeros((1, 1), dtype=torch.float64, device=parameters["mean"].device)
        found = [
            self.expectation_given(parameters, {0: function}, fold, nothing, nothing.bool())
            for fold in range(self.num_folds)
        ]
        return torch.log(torch.stack(found).to(torch.complex128))

    def expectation_given(
        self,
        parameters: Mapping[str, Tensor],
        functions: Mapping[int, LeafFunction],
        fold: int,
        x: Tensor,
        observed: Tensor,
    ) -> Tensor:
        own = {name: value[fold : fold + 1].double() for name, value in parameters.items()}
        found = torch.empty((len(x), self.num_output_units), dtype=torch.float64, device=x.device)
        for given in _conditionals(x.unsqueeze(0), observed.unsqueeze(0), own):
            found[given.rows] = _product_mean(functions, given).T
        return found

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        one = torch.eye(self.num_variables, dtype=parameters["root"].dtype, device=parameters["root"].device)
        spread = torch.linalg.solve_triangular(parameters["root"], one.expand_as(parameters["root"]), upper=False)
        size = (other["root"] @ spread).square().sum((2, 3))
        shift = ((parameters["mean"] - other["mean"]) @ other["root"].transpose(2, 3)).square().sum((2, 3))
        return 0.5 * (size + shift) - other["constant"].squeeze(1)

    def expected_moments(
        self, parameters: Mapping[str, Tensor], x: Tensor, observed: Tensor, share: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The sums over rows of responsibilities `share` (F, B, O), and of their products with E[x] and E[x x^T].

        Expectations are those given the observed variables of each row. Shapes: x, observed (F, B, V) -> (F, O),
        (F, O, V), (F, O, V, V), in double precision.
        """
        precise = {name: value.double() for name, value in parameters.items()}
        units, count = self.num_output_units, self.num_variables
        sums = torch.zeros((self.num_folds, units, count), dtype=torch.float64, device=x.device)
        squares = torch.zeros((self.num_folds, units, count, count), dtype=torch.float64, device=x.device)
        for given in _conditionals(x, observed, precise):
            own = share[:, given.rows].transpose(1, 2).double().unsqueeze(3)  # (F, O, R, 1)
            weighted = own * given.center
            sums += weighted.sum(2)
            squares += weighted.transpose(2, 3) @ given.center + own.sum(2, keepdim=True) * given.covariance()
        return share.double().sum(1), sums, squares


def _log_density(x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
    """The logarithms (F, B, O) of densities at values (F, O or 1, B, V)."""
    z = torch.matmul(x - parameters["mean"], parameters["root"].transpose(2, 3))  # (F, O, B, V)
    return parameters["constant"] - 0.5 * (z * z).sum(3).transpose(1, 2)


def _conditionals(x: Tensor, observed: Tensor, parameters: Mapping[str, Tensor]) -> Iterator[Conditionals]:
    """Yield the conditional distributions given the observed values of rows x (F, B, V), by what rows observe.

    In terms of the inverse of the covariance, which needs no difference of covariances: its block of the variables that
    are not observed is that of the conditional distribution. Parameters and results are in double precision.
    """
    root, mean = parameters["root"], parameters["mean"]
    inverse = root.transpose(2, 3) @ root
    for rows, seen in _patterns(observed):
        known, values = seen[:, None, None], x[:, rows].double().unsqueeze(1)  # (F, 1, 1, V), (F, 1, R, V)
        both = ~seen.unsqueeze(1) & ~seen.unsqueeze(2)
        inner = torch.where(both.unsqueeze(1), inverse, 0.0) + torch.diag_embed(seen.to(root.dtype)).unsqueeze(1)
        factor = torch.linalg.cholesky(inner)
        distance = torch.where(known, values - mean, 0.0)
        pull = torch.where(known, 0.0, distance @ inverse)
        shift = torch.cholesky_solve(pull.transpose(2, 3), factor).transpose(2, 3)
        center = torch.where(known, values, mean - shift)
        log_peak = factor.diagonal(dim1=2, dim2=3).log().sum(2) - 0.5 * LOG_2PI * (~seen).sum(1, keepdim=True)
        yield Conditionals(rows, seen, center, factor, log_peak.unsqueeze(2))


def _patterns(observed: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the rows that observe the same variables in each fold, and which (F, V), given `observed` (F, B, V)."""
    folds, rows, count = observed.shape
    flat = observed.transpose(0, 1).reshape(rows, folds * count)
    distinct, which = torch.unique(flat, dim=0, return_inverse=True)
    for number, seen in enumerate(distinct):
        yield (which == number).nonzero().flatten(), seen.reshape(folds, count)


def _complete(parameters: Mapping[str, Tensor], at: ReachedUnits, x: Tensor, observed: Tensor, noise: Tensor) -> Tensor:
    """Values (P, V) of P units given the observed ones: the conditional mean, plus standard normal noise (P, V)."""
    found = x.double().clone()
    keys = torch.stack([at.folds, at.units], 1)
    distinct, which = torch.unique(keys, dim=0, return_inverse=True)
    for number, (fold, unit) in enumerate(distinct.tolist()):
        own = (which == number).nonzero().flatten()
        part = {
            name: parameters[name][fold : fold + 1, unit : unit + 1].double() for name in ("mean", "root")
        }  # of one unit
        for given in _conditionals(x[own].unsqueeze(0), observed[own].unsqueeze(0), part):
            rows = own[given.rows]
            drawn = torch.linalg.solve_triangular(given.factor[0, 0].T, noise[rows].T, upper=True).T
            found[rows] = given.center[0, 0] + torch.where(given.seen, 0.0, drawn)
    return found


def _product_mean(functions: Mapping[int, LeafFunction], given: Conditionals) -> Tensor:
    """The means (O, R) of the product of functions by position of their variables, in one fold.

    Gauss-Hermite quadrature is exact for polynomials. Raises: DataTypeError for another function, or too many points.
    """
    total = torch.ones_like(given.center[0, :, :, 0])
    unseen = [position for position in functions if not bool(given.seen[0, position])]
    for position in functions:
        if position not in unseen:
            total = total * apply(functions[position], given.center[0, :, :, position])
    degree = 0
    for position in unseen:
        function = functions[position]
        if not isinstance(function, Polynomial):
            raise DataTypeError(
                f"the expectation of {function!r} under a Gaussian has no closed form; pass a Polynomial"
            )
        degree += len(function.coefficients) - 1
    if not unseen:
        return total
    size = max(degree, 0) // 2 + 1
    if size ** len(unseen) > MAX_POINTS:
        raise DataTypeError(
            f"the product of functions of {len(unseen)} variables of one MultivariateGaussianLayer has the degree "
            f"{degree}, which needs {size ** len(unseen):,} points, more than {MAX_POINTS:,}; ask about fewer of them"
        )
    nodes, weights = (torch.from_numpy(part).to(total.device) for part in np.polynomial.hermite_e.hermegauss(size))
    axes = [torch.arange(size, device=total.device)] * len(unseen)
    grid = torch.cartesian_prod(*axes).reshape(-1, len(unseen))  # (Q, J)
    share = (weights / weights.sum())[grid].prod(1)
    factor = torch.linalg.cholesky(given.covariance()[0][:, unseen][:, :, unseen])  # (O, J, J)
    steps = nodes[grid] @ factor.transpose(1, 2)  # (O, Q, J)
    value = share.expand(*total.shape, -1)
    for number, position in enumerate(unseen):
        points = given.center[0, :, :, position].unsqueeze(2) + steps[:, None, :, number]
        value = value * apply(functions[position], points)
    return total * value.sum(2)
