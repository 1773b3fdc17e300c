"""Semirings: the meaning of "sum" and "product", and the representation of the values of a circuit.

`sum-product` computes with the values themselves; `lse-sum` with logarithms of non-negative values (a product is a
sum, a sum is a log-sum-exp); `complex-lse-sum` with complex logarithms, which negative values have too. Parameters are
linear in all three. `max-product` computes with logarithms too, but a sum is the largest of its terms; only queries
evaluate circuits in it. See Darwiche 2009, Modeling and Reasoning with Bayesian Networks, ch. 12.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend.numeric import as_complex, common_type, log
from explorer.errors import UnknownNameError, look_up

MAX_COMPARED_TERMS = 2**24
"""Maximum number of terms that max-product compares at a time."""


@dataclass(frozen=True)
class Semiring(ABC):
    """The operations of layers. Letters: F folds, H arity, B batch, I input units, O output units, K units."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that the compiler accepts."""

    @property
    def is_logarithmic(self) -> bool:
        """Whether activations are logarithms."""
        return self.name != "sum-product"

    @property
    def is_complex(self) -> bool:
        """Whether activations are always complex."""
        return self.name == "complex-lse-sum"

    @property
    def accepts_complex(self) -> bool:
        """Whether parameters may be complex: a real logarithm cannot represent them."""
        return self.name not in ("lse-sum", "max-product")

    @abstractmethod
    def from_linear(self, x: Tensor) -> Tensor:
        """Convert values to this semiring."""

    @abstractmethod
    def from_log(self, x: Tensor) -> Tensor:
        """Convert logarithms of values to this semiring."""

    def to_log(self, x: Tensor) -> Tensor:
        """Real logarithms of values in this semiring; NaN where a value is not a non-negative real number.

        An imaginary part counts as rounding up to the square root of the precision.
        """
        return real_log(x) if self.is_logarithmic else real_log(log(x))

    @abstractmethod
    def product(self, x: Tensor, dim: int) -> Tensor:
        """The product of all entries along an axis."""

    @abstractmethod
    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """The elementwise product of two tensors, with broadcasting."""

    @abstractmethod
    def contract(self, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        """y[f,b,o] = sum_{i..j} weight[f,o,i..j] xs[0][f,b,i] .. xs[H-1][f,b,j].

        Shapes: H tensors (F, B, I), weight (F, O, I, .., I) with H axes of size I -> (F, B, O).
        """

    def weighted_sum(self, x: Tensor, weight: Tensor) -> Tensor:
        """y[f,b,o] = sum_i weight[f,o,i] x[f,b,i]. Shapes: x (F, B, I), weight (F, O, I) -> (F, B, O)."""
        return self.contract((x,), weight)

    @abstractmethod
    def mix(self, x: Tensor, weight: Tensor) -> Tensor:
        """y[f,b,k] = sum_h weight[f,k,h] x[f,h,b,k]. Shapes: x (F, H, B, K), weight (F, K, H) -> (F, B, K)."""


@dataclass(frozen=True)
class SumProductSemiring(Semiring):
    """Values with + and *."""

    @property
    def name(self) -> str:
        return "sum-product"

    def from_linear(self, x: Tensor) -> Tensor:
        return x

    def from_log(self, x: Tensor) -> Tensor:
        return torch.exp(x)

    def product(self, x: Tensor, dim: int) -> Tensor:
        return torch.prod(x, dim=dim)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y

    def contract(self, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        return _contract_linear(xs, weight)

    def mix(self, x: Tensor, weight: Tensor) -> Tensor:
        return _mix_linear(x, weight)


@dataclass(frozen=True)
class LogarithmicSemiring(Semiring, ABC):
    """Logarithms; a sum subtracts the largest real part before exponentiation."""

    def product(self, x: Tensor, dim: int) -> Tensor:
        return torch.sum(x, dim=dim)

    def contract(self, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        pairs = [_scale(x) for x in xs]
        result = log(_contract_linear([scaled for scaled, _ in pairs], weight))
        for _, largest in pairs:
            result = result + largest
        return result

    def mix(self, x: Tensor, weight: Tensor) -> Tensor:
        largest = _largest(x, 1)  # (F, 1, B, K)
        scaled = torch.sub(x, largest).exp_()
        return log(_mix_linear(scaled, weight)) + largest.squeeze(1)


@dataclass(frozen=True)
class LSESumSemiring(LogarithmicSemiring):
    """Logarithms of non-negative values."""

    @property
    def name(self) -> str:
        return "lse-sum"

    def from_linear(self, x: Tensor) -> Tensor:
        return log(x)

    def from_log(self, x: Tensor) -> Tensor:
        return x

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@dataclass(frozen=True)
class ComplexLSESumSemiring(LogarithmicSemiring):
    """Complex logarithms z, where exp(z) may be negative or complex; a sum is scaled by the largest modulus."""

    @property
    def name(self) -> str:
        return "complex-lse-sum"

    def from_linear(self, x: Tensor) -> Tensor:
        return log(as_complex(x))

    def from_log(self, x: Tensor) -> Tensor:
        return as_complex(x)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        # x + y would multiply y by a complex 1 first, and -inf, the logarithm of zero, would become NaN.
        return torch.complex(x.real + y.real, x.imag + y.imag)


@dataclass(frozen=True)
class MaxProductSemiring(LSESumSemiring):
    """Logarithms of non-negative values; a sum is its largest term."""

    @property
    def name(self) -> str:
        return "max-product"

    def contract(self, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        products = xs[0]
        for x in xs[1:]:
            products = (products.unsqueeze(-1) + x.unsqueeze(-2)).flatten(-2)
        logs = torch.log(weight.flatten(2))  # (F, O, J)
        folds, batch, terms = products.shape
        size = max(1, MAX_COMPARED_TERMS // max(1, folds * batch * terms))
        parts = [(products.unsqueeze(2) + part.unsqueeze(1)).amax(-1) for part in logs.split(size, dim=1)]
        return torch.cat(parts, dim=2)

    def mix(self, x: Tensor, weight: Tensor) -> Tensor:
        return (x + torch.log(weight).transpose(1, 2).unsqueeze(2)).amax(1)


SEMIRINGS: tuple[Semiring, ...] = (SumProductSemiring(), LSESumSemiring(), ComplexLSESumSemiring())
"""The semirings for which circuits are compiled."""

MAX_PRODUCT = MaxProductSemiring()


def get_semiring(name: str) -> Semiring:
    """The semiring of this name for which a circuit can be compiled. Raises: UnknownNameError."""
    if name == MAX_PRODUCT.name:
        raise UnknownNameError(
            "circuits are not compiled for max-product: fusing two sums would change their maximum; compile for "
            "lse-sum, and ask explorer.backend.queries.most_probable"
        )
    return look_up("semiring", name, {semiring.name: semiring for semiring in SEMIRINGS})


def convert(x: Tensor, source: Semiring, target: Semiring) -> Tensor:
    """Values in one semiring in the form of another; NaN where a real logarithm cannot represent them."""
    if source == target:
        return x
    if target.is_complex or not target.is_logarithmic:
        return target.from_log(x) if source.is_logarithmic else target.from_linear(x)
    return source.to_log(x)


def real_log(x: Tensor) -> Tensor:
    """The real part of logarithms; NaN where they are those of a number that is not real and non-negative."""
    if not x.is_complex():
        return x
    turns = x.imag / (2 * math.pi)
    is_positive = (turns - turns.round()).abs() <= math.sqrt(torch.finfo(x.real.dtype).eps)
    return torch.where(is_positive | (x.real == -math.inf), x.real, math.nan)


def _scale(x: Tensor) -> tuple[Tensor, Tensor]:
    """exp(x - m) and m, the largest real part along the last axis, made finite so that -inf never becomes NaN.

    m is a constant for the gradient: it cancels out of log(sum w exp(x - m)) + m.
    """
    largest = _largest(x, -1)
    return torch.sub(x, largest).exp_(), largest


def _largest(x: Tensor, dim: int) -> Tensor:
    """The largest finite real part along an axis, which is kept, without gradient."""
    detached = x.detach()  # not no_grad(), which an export turns into a separate subgraph
    real = detached.real if detached.is_complex() else detached
    bound = torch.finfo(real.dtype).max
    return torch.amax(real, dim=dim, keepdim=True).clamp(-bound, bound)


def _contract_linear(xs: Sequence[Tensor], weight: Tensor) -> Tensor:
    """All products of one entry of each x, then a matrix product."""
    *values, weight = common_type((*xs, weight))
    products = values[0]
    for x in values[1:]:
        products = (products.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2)
    return torch.bmm(products, weight.flatten(2).transpose(1, 2))


def _mix_linear(x: Tensor, weight: Tensor) -> Tensor:
    weight, x = common_type((weight, x))
    terms = weight.transpose(1, 2).unsqueeze(2)  # (F, H, 1, K)
    return (x * terms).sum(dim=1)
