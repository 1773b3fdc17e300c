"""The operators on parameters that compute: one class each, with its config, result shape and known zeros."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic.checks import Count
from explorer.symbolic.parameters import EntrywiseParameterOp, ParameterOp, Shape, Zeros, may_be_nonzero

__all__ = [
    "BinomialTableParameter",
    "ClampParameter",
    "ConjugateParameter",
    "ExpParameter",
    "GaussianProductLogPartitionParameter",
    "GaussianProductMeanParameter",
    "GaussianProductStddevParameter",
    "HadamardParameter",
    "KroneckerParameter",
    "LogParameter",
    "LogSoftmaxParameter",
    "OuterProductParameter",
    "OuterSumParameter",
    "PolynomialDifferentialParameter",
    "PolynomialProductParameter",
    "ReduceLSEParameter",
    "ReduceProductParameter",
    "ReduceSumParameter",
    "ScaledSigmoidParameter",
    "SigmoidParameter",
    "SoftmaxParameter",
    "SoftplusParameter",
    "SquareParameter",
    "SumParameter",
]


@dataclass(frozen=True, eq=False, repr=False)
class ReduceParameterOp(ParameterOp, ABC):
    """An operator that removes one axis of its operand."""

    axis: int = -1

    def _result_shape(self, *shapes: Shape) -> Shape:
        return shapes[0][: self.axis] + shapes[0][self.axis + 1 :]


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseParameterOp(ParameterOp, ABC):
    """An operator on two operands of equal shape."""

    num_operands: ClassVar[int] = 2

    def _result_shape(self, *shapes: Shape) -> Shape:
        if shapes[0] != shapes[1]:
            raise ShapeError(f"{type(self).__name__} needs operands of equal shape; found {shapes[0]} and {shapes[1]}")
        return shapes[0]


@dataclass(frozen=True, eq=False, repr=False)
class OuterParameterOp(ParameterOp, ABC):
    """An operator on all pairs of entries of two operands along an axis; the other axes must be equal."""

    num_operands: ClassVar[int] = 2
    axis: int = -1

    def _result_shape(self, *shapes: Shape) -> Shape:
        left, right = shapes
        rest = [s[: self.axis] + s[self.axis + 1 :] for s in shapes]
        if len(left) != len(right) or rest[0] != rest[1]:
            raise ShapeError(
                f"{type(self).__name__} along axis {self.axis} needs operands whose other axes are equal; "
                f"found {left} and {right}"
            )
        return (*left[: self.axis], left[self.axis] * right[self.axis], *left[self.axis + 1 :])

    def _nonzero_pairs(self, operands: Sequence[Zeros | None]) -> tuple[Zeros, Zeros]:
        """The entries of each operand that may be nonzero, to be broadcast to all pairs."""
        left, right = map(may_be_nonzero, self.inputs, operands)
        return np.expand_dims(left, self.axis + 1), np.expand_dims(right, self.axis)


@dataclass(frozen=True, eq=False, repr=False)
class SoftmaxParameter(EntrywiseParameterOp):
    """exp(x) / sum exp(x) along an axis."""

    axis: int = -1


@dataclass(frozen=True, eq=False, repr=False)
class LogSoftmaxParameter(EntrywiseParameterOp):
    """x - log sum exp(x) along an axis."""

    axis: int = -1


@dataclass(frozen=True, eq=False, repr=False)
class SigmoidParameter(EntrywiseParameterOp):
    """1 / (1 + exp(-x))."""


@dataclass(frozen=True, eq=False, repr=False)
class ScaledSigmoidParameter(EntrywiseParameterOp):
    """sigmoid(x) * (vmax - vmin) + vmin. Raises: ValueRangeError unless vmin < vmax."""

    vmin: float
    vmax: float

    def _check(self) -> None:
        if not self.vmin < self.vmax:
            raise ValueRangeError(f"ScaledSigmoidParameter needs vmin < vmax; found {self.vmin} and {self.vmax}")


@dataclass(frozen=True, eq=False, repr=False)
class ClampParameter(EntrywiseParameterOp):
    """min(max(x, vmin), vmax); one bound may be None, but not both. Raises: ValueRangeError."""

    vmin: float | None = None
    vmax: float | None = None

    def _check(self) -> None:
        if self.vmin is None and self.vmax is None:
            raise ValueRangeError("ClampParameter needs vmin, vmax or both")
        low = -inf if self.vmin is None else self.vmin
        high = inf if self.vmax is None else self.vmax
        if not low <= high:
            raise ValueRangeError(f"ClampParameter needs vmin <= vmax; found {self.vmin} and {self.vmax}")


@dataclass(frozen=True, eq=False, repr=False)
class SoftplusParameter(EntrywiseParameterOp):
    """log(1 + exp(x))."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpParameter(EntrywiseParameterOp):
    """exp(x)."""


@dataclass(frozen=True, eq=False, repr=False)
class LogParameter(EntrywiseParameterOp):
    """log(x)."""


@dataclass(frozen=True, eq=False, repr=False)
class SquareParameter(EntrywiseParameterOp):
    """x * x."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        return operands[0]


@dataclass(frozen=True, eq=False, repr=False)
class ConjugateParameter(EntrywiseParameterOp):
    """The complex conjugate."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        return operands[0]


