"""The compiled exponential and Laplace densities, and the histogram."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch import Tensor

from explorer.backend.layers.base import LeafFunction, Polynomial, ReachedUnits
from explorer.backend.layers.inputs import TorchContinuousLayer
from explorer.backend.numeric import as_complex, cumulative_weights, search, uniform
from explorer.backend.parameters import Role, TorchParameter
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError
from explorer.graph import PARAMETER
from explorer.symbolic import Shape, distributions as symbolic

__all__ = ["TorchExponentialLayer", "TorchHistogramLayer", "TorchLaplaceLayer"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchExponentialLayer(TorchContinuousLayer):
    """log y = -x / mean - log mean for x >= 0, and -inf below. Shapes: x (F, B, 1), mean (F, O) -> y (F, B, O)."""

    compiles = symbolic.ExponentialLayer
    may_return_view = False
    roles = MappingProxyType({"mean": Role.EXPECTED_VALUE})
    mean: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 2 * self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"mean": (self.num_output_units,)}

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        mean = parameters["mean"].unsqueeze(1)  # (F, 1, O)
        return {"mean": mean, "constant": -torch.log(mean)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        log_value = parameters["constant"] - x.to(parameters["mean"].dtype) / parameters["mean"]
        return semiring.from_log(torch.where(x >= 0, log_value, -math.inf))

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(torch.zeros_like(parameters["constant"]))

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        highest = parameters["constant"].squeeze(1)
        return highest, torch.zeros_like(highest).unsqueeze(2)

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        mean = parameters["mean"][at.folds, 0, at.units].double()
        return (-mean * torch.log1p(-uniform(tuple(mean.shape), generator, mean.device))).unsqueeze(1)

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        mean, total = parameters["mean"].double(), torch.zeros_like(parameters["mean"], dtype=torch.float64)
        for power, coefficient in enumerate(_coefficients(function, "an exponential density")):
            total = total + coefficient * math.factorial(power) * mean**power
        return torch.log(as_complex(total))

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        return (parameters["mean"] / other["mean"] - other["constant"]).squeeze(1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLaplaceLayer(TorchContinuousLayer):
    """log y = -|x - location| / scale - log(2 scale). Shapes: x (F, B, 1), location, scale (F, O) -> y (F, B, O)."""

    compiles = symbolic.LaplaceLayer
    may_return_view = False
    location: TorchParameter = field(metadata=PARAMETER)
    scale: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 4 * self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return dict.fromkeys(("location", "scale"), (self.num_output_units,))

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        location, scale = (parameters[name].unsqueeze(1) for name in ("location", "scale"))  # (F, 1, O)
        return {"location": location, "scale": scale, "constant": -torch.log(scale) - math.log(2)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        distance = (x.to(parameters["scale"].dtype) - parameters["location"]).abs()
        return semiring.from_log(parameters["constant"] - distance / parameters["scale"])

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(torch.zeros_like(parameters["constant"]))

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        return parameters["constant"].squeeze(1), parameters["location"].squeeze(1).unsqueeze(2)

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        location, scale = (parameters[name][at.folds, 0, at.units].double() for name in ("location", "scale"))
        draws = uniform((2, len(at.folds)), generator, scale.device)
        size = -torch.log1p(-draws[0])
        return (location + scale * torch.where(draws[1] < 0.5, -size, size)).unsqueeze(1)

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        location, scale = parameters["location"].double(), parameters["scale"].double()
        total = torch.zeros_like(location)
        for power, coefficient in enumerate(_coefficients(function, "a Laplace density")):
            moment = torch.zeros_like(location)  # E[x^n] = sum over even k of n! / (n - k)! location^(n - k) scale^k
            for even in range(0, power + 1, 2):
                moment = moment + math.perm(power, even) * location ** (power - even) * scale**even
            total = total + coefficient * moment
        return torch.log(as_complex(total))

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        step, scale = (parameters["location"] - other["location"]).abs(), parameters["scale"]
        distance = step + scale * torch.exp(-step / scale)  # E|x - location| of the other
        return (distance / other["scale"] - other["constant"]).squeeze(1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchHistogramLayer(TorchContinuousLayer):
    """y[f,b,o] = probs[f,o,bin of x] / width of the bin, 0 outside. Shapes: x (F, B, 1), probs (F, O, edges - 1)."""

    compiles = symbolic.HistogramLayer
    may_return_view = False
    roles = MappingProxyType({"probs": Role.WEIGHTS})
    edges: tuple[float, ...]
    probs: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"probs": (self.num_output_units, len(self.edges) - 1)}

    def _widths(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The edges, and the widths of bins, in double precision."""
        edges = torch.tensor(self.edges, dtype=torch.float64, device=device)
        return edges, edges[1:] - edges[:-1]

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        probs = parameters["probs"]
        _, widths = self._widths(probs.device)
        return {"probs": probs, "density": probs / widths.to(probs.real.dtype)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        point, density = x.squeeze(2).double(), parameters["density"]  # (F, B), (F, O, bins)
        edges, _ = self._widths(x.device)
        state = (point.unsqueeze(2) >= edges[1:-1]).sum(2)
        fold = torch.arange(len(point), device=x.device).unsqueeze(1)
        inside = ((point >= edges[0]) & (point <= edges[-1])).unsqueeze(2)
        return semiring.from_linear(torch.where(inside, density[fold, :, state], 0.0))

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_linear(parameters["probs"].sum(2).unsqueeze(1))

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        edges, widths = self._widths(parameters["density"].device)
        highest = torch.log(parameters["density"]).max(2)
        return highest.values, (edges[:-1] + 0.5 * widths)[highest.indices].unsqueeze(2)

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        draws = uniform((2, len(at.folds)), generator, at.folds.device)
        chosen = search(cumulative_weights(torch.log(parameters["probs"])), (at.folds, at.units), draws[0])
        edges, widths = self._widths(at.folds.device)
        return (edges[:-1][chosen] + draws[1] * widths[chosen]).unsqueeze(1)

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        edges, widths = self._widths(parameters["probs"].device)
        mean = torch.zeros_like(widths)  # of the function in each bin, by its antiderivative
        for power, coefficient in enumerate(_coefficients(function, "a histogram")):
            mean = mean + coefficient * (edges[1:] ** (power + 1) - edges[:-1] ** (power + 1)) / (power + 1) / widths
        probs = parameters["probs"]
        total = (probs * mean.to(probs.dtype) if probs.is_complex() else probs.double() * mean).sum(2)
        return torch.log(as_complex(total)).unsqueeze(1)

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        share = parameters["probs"] / parameters["probs"].sum(2, keepdim=True)
        return -torch.where(share == 0, 0.0, share * torch.log(other["density"])).sum(2)


def _coefficients(function: LeafFunction, what: str) -> tuple[float, ...]:
    """The coefficients of a polynomial. Raises: DataTypeError for another function."""
    if not isinstance(function, Polynomial):
        raise DataTypeError(f"the expectation of {function!r} under {what} has no closed form; pass a Polynomial")
    return function.coefficients
