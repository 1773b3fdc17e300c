"""The layers that only rules create: CPT, Tucker, TensorDot, Mixing; and chains, for layers without a fused form."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from explorer.backend.layers.base import WEIGHT, ReachedUnits, TorchInnerLayer
from explorer.backend.layers.inner import digits, hadamard, log_weights
from explorer.backend.parameters import TorchParameter
from explorer.backend.semiring import Semiring
from explorer.errors import ShapeError
from explorer.graph import NESTED, PARAMETER
from explorer.symbolic import Shape
from explorer.symbolic.checks import check_output_units

__all__ = [
    "TorchCPTLayer",
    "TorchMixingLayer",
    "TorchTensorDotLayer",
    "TorchTuckerLayer",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchCPTLayer(TorchInnerLayer):
    """A Hadamard product and a sum: y[f,b,o] = sum_i w[f,o,i] prod_h x[f,h,b,i].

    Shapes: x (F, H, B, I), weight (F, O, I) -> y (F, B, O).
    """

    kind = "fused"
    multiplies = True
    may_return_view = False
    roles = WEIGHT
    arity: int = 2
    weight: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        products = (self.arity - 1) * self.num_input_units
        return products + 2 * self.num_output_units * self.num_input_units

    @property
    def transcendentals(self) -> int:
        return self.num_input_units + self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"weight": (self.num_output_units, self.num_input_units)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.weighted_sum(hadamard(semiring, x), parameters["weight"])

    @property
    def num_terms(self) -> int:
        return self.num_input_units

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        return log_weights(parameters["weight"], at) + x[at.folds, :, at.rows].sum(1)

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        return terms.unsqueeze(1).expand(-1, self.arity)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchTuckerLayer(TorchInnerLayer):
    """A Kronecker product and a sum: y[f,b,o] = sum_{i..j} w[f,o,i..j] x[f,0,b,i] .. x[f,H-1,b,j].

    The I^H products are never computed in log space. Shapes: x (F, H, B, I), weight (F, O, I^H) -> y (F, B, O).
    See Peharz et al. 2020, Einsum Networks.
    """

    kind = "fused"
    multiplies = True
    may_return_view = False
    roles = WEIGHT
    arity: int = 2
    weight: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        products = sum(self.num_input_units ** (h + 1) for h in range(1, self.arity))
        sums = 2 * self.num_output_units * self.num_input_units**self.arity
        return products + sums

    @property
    def transcendentals(self) -> int:
        return self.arity * self.num_input_units + self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"weight": (self.num_output_units, self.num_input_units**self.arity)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        weight = parameters["weight"].unflatten(2, (self.num_input_units,) * self.arity)
        return semiring.contract([x[:, h] for h in range(self.arity)], weight)

    @property
    def num_terms(self) -> int:
        return self.num_input_units**self.arity

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        inputs = x[at.folds, :, at.rows]  # (P, H, I)
        products = inputs[:, 0]
        for h in range(1, self.arity):
            products = (products.unsqueeze(2) + inputs[:, h].unsqueeze(1)).flatten(1)
        return log_weights(parameters["weight"], at) + products

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        return digits(terms, self.num_input_units, self.arity)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchTensorDotLayer(TorchInnerLayer):
    """One factor of a Kronecker weight: with I = J*Q and O = Q*P, y[f,b,q*P+p] = sum_j w[f,p,j] x[f,b,j*Q+q].

    (A kron B) x is the TensorDot of A, then of B. Shapes: x (F, 1, B, I), weight (F, P, J) -> y (F, B, O).
    Raises: ShapeError unless J divides I and O = P*I/J.
    """

    kind = "fused"
    multiplies = False
    may_return_view = False
    roles = WEIGHT
    arity: int = 1
    weight: TorchParameter = field(metadata=PARAMETER)

    def _check(self) -> None:
        shape = self.weight.shape
        fits = len(shape) == 2 and self.num_input_units % shape[1] == 0
        if not fits or self.num_output_units != shape[0] * (self.num_input_units // shape[1]):
            raise ShapeError(
                f"TorchTensorDotLayer: weight (P, J) must have I = J*Q and O = Q*P; found weight {shape}, "
                f"I={self.num_input_units}, O={self.num_output_units}"
            )

    @property
    def flops(self) -> int:
        rows, columns = self.weight.shape
        rest = self.num_input_units // columns
        return 2 * rows * columns * rest

    @property
    def transcendentals(self) -> int:
        return self.num_input_units + self.num_output_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        weight = parameters["weight"]
        folds, _, batch, units = x.shape
        columns = weight.shape[2]
        rest = units // columns
        flat = x.reshape(folds, batch, columns, rest).transpose(2, 3).reshape(folds, batch * rest, columns)
        return semiring.weighted_sum(flat, weight).reshape(folds, batch, rest * weight.shape[1])

    @property
    def num_terms(self) -> int:
        return self.weight.shape[1]

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        rows, columns = self.weight.shape
        rest = self.num_input_units // columns
        read = (at.units // rows).unsqueeze(1) + rest * torch.arange(columns, device=at.units.device)
        terms = x[at.folds, 0, at.rows].gather(1, read)
        return torch.log(parameters["weight"][at.folds, at.units % rows]) + terms

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        rows, columns = self.weight.shape
        return (at.units // rows + terms * (self.num_input_units // columns)).unsqueeze(1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMixingLayer(TorchInnerLayer):
    """A sum that mixes its inputs unit by unit: y[f,b,k] = sum_h w[f,k,h] x[f,h,b,k].

    It is a sum layer with a weight (K, H*K) of diagonal blocks, without the zeros.
    Shapes: x (F, H, B, K), weight (F, K, H) -> y (F, B, K).
    """

    kind = "fused"
    multiplies = False
    may_return_view = False
    roles = WEIGHT
    weight: TorchParameter = field(metadata=PARAMETER)

    def _check(self) -> None:
        check_output_units(self, self.num_input_units)

    @property
    def flops(self) -> int:
        return 2 * self.arity * self.num_input_units

    @property
    def transcendentals(self) -> int:
        return (self.arity + 1) * self.num_input_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"weight": (self.num_output_units, self.arity)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.mix(x, parameters["weight"])

    @property
    def num_terms(self) -> int:
        return self.arity

    def log_terms(self, x: Tensor, at: ReachedUnits, parameters: Mapping[str, Tensor]) -> Tensor:
        return log_weights(parameters["weight"], at) + x[at.folds, :, at.rows, at.units]

    def term_inputs(self, at: ReachedUnits, terms: Tensor) -> Tensor:
        inputs = torch.arange(self.arity, device=terms.device)
        return torch.where(terms.unsqueeze(1) == inputs, at.units.unsqueeze(1), -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchChainLayer(TorchInnerLayer):
    """The layer `above` on the layer `below`, computed one after the other: y = above(below(x)).

    It computes exactly what the two layers compute, with one layer less to read, fold and schedule. Both may be
    chains. Shapes: x (F, H, B, I) of `below` -> y (F, B, O) of `above`.
    Raises: ShapeError if `below` cannot be the only input of `above`, or if their folds differ.
    """

    kind = "fused"
    below: TorchInnerLayer = field(metadata=NESTED)
    above: TorchInnerLayer = field(metadata=NESTED)

    def _check(self) -> None:
        below, above = self.below, self.above
        found = (above.arity, above.num_input_units, above.num_folds, below.num_folds)
        if found != (1, below.num_output_units, self.num_folds, self.num_folds):
            raise ShapeError(
                f"TorchChainLayer: {type(above).__name__} (arity, input units, folds) {found[:3]} does not fit on "
                f"{type(below).__name__} ({below.num_output_units} output units, {below.num_folds} folds)"
            )
        ends = (below.arity, below.num_input_units, above.num_output_units)
        if ends != (self.arity, self.num_input_units, self.num_output_units):
            raise ShapeError(f"TorchChainLayer: arity, input and output units must be those of its layers: {ends}")

    @property
    def flops(self) -> int:
        return self.below.flops + self.above.flops

    @property
    def transcendentals(self) -> int:
        return self.below.transcendentals + self.above.transcendentals

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {
            f"{name}.{key}": value
            for name, layer in (("below", self.below), ("above", self.above))
            for key, value in layer.prepare(semiring, _part(parameters, name)).items()
        }

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        middle = self.below.forward(semiring, x, _part(parameters, "below"))
        return self.above.forward(semiring, middle.unsqueeze(1), _part(parameters, "above"))


def chain_of(*layers: TorchInnerLayer) -> TorchInnerLayer:
    """One layer that computes these layers in order; the first one reads the inputs. Raises: ShapeError."""
    chain = layers[0]
    for above in layers[1:]:
        chain = TorchChainLayer(
            num_input_units=chain.num_input_units,
            num_output_units=above.num_output_units,
            arity=chain.arity,
            num_folds=chain.num_folds,
            below=chain,
            above=above,
        )
    return chain


def _part(parameters: Mapping[str, Tensor], name: str) -> Mapping[str, Tensor]:
    """The parameters of a nested layer, under its own names for them."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if key.startswith(prefix)}
