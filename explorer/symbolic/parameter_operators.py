"""The operators on parameters: one class each, with its config as fields and the shape of its result."""

from abc import ABC
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic.checks import Count
from explorer.symbolic.parameters import EntrywiseParameterOp, ParameterOp, Shape

__all__ = [
    "ClampParameter",
    "ConjugateParameter",
    "ExpParameter",
    "HadamardParameter",
    "KroneckerParameter",
    "LogParameter",
    "LogSoftmaxParameter",
    "MixingWeightParameter",
    "OuterProductParameter",
    "OuterSumParameter",
    "PolynomialDifferentialParameter",
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


@dataclass(frozen=True, eq=False, repr=False)
class ConjugateParameter(EntrywiseParameterOp):
    """The complex conjugate."""


@dataclass(frozen=True, eq=False, repr=False)
class SumParameter(PairwiseParameterOp):
    """x + y."""


@dataclass(frozen=True, eq=False, repr=False)
class HadamardParameter(PairwiseParameterOp):
    """x * y, elementwise."""


@dataclass(frozen=True, eq=False, repr=False)
class KroneckerParameter(ParameterOp):
    """The Kronecker product of two tensors of equal rank; the first operand varies slower along every axis."""

    num_operands: ClassVar[int] = 2

    def _result_shape(self, *shapes: Shape) -> Shape:
        left, right = shapes
        if len(left) != len(right):
            raise ShapeError(f"KroneckerParameter needs operands of equal rank; found {left} and {right}")
        return tuple(a * b for a, b in zip(left, right, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class OuterProductParameter(OuterParameterOp):
    """All products of entries of two operands along an axis; the first operand varies slower."""


@dataclass(frozen=True, eq=False, repr=False)
class OuterSumParameter(OuterParameterOp):
    """All sums of entries of two operands along an axis; the first operand varies slower."""


@dataclass(frozen=True, eq=False, repr=False)
class ReduceSumParameter(ReduceParameterOp):
    """The sum along an axis."""


@dataclass(frozen=True, eq=False, repr=False)
class ReduceProductParameter(ReduceParameterOp):
    """The product along an axis."""


@dataclass(frozen=True, eq=False, repr=False)
class ReduceLSEParameter(ReduceParameterOp):
    """log sum exp along an axis."""


@dataclass(frozen=True, eq=False, repr=False)
class MixingWeightParameter(ParameterOp):
    """The weight of a sum that mixes its inputs unit by unit: (K, H) -> (K, H*K), one diagonal block per input."""

    def _result_shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 2:
            raise ShapeError(f"MixingWeightParameter needs the shape (units, arity); found {shapes[0]}")
        units, arity = shapes[0]
        return (units, arity * units)


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
