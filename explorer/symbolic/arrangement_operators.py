"""The operators on parameters that choose, repeat or reorder entries."""

from dataclasses import dataclass
from math import prod

import numpy as np

from explorer.errors import ShapeError, ValueRangeError
from explorer.symbolic.checks import Count, check_integers
from explorer.symbolic.parameters import ParameterOp, Shape, Zeros, may_be_nonzero

__all__ = [
    "IndexParameter",
    "KroneckerIdentityParameter",
    "MixingWeightParameter",
    "ReorderParameter",
    "TriangleParameter",
]


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

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        return None if operands[0] is None else operands[0].take(self.indices, self.axis)


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

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        nonzero = may_be_nonzero(self.inputs[0], operands[0])
        return ~np.kron(nonzero, np.eye(self.size, dtype=bool)).astype(bool)


@dataclass(frozen=True, eq=False, repr=False)
class MixingWeightParameter(ParameterOp):
    """The weight of a sum that mixes its inputs unit by unit: (K, H) -> (K, H*K), one diagonal block per input."""

    def _result_shape(self, *shapes: Shape) -> Shape:
        if len(shapes[0]) != 2:
            raise ShapeError(f"MixingWeightParameter needs the shape (units, arity); found {shapes[0]}")
        units, arity = shapes[0]
        return (units, arity * units)

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        """Output unit o reads unit o of each input: the other columns are zero."""
        units, arity = self.inputs[0].shape
        nonzero = np.eye(units, dtype=bool)[:, None, :] & may_be_nonzero(self.inputs[0], operands[0])[:, :, None]
        return ~nonzero.reshape(units, arity * units)


@dataclass(frozen=True, eq=False, repr=False)
class ReorderParameter(ParameterOp):
    """An axis in a different order of entries: it is viewed as several axes, which are transposed.

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

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        (zeros,) = operands
        if zeros is None:
            return None
        view = zeros.reshape(*self.shape[: self.axis], *self.sizes, *self.shape[self.axis + 1 :])
        last = self.axis + len(self.sizes)
        order = (*range(self.axis), *(self.axis + place for place in self.order), *range(last, view.ndim))
        return view.transpose(order).reshape(self.shape)


@dataclass(frozen=True, eq=False, repr=False)
class TriangleParameter(ParameterOp):
    """One half of what is symmetric: of the entries (i, j) of an axis those with i <= j, in this order.

    The axis is viewed as (size, block, size, block), so that an entry is a block (a, b). With `add`, the entry (j, i)
    with its block transposed is added to (i, j) where i < j: for the columns of a weight with symmetric inputs.
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

    def known_zeros(self, *operands: Zeros | None) -> Zeros | None:
        """With `add`, an entry is certainly zero if both entries that are added are."""
        (zeros,) = operands
        if zeros is None:
            return None
        first, n = self.axis, self.size
        view = zeros.reshape(*self.shape[:first], n, self.block, n, self.block, *self.shape[first + 1 :])
        square = np.swapaxes(view, first + 1, first + 2)
        if self.add:
            square = square & np.swapaxes(np.swapaxes(square, first, first + 1), first + 2, first + 3)
        before = (slice(None),) * first
        return square[(*before, *np.triu_indices(n))].reshape(self.shape)
