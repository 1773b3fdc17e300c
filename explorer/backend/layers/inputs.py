"""The compiled input layers: functions of one variable, constants, and evidence."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch import Tensor

from explorer.backend.layers.base import WEIGHT, LeafFunction, Polynomial, ReachedUnits, TorchInputLayer, apply
from explorer.backend.numeric import (
    as_complex,
    binomial_log_prob,
    can_inspect,
    cumulative_weights,
    normal,
    search,
    uniform,
)
from explorer.backend.parameters import Role, TorchParameter
from explorer.backend.semiring import ComplexLSESumSemiring, Semiring, convert
from explorer.errors import DataTypeError, ValueRangeError
from explorer.graph import NESTED, PARAMETER
from explorer.symbolic import Shape, layers as symbolic

__all__ = [
    "TorchBinomialLayer",
    "TorchCategoricalLayer",
    "TorchConstantValueLayer",
    "TorchContinuousLayer",
    "TorchDiscreteLayer",
    "TorchEmbeddingLayer",
    "TorchEvidenceLayer",
    "TorchGaussianLayer",
    "TorchPolynomialLayer",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchDiscreteLayer(TorchInputLayer, ABC):
    """An input layer of a variable with the values 0 .. num_values-1."""

    @property
    @abstractmethod
    def num_values(self) -> int:
        """The number of values of the variable."""

    def check_input(self, x: Tensor) -> None:
        if x.is_complex():
            raise DataTypeError(f"{type(self).__name__} reads integers; found complex values")
        bad = (x < 0) | (x >= self.num_values)
        if x.is_floating_point():
            bad = bad | (x != x.floor())
        if bool(bad.any()):
            fold, row = (int(i) for i in bad.nonzero()[0][:2])
            raise ValueRangeError(
                f"variable {self.scope_idx[fold][0]} must be an integer from 0 to {self.num_values - 1}; "
                f"found {x[fold, row, 0].item()} in row {row}"
            )

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        values = self.value_table(semiring, parameters)
        return semiring.weighted_sum(values, values.new_ones((self.num_folds, 1, self.num_values))).transpose(1, 2)

    def value_table(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        """The value (F, O, num_values) of each unit for each value of its variable."""
        device = next(iter(parameters.values())).device
        states = torch.arange(self.num_values, device=device).view(1, -1, 1).expand(self.num_folds, -1, -1)
        return self.forward(semiring, states, parameters).transpose(1, 2)

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        largest = semiring.to_log(self.value_table(semiring, parameters)).max(2)
        return largest.values, largest.indices.unsqueeze(2)

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        sums = cumulative_weights(semiring.to_log(self.value_table(semiring, parameters)))
        draws = uniform((len(at.folds),), generator, sums.device)
        return search(sums, (at.folds, at.units), draws).unsqueeze(1)

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        logs = convert(self.value_table(semiring, parameters), semiring, ComplexLSESumSemiring())
        largest = logs.real.amax(2, keepdim=True).clamp(min=torch.finfo(logs.real.dtype).min)
        states = torch.arange(self.num_values, dtype=torch.float64, device=logs.device)
        total = ((logs - largest).exp() * apply(function, states)).sum(2, keepdim=True)
        return (torch.log(total) + largest).transpose(1, 2)

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        share = torch.softmax(semiring.to_log(self.value_table(semiring, parameters)), 2)
        logs = semiring.to_log(self.value_table(semiring, other))
        return -torch.where(share == 0, 0.0, share * logs).sum(2)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchEmbeddingLayer(TorchDiscreteLayer):
    """y[f,b,o] = w[f,o,x[f,b]]. Shapes: x (F, B, 1), weight (F, O, num_states) -> y (F, B, O)."""

    compiles = symbolic.EmbeddingLayer
    may_return_view = False
    roles = WEIGHT
    num_states: int
    weight: TorchParameter = field(metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return self.num_states

    @property
    def flops(self) -> int:
        return self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"weight": (self.num_output_units, self.num_states)}

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return lookup_table(semiring.from_linear(parameters["weight"]))

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return look_up(parameters, x)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchCategoricalLayer(TorchDiscreteLayer):
    """log y[f,b,o] = log probs[f,o,x[f,b]], or logits[f,o,x[f,b]] as they are.

    Shapes: x (F, B, 1), probs or logits (F, O, num_categories) -> y (F, B, O).
    """

    compiles = symbolic.CategoricalLayer
    may_return_view = False
    roles = MappingProxyType({"probs": Role.WEIGHTS, "logits": Role.LOG_WEIGHTS})
    num_categories: int
    probs: TorchParameter | None = field(default=None, metadata=PARAMETER)
    logits: TorchParameter | None = field(default=None, metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return self.num_categories

    @property
    def flops(self) -> int:
        return self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return dict.fromkeys(("probs", "logits"), (self.num_output_units, self.num_categories))

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        if "logits" in parameters:
            return lookup_table(semiring.from_log(parameters["logits"]))
        return lookup_table(semiring.from_linear(parameters["probs"]))

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return look_up(parameters, x)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchBinomialLayer(TorchDiscreteLayer):
    """log y = log C(n, x) + x log p + (n - x) log(1 - p).

    Shapes: x (F, B, 1), probs or logits (F, O) -> y (F, B, O).
    Its compile rule (`compile_binomial`) passes probs that are a sigmoid as logits.
    """

    may_return_view = False
    roles = MappingProxyType({"probs": Role.PROBABILITY, "logits": Role.LOG_ODDS})
    total_count: int
    probs: TorchParameter | None = field(default=None, metadata=PARAMETER)
    logits: TorchParameter | None = field(default=None, metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return self.total_count + 1

    @property
    def flops(self) -> int:
        return 8 * self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return dict.fromkeys(("probs", "logits"), (self.num_output_units,))

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        is_logits = "logits" in parameters
        given = parameters["logits" if is_logits else "probs"].unsqueeze(1)  # (F, 1, O)
        log_value = binomial_log_prob(x, self.total_count, given, is_logits=is_logits)  # (F, B, O)
        if not can_inspect(x):  # so `check_input` did not run
            legal = (x >= 0) & (x <= self.total_count) & (x == x.long())
            log_value = torch.where(legal, log_value, math.nan)
        return semiring.from_log(log_value)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchContinuousLayer(TorchInputLayer, ABC):
    """An input layer of a real variable.

    `forward` receives x as it was passed to the circuit: integers, or real numbers of any precision. Convert it to that
    of the parameters, as in `x.to(parameters["mean"].dtype)`, so that the activation has it too.
    """

    def check_input(self, x: Tensor) -> None:
        if x.is_complex():
            raise DataTypeError(f"{type(self).__name__} reads real numbers; found complex values")
        if x.is_floating_point() and bool(torch.isnan(x).any()):
            fold, row = (int(i) for i in torch.isnan(x).nonzero()[0][:2])
            raise ValueRangeError(f"variable {self.scope_idx[fold][0]} is NaN in row {row}; replace it by a number")


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGaussianLayer(TorchContinuousLayer):
    """log y = -((x - mean) / stddev)^2 / 2 - log stddev - log(2 pi) / 2, plus log_partition where given.

    Shapes: x (F, B, 1), mean, stddev, log_partition (F, O) -> y (F, B, O).
    """

    compiles = symbolic.GaussianLayer
    may_return_view = False
    roles = MappingProxyType({"mean": Role.MEAN, "stddev": Role.STDDEV})
    mean: TorchParameter = field(metadata=PARAMETER)
    stddev: TorchParameter = field(metadata=PARAMETER)
    log_partition: TorchParameter | None = field(default=None, metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 5 * self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return dict.fromkeys(("mean", "stddev", "log_partition"), (self.num_output_units,))

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        mean, stddev = parameters["mean"].unsqueeze(1), parameters["stddev"].unsqueeze(1)  # (F, 1, O)
        constant = -torch.log(stddev) - 0.5 * math.log(2 * math.pi)
        if "log_partition" in parameters:
            constant = constant + parameters["log_partition"].unsqueeze(1)
        return {"mean": mean, "stddev": stddev, "constant": constant}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        mean, stddev = parameters["mean"], parameters["stddev"]
        scaled = (x.to(mean.dtype) - mean) / stddev
        return semiring.from_log(torch.addcmul(parameters["constant"], scaled, scaled, value=-0.5))

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(self._log_mass(parameters))

    def _log_mass(self, parameters: Mapping[str, Tensor]) -> Tensor:
        return parameters["constant"] + torch.log(parameters["stddev"]) + 0.5 * math.log(2 * math.pi)

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        return parameters["constant"].squeeze(1), parameters["mean"].squeeze(1).unsqueeze(2)

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        mean, stddev = (parameters[name][at.folds, 0, at.units] for name in ("mean", "stddev"))
        return (mean + stddev * normal(mean.shape, generator, mean.device)).unsqueeze(1)

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        if not isinstance(function, Polynomial):
            raise DataTypeError(
                f"the expectation of {function!r} under a Gaussian has no closed form; pass a Polynomial"
            )
        mean, stddev = parameters["mean"], parameters["stddev"]
        moments = [torch.ones_like(mean), mean]  # E[x^n] = mean E[x^(n-1)] + (n-1) stddev^2 E[x^(n-2)]
        for n in range(2, len(function.coefficients)):
            moments.append(mean * moments[-1] + (n - 1) * stddev**2 * moments[-2])
        total = torch.zeros_like(mean)
        for coefficient, moment in zip(function.coefficients, moments, strict=False):
            total = total + coefficient * moment
        return torch.log(as_complex(total)) + self._log_mass(parameters)

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        distance = (parameters["mean"] - other["mean"]) ** 2 + parameters["stddev"] ** 2
        return (0.5 * distance / other["stddev"] ** 2 - other["constant"]).squeeze(1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchPolynomialLayer(TorchContinuousLayer):
    """y = sum_d coeff[f,o,d] x^d, by Horner's rule. Shapes: x (F, B, 1), coeff (F, O, degree+1) -> y (F, B, O)."""

    compiles = symbolic.PolynomialLayer
    degree: int
    coeff: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 2 * self.degree * self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"coeff": (self.num_output_units, self.degree + 1)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        coeff = parameters["coeff"]
        point = x.to(coeff.dtype)  # (F, B, 1)
        y = coeff[:, :, -1].unsqueeze(1).expand(-1, x.shape[1], -1)
        for power in range(self.degree - 1, -1, -1):
            y = y * point + coeff[:, :, power].unsqueeze(1)
        return semiring.from_linear(y)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchConstantValueLayer(TorchInputLayer):
    """A constant, given as a value or as its logarithm. Shapes: x (F, B, 0), value (F, O) -> y (F, B, O)."""

    compiles = symbolic.ConstantValueLayer
    log_space: bool
    value: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 0

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"value": (self.num_output_units,)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        value = parameters["value"].unsqueeze(1)
        mapped = semiring.from_log(value) if self.log_space else semiring.from_linear(value)
        return mapped.expand(-1, x.shape[1], -1)

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        value = parameters["value"]
        return self.forward(semiring, value.new_empty((self.num_folds, 1, 0)), parameters)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchEvidenceLayer(TorchInputLayer):
    """The observed layer at its observation. Shapes: x (F, B, 0), observation (F, V) -> y (F, B, O)."""

    compiles = symbolic.EvidenceLayer
    layer: TorchInputLayer = field(metadata=NESTED)
    observation: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return self.layer.flops

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"observation": (self.layer.num_variables,)}

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        seen = parameters["observation"].unsqueeze(1)  # (F, 1, V)
        inner = {name.removeprefix("layer."): value for name, value in parameters.items() if name != "observation"}
        if can_inspect(seen):
            self.layer.check_input(seen)
        return {"value": self.layer.forward(semiring, seen, self.layer.prepare(semiring, inner))}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return parameters["value"].expand(-1, x.shape[1], -1)

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return parameters["value"]