@dataclass(frozen=True, eq=False, repr=False)
class SumParameter(PairwiseParameterOp):
    """x + y."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        left, right = operands
        return None if left is None or right is None else left & right


@dataclass(frozen=True, eq=False, repr=False)
class HadamardParameter(PairwiseParameterOp):
    """x * y, elementwise."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        left, right = operands
        if left is None or right is None:
            return right if left is None else left
        return left | right


@dataclass(frozen=True, eq=False, repr=False)
class KroneckerParameter(ParameterOp):
    """The Kronecker product of two tensors of equal rank; the first operand varies slower along every axis."""

    num_operands: ClassVar[int] = 2

    def _result_shape(self, *shapes: Shape) -> Shape:
        left, right = shapes
        if len(left) != len(right):
            raise ShapeError(f"KroneckerParameter needs operands of equal rank; found {left} and {right}")
        return tuple(a * b for a, b in zip(left, right, strict=True))

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        left, right = map(may_be_nonzero, self.inputs, operands)
        return ~np.kron(left, right).astype(bool)


@dataclass(frozen=True, eq=False, repr=False)
class OuterProductParameter(OuterParameterOp):
    """All products of entries of two operands along an axis; the first operand varies slower."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        slow, fast = self._nonzero_pairs(operands)
        return ~(slow & fast).reshape(self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class OuterSumParameter(OuterParameterOp):
    """All sums of entries of two operands along an axis; the first operand varies slower."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        slow, fast = self._nonzero_pairs(operands)
        return ~(slow | fast).reshape(self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class ReduceSumParameter(ReduceParameterOp):
    """The sum along an axis."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        return None if operands[0] is None else np.asarray(operands[0].all(axis=self.axis))


@dataclass(frozen=True, eq=False, repr=False)
class ReduceProductParameter(ReduceParameterOp):
    """The product along an axis."""

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        return None if operands[0] is None else np.asarray(operands[0].any(axis=self.axis))


@dataclass(frozen=True, eq=False, repr=False)
class ReduceLSEParameter(ReduceParameterOp):
    """log sum exp along an axis."""


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialDifferentialParameter(ParameterOp):
    """Coefficients (K, degree+1), lowest first, of the order-th derivative of polynomials.

    Raises: ValueRangeError unless order >= 1; ShapeError unless the operand has two axes.
    """

    order: Count = 1

    def _result_shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 2:
            raise ShapeError(f"PolynomialDifferentialParameter needs the shape (units, degree + 1); found {shapes[0]}")
        units, coefficients = shapes[0]
        return (units, max(coefficients - self.order, 1))


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialProductParameter(ParameterOp):
    """Coefficients of the products of all pairs of polynomials: (K, d+1), (L, e+1) -> (K*L, d+e+1); K varies slower.

    Raises: ShapeError unless both operands have two axes.
    """

    num_operands: ClassVar[int] = 2

    def _result_shape(self, *shapes: Shape) -> Shape:
        left, right = shapes
        if len(left) != 2 or len(right) != 2:
            raise ShapeError(f"PolynomialProductParameter needs shapes (units, degree + 1); found {left} and {right}")
        return (left[0] * right[0], left[1] + right[1] - 1)


@dataclass(frozen=True, eq=False, repr=False)
class GaussianProductOp(ParameterOp, ABC):
    """An operator on the parameters (K,) and (L,) of normal densities, for all pairs: (K*L,); K varies slower."""

    def _result_shape(self, *shapes: Shape) -> Shape:
        half = len(shapes) // 2
        if any(len(shape) != 1 for shape in shapes) or len({*shapes[:half]}) != 1 or len({*shapes[half:]}) != 1:
            found = ", ".join(map(str, shapes))
            raise ShapeError(f"{type(self).__name__} needs shapes (K,) and (L,), each {half} times; found {found}")
        return (shapes[0][0] * shapes[half][0],)


@dataclass(frozen=True, eq=False, repr=False)
class GaussianProductMeanParameter(GaussianProductOp):
    """The mean of products of normal densities: (m t^2 + n s^2) / (s^2 + t^2).

    Operands: mean m and standard deviation s of the first (K,), mean n and standard deviation t of the second (L,).
    """

    num_operands: ClassVar[int] = 4


@dataclass(frozen=True, eq=False, repr=False)
class GaussianProductStddevParameter(GaussianProductOp):
    """The standard deviation of products of normal densities: s t / sqrt(s^2 + t^2). Operands: s (K,), t (L,)."""

    num_operands: ClassVar[int] = 2


@dataclass(frozen=True, eq=False, repr=False)
class GaussianProductLogPartitionParameter(GaussianProductOp):
    """The logarithm of the integral of products of normal densities: log N(m; n, s^2 + t^2).

    Operands: mean m and standard deviation s of the first (K,), mean n and standard deviation t of the second (L,).
    """

    num_operands: ClassVar[int] = 4


@dataclass(frozen=True, eq=False, repr=False)
class BinomialTableParameter(ParameterOp):
    """The log-probabilities of 0 .. total_count under binomial distributions: (K,) -> (K, total_count + 1).

    The operand has their probabilities, or with `is_logits` their logits. Raises: ShapeError unless it has one axis.
    """

    total_count: Count
    is_logits: bool = False

    def _result_shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 1:
            raise ShapeError(f"BinomialTableParameter needs the shape (units,); found {shapes[0]}")
        return (shapes[0][0], self.total_count + 1)
