"""The compiled inner layers: sum, Hadamard, Kronecker, rearrangement."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from explorer.backend.layers.base import WEIGHT, ReachedUnits, TorchInnerLayer
from explorer.backend.parameters import TorchParameter
from explorer.backend.semiring import Semiring
from explorer.graph import PARAMETER
from explorer.symbolic import Shape, layers as symbolic
from explorer.symbolic.checks import check_output_units

__all__ = [
    "TorchHadamardLayer",
    "TorchKroneckerLayer",
    "TorchRearrangeLayer",
    "TorchSumLayer",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSumLayer(TorchInnerLayer):
    """Weighted sums of units: y[f,b,o] = sum_{h,i} w[f,o,h*I+i] x[f,h,b,i], in the chosen semiring.

    Shapes: x (F, H, B, I), weight (F, O, H*I) -> y (F, B, O).
    Raises: ShapeError if weight has a different shape.
    """

    compiles = symbolic.SumLayer
    may_return_view = False
    roles = WEIGHT
    arity: int = 1
    weight: TorchParameter = field(metadata=PARAMETER)

    @property
    def keeps_width(self) -> bool:
        """Whether there are as many output units as input units."""
        return self.num_output_units == self.num_input_units

    @property
    def flops(self) -> int:
        return 2 * self.num_output_units * self.arity * self.num_input_units

    @property
    def transcendentals(self) -> int:
        return self.arity * self.num_input_units + self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"weight": (self.num_output_units, self.arity * self.num_input_units)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        folds, arity, batch, units = x.shape
        flat = x.squeeze(1) if arity == 1 else x.permute(0, 2, 1, 3).reshape(folds, batch, arity * units)
        return semiring.weighted_sum(flat, parameters["weight"])

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        return log_weights(parameters["weight"], at) + x[at.folds, :, at.rows].flatten(1)

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        inputs = torch.arange(self.arity, device=terms.device)
        unit = (terms % self.num_input_units).unsqueeze(1)
        return torch.where((terms // self.num_input_units).unsqueeze(1) == inputs, unit, -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchHadamardLayer(TorchInnerLayer):
    """Products unit by unit: y[f,b,k] = prod_h x[f,h,b,k]. Shapes: x (F, H, B, K) -> y (F, B, K)."""

    compiles = symbolic.HadamardLayer
    arity: int = 2

    def _check(self) -> None:
        check_output_units(self, self.num_input_units)

    @property
    def flops(self) -> int:
        return (self.arity - 1) * self.num_input_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return hadamard(semiring, x)

    @property
    def num_terms(self) -> int:
        return 1

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        return x[at.folds, :, at.rows, at.units].sum(1, keepdim=True)

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        return at.units.unsqueeze(1).expand(-1, self.arity)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchKroneckerLayer(TorchInnerLayer):
    """Products of all combinations of units, in which the first input varies slowest.

    Shapes: x (F, H, B, I) -> y (F, B, I^H).
    """

    compiles = symbolic.KroneckerLayer
    arity: int = 2

    def _check(self) -> None:
        check_output_units(self, self.num_input_units**self.arity)

    @property
    def flops(self) -> int:
        return sum(self.num_input_units ** (h + 1) for h in range(1, self.arity))

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        y = x[:, 0]
        for h in range(1, self.arity):
            y = semiring.multiply(y.unsqueeze(-1), x[:, h].unsqueeze(-2)).flatten(-2)
        return y

    @property
    def num_terms(self) -> int:
        return 1

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        units = self.term_inputs(at, at.units)
        return x[at.folds, :, at.rows].gather(2, units.unsqueeze(2)).sum(1)

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        return digits(at.units, self.num_input_units, self.arity)


def log_weights(weight: Tensor, at: ReachedUnits) -> Tensor:
    """The logarithms (P, T) of the rows of a weight (F, O, T) that belong to these units; NaN for negative ones."""
    return torch.log(weight[at.folds, at.units])


def digits(number: Tensor, base: int, count: int) -> Tensor:
    """The digits (P, count) of numbers (P,) in a base, the most significant first."""
    powers = base ** torch.arange(count - 1, -1, -1, device=number.device)
    return number.unsqueeze(1) // powers % base


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchRearrangeLayer(TorchInnerLayer):
    """Units in another order, or repeated: views of axes. Shapes: x (F, 1, B, I) -> y (F, B, O)."""

    compiles = symbolic.RearrangeLayer
    arity: int = 1
    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def flops(self) -> int:
        return 0

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        order = [axis for axis in self.axes if axis >= 0]
        if not order:  # one unit, repeated
            return x.squeeze(1).expand(-1, -1, self.num_output_units)
        size_of = {axis: size for axis, size in zip(self.axes, self.sizes, strict=True) if axis >= 0}
        y = x.squeeze(1).unflatten(2, [size_of[axis] for axis in range(len(order))])
        y = y.permute(0, 1, *(2 + axis for axis in order))
        for place, axis in enumerate(self.axes):
            if axis < 0:
                y = y.unsqueeze(2 + place)
        return y.expand(-1, -1, *self.sizes).flatten(2)

    @property
    def num_terms(self) -> int:
        return 1

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        return x[at.folds, 0, at.rows].gather(1, self.term_inputs(at, at.units))

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        return torch.tensor(self.units_read, device=terms.device)[at.units].unsqueeze(1)

    @cached_property
    def units_read(self) -> tuple[int, ...]:
        """For each output unit, the input unit that it is."""
        return symbolic.units_read(self.sizes, self.axes)


def hadamard(semiring: Semiring, x: Tensor) -> Tensor:
    """prod_h x[f,h,b,k]: (F, H, B, K) -> (F, B, K)."""
    arity = x.shape[1]
    if arity > 4:
        return semiring.product(x, dim=1)
    y = x[:, 0]
    for h in range(1, arity):
        y = semiring.multiply(y, x[:, h])
    return y