def lookup_table(table: Tensor) -> Mapping[str, Tensor]:
    """A table (F, O, V) of values by state in the layout that is fastest to read.

    Without gradients that is `rows` (F, V, O), one row of units for each state; with gradients, or where the copy would
    be part of a traced graph, transposing it costs more than it saves.
    """
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return {"table": table}
    return {"rows": table.transpose(1, 2).contiguous()}


def look_up(prepared: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """The values (F, B, O) of the states x (F, B, 1) in a table made by `lookup_table`.

    Where values cannot be inspected, so that `check_input` does not run, a state outside of 0 .. V-1 results in NaN.
    """
    x = x.squeeze(2)
    state = x.long()
    legal: Tensor | None = None
    if not can_inspect(x):
        num_states = prepared["table"].shape[2] if "table" in prepared else prepared["rows"].shape[1]
        legal = (x >= 0) & (x < num_states) & (x == state)
        state = state.clamp(0, num_states - 1)
    fold = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    if "table" in prepared:
        found = prepared["table"][fold, :, state]
    else:
        rows = prepared["rows"]
        folds, num_states, units = rows.shape
        flat = torch.index_select(rows.view(folds * num_states, units), 0, (fold * num_states + state).reshape(-1))
        found = flat.reshape(folds, x.shape[1], units)
    return found if legal is None else torch.where(legal.unsqueeze(2), found, math.nan)
