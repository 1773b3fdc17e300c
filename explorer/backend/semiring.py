"""Semirings: the meaning of "sum" and "product", and the representation of the values of a circuit.

`sum-product` computes with the values themselves, which may under- and overflow; `lse-sum` with logarithms of
non-negative values (a product is a sum, a sum is a log-sum-exp); `complex-lse-sum` with complex logarithms, which
negative values have too. Parameters are linear in all three. `max-product` computes with logarithms too, but a sum is
the largest of its terms; only queries evaluate circuits in it. See Darwiche 2009, Modeling and Reasoning with Bayesian
Networks, ch. 12.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from explorer.backend.numeric import as_complex, can_inspect, common_type, is_captured, log, smallest
from explorer.errors import UnknownNameError, look_up

MAX_COMPARED_TERMS = 2**24
"""Maximum number of terms that max-product compares at a time."""
MAX_EXACT_TERMS = 2**22
"""Maximum number of terms that are added as logarithms at a time."""


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
    """Logarithms, in which no sum loses by underflow a term that counts, whatever the sizes of weights and inputs.

    A sum is a matrix product of weights w and exp(x - m), where m is the largest real part of a row of inputs x. Each
    factor or product that underflows is smaller than t, the smallest normal number. So with J terms of H inputs a
    result is off by less than t H (J + sum |w|). That is less than rounding where the result is at least sqrt(t), for
    weights that sum to at most 10^11 (10^137 in double precision). A smaller result may be only the negligible terms
    of a unit, and its weight hides the input m: it is zero, or tiny. Such a result is computed again as
    M + log(sum exp(log w + x - M)), where M is its own largest term, which becomes 1. The gradient of a weight of zero
    is exact, too, up to the largest number over 22,026 (e^10), so that those of many rows can be added; for a weight
    below t it may be infinite.

    Which results are doubtful depends on values. A graph that cannot branch has only the matrix product: one made by
    `torch.compile` or `torch.export`, or a captured CUDA graph.
    """

    def product(self, x: Tensor, dim: int) -> Tensor:
        return torch.sum(x, dim=dim)

    def contract(self, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        bounds = [_largest(x, -1) for x in xs]
        scaled = [difference.exp_() for difference in map(torch.sub, xs, bounds)]
        return self._logarithm(_contract_linear(scaled, weight), bounds, xs, weight)

    def mix(self, x: Tensor, weight: Tensor) -> Tensor:
        bound = _largest(x, 1)  # (F, 1, B, K)
        sums = _mix_linear(torch.sub(x, bound).exp_(), weight)
        if is_captured(sums) or _loses_nothing(sums, weight):
            return log(sums) + bound.squeeze(1)
        folds, _, batch, units = x.shape  # a mixture is a contraction of each unit
        inputs, bound, sums = (one.permute(0, 3, 2, 1).flatten(0, 1) for one in (x, bound, sums.unsqueeze(1)))
        found = self._logarithm(sums, [bound], [inputs], weight.flatten(0, 1).unsqueeze(1))  # (F * K, B, 1)
        return found.view(folds, units, batch).transpose(1, 2)

    def _logarithm(self, result: Tensor, bounds: Sequence[Tensor], xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        """The logarithm of a contraction, given its result for inputs that were divided by the exponentials of bounds.

        Doubtful results are computed again. Shapes: result (F, B, O), bounds (F, B, 1).
        """
        doubtful = None
        if _loses_nothing(result, weight):
            result = torch.log(result)
        else:
            doubtful = _doubtful(result, xs, weight)
            result = log(result if doubtful is None else torch.where(doubtful, 0, result))
        for bound in bounds:
            result = result + bound
        return result if doubtful is None else self._add_in_logarithms(result, doubtful, xs, weight)

    def _add_in_logarithms(self, result: Tensor, chosen: Tensor, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        """Replace the chosen results (F, B, O) by the sums of their terms, each divided by its largest term."""
        weight = weight.flatten(2)
        size = max(1, MAX_EXACT_TERMS // weight.shape[2])
        if not can_inspect(chosen):  # under vmap there are no positions: all sums are computed
            parts = weight.split(max(1, size // max(1, chosen[..., 0].numel())), dim=1)
            found = [self._log_sum([x.unsqueeze(2) for x in xs], part.unsqueeze(1)) for part in parts]
            return torch.where(chosen, torch.cat(found, 2), result)
        at = chosen.nonzero(as_tuple=True)
        parts = zip(*(one.split(size) for one in at), strict=True)
        found = [self._log_sum([x[folds, rows] for x in xs], weight[folds, units]) for folds, rows, units in parts]
        return result.index_put(at, torch.cat(found).to(result.dtype)) if found else result

    def _log_sum(self, xs: Sequence[Tensor], weight: Tensor) -> Tensor:
        """log(sum_{i..j} weight[..,i..j] exp(xs[0][..,i] + .. + xs[H-1][..,j])), divided by its largest term before."""
        products = xs[0]
        for x in xs[1:]:
            products = self.multiply(products.unsqueeze(-1), x.unsqueeze(-2)).flatten(-2)
        is_zero = weight == 0
        sign = torch.ones_like(weight) if weight.is_complex() else torch.sgn(weight)
        terms = self.multiply(self.from_linear(torch.where(is_zero, 1, sign * weight)), products)
        largest = _largest(torch.where(is_zero, -math.inf, terms), -1)
        # A weight of zero adds nothing but its gradient exp(x - M), which is kept below the largest number: it is
        # multiplied by the share of this sum, which may be as small.
        excess = (_real_part(terms) - largest - math.log(torch.finfo(largest.dtype).max) + 10).clamp(min=0)
        scaled = torch.sub(terms, largest + excess).exp_()
        return log((torch.where(is_zero, weight, sign) * scaled).sum(-1)) + largest.squeeze(-1)


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
    """The real part of logarithms; NaN where the number is negative or not real."""
    if not x.is_complex():
        return x
    turns = x.imag / (2 * math.pi)
    is_positive = (turns - turns.round()).abs() <= math.sqrt(torch.finfo(x.real.dtype).eps)
    return torch.where(is_positive | (x.real == -math.inf), x.real, math.nan)


def _largest(x: Tensor, dim: int) -> Tensor:
    """The largest real part along an axis, which is kept, made finite so that -inf never becomes NaN.

    It is a constant for the gradient, m, which cancels out of log(sum w exp(x - m)) + m.
    """
    real = _real_part(x)
    bound = torch.finfo(real.dtype).max
    return torch.amax(real, dim=dim, keepdim=True).clamp(-bound, bound)


@cache
def _smallest_certain(dtype: torch.dtype) -> float:
    """The smallest result of a scaled sum that no underflow has changed by more than rounding."""
    info = torch.finfo(dtype)
    return max(math.sqrt(info.tiny), 4 * info.tiny / info.eps)  # the second one for half precision


def _loses_nothing(total: Tensor, weight: Tensor) -> bool:
    """Whether no result (F, B, O) of a scaled sum is doubtful, and its logarithm has the gradient 1 / x.

    The weights are examined first if they are fewer and no gradient is recorded: results may be 0 if all inputs are.
    """
    if not torch.is_grad_enabled() and weight.numel() < total.numel() and _is_certain(weight, total.dtype):
        return True
    return _is_certain(total, total.dtype)


def _is_certain(x: Tensor, dtype: torch.dtype) -> bool:
    """Whether all results of a scaled sum in this type, or its weights, are known to be large enough.

    If weights are, so are results: the largest scaled product is 1, unless all inputs are -inf.
    """
    found = smallest(x.detach() if x.requires_grad else x)
    return found is not None and found >= _smallest_certain(dtype)


def _doubtful(total: Tensor, xs: Sequence[Tensor], weight: Tensor) -> Tensor | None:
    """The results (F, B, O) of a scaled sum that underflow may have changed; None if none is known to be.

    A zero without a term above zero is no underflow.
    """
    if is_captured(total) or _is_certain(weight, total.dtype):
        return None
    total, weight = total.detach(), weight.detach()
    positive = [(_real_part(x) > -math.inf).float() for x in xs]
    counts = _contract_linear(positive, (weight != 0).float())
    return (total.abs() < _smallest_certain(total.dtype)) & (counts > 0)


def _real_part(x: Tensor) -> Tensor:
    """The real part without gradient."""
    x = x.detach()  # not no_grad(), which an export turns into a separate subgraph
    return x.real if x.is_complex() else x


def _contract_linear(xs: Iterable[Tensor], weight: Tensor) -> Tensor:
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
