"""The operators on parameters: one class each, with its config as fields and the shape of its result."""

from abc import ABC
from dataclasses import dataclass
from math import inf, prod
from typing import ClassVar

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic.checks import Count, check_integers
from explorer.symbolic.parameters import EntrywiseParameterOp, ParameterOp, Shape

__all__ = [
    "BinomialTableParameter",
    "ClampParameter",
    "ConjugateParameter",
    "ExpParameter",
    "GaussianProductLogPartitionParameter",
    "GaussianProductMeanParameter",
    "GaussianProductStddevParameter",
    "HadamardParameter",
    "IndexParameter",
    "KroneckerIdentityParameter",
    "KroneckerParameter",
    "LogParameter",
    "LogSoftmaxParameter",
    "MixingWeightParameter",
    "OuterProductParameter",
    "OuterSumParameter",
    "PolynomialDifferentialParameter",
    "PolynomialProductParameter",
    "ReduceLSEParameter",
    "ReduceProductParameter",
    "ReduceSumParameter",
    "ReorderParameter",
    "ScaledSigmoidParameter",
    "SigmoidParameter",
    "SoftmaxParameter",
    "SoftplusParameter",
    "SquareParameter",
    "SumParameter",
    "TriangleParameter",
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
class IndexParameter(ParameterOp):
    """The entries at some indices along an axis, in the order of `indices`, which may repeat.

    Raises: ValueRangeError unless there is an index and each is from 0 to the size of the axis less one; DataTypeError.
    """

    indices: tuple[int, ...]
    axis: int = -1

    def _check(self) -> None:
        object.__setattr__(self, "indices", check_integers(self, "indices", self.indices))
        size = self.inputs[0].shape[self.axis]
        odd = [index for index in self.indices if not 0 <= index < size]
        if odd or not self.indices:
            found = odd[0] if odd else "none"
            raise ValueRangeError(f"IndexParameter needs indices from 0 to {size - 1}; found {found}")

    def _result_shape(self, *shapes: Shape) -> Shape:
        return (*shapes[0][: self.axis], len(self.indices), *shapes[0][self.axis + 1 :])


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


@dataclass(frozen=True, eq=False, repr=False)
class KroneckerIdentityParameter(ParameterOp):
    """The Kronecker product with the identity matrix: (O, C) -> (O*size, C*size); the operand varies slower.

    Raises: ShapeError unless the operand has two axes; ValueRangeError unless size >= 1.
    """

    size: Count

    def _result_shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 2:
            raise ShapeError(f"KroneckerIdentityParameter needs a matrix; found the shape {shapes[0]}")
        rows, columns = shapes[0]
        return (rows * self.size, columns * self.size)


@dataclass(frozen=True, eq=False, repr=False)
class ReorderParameter(ParameterOp):
    """An axis whose entries are in another order: it is viewed as several axes, which are transposed.

    Entry (a, b, ..) of the axis, viewed as axes of these `sizes`, becomes entry (axes order[0], order[1], ..) of the
    result. Raises: ShapeError unless the product of `sizes` is the size of the axis; ValueRangeError unless `order` is
    a permutation of their positions; DataTypeError.
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    axis: int = -1

    def _check(self) -> None:
        for name in ("sizes", "order"):
            object.__setattr__(self, name, check_integers(self, name, getattr(self, name)))
        if sorted(self.order) != list(range(len(self.sizes))):
            raise ValueRangeError(
                f"ReorderParameter: order must be a permutation of 0 .. {len(self.sizes) - 1}; found {self.order}"
            )

    def _result_shape(self, *shapes: Shape) -> Shape:
        shape = shapes[0]
        if prod(self.sizes) != shape[self.axis]:
            raise ShapeError(
                f"ReorderParameter: the product of the sizes {self.sizes} must be that of axis {self.axis} of {shape}"
            )
        return shape


@dataclass(frozen=True, eq=False, repr=False)
class TriangleParameter(ParameterOp):
    """One half of what is symmetric: of the entries (i, j) of an axis those with i <= j, in this order.

    The axis is viewed as (size, block, size, block), so that an entry is a block (a, b). With `add`, the entry (j, i)
    with its block transposed is added to (i, j) where i < j: for the columns of a weight whose inputs are symmetric.
    Raises: ShapeError unless the size of the axis is (size * block)^2; ValueRangeError.
    """

    size: Count
    block: Count = 1
    add: bool = False
    axis: int = -1

    def _result_shape(self, *shapes: Shape) -> Shape:
        shape = shapes[0]
        if (self.size * self.block) ** 2 != shape[self.axis]:
            raise ShapeError(
                f"TriangleParameter: axis {self.axis} of {shape} must have ({self.size} * {self.block})^2 entries"
            )
        entries = self.size * (self.size + 1) // 2 * self.block**2
        return (*shape[: self.axis], entries, *shape[self.axis + 1 :])
