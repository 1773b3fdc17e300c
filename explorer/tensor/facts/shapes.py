"""Reshapes and permutations: their operators, and how they are built."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from explorer.tensor.facts.owners import owned_by
from explorer.tensor.ir.ops import Op, call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.variables import Apply, Variable

RESHAPES = overloads(
    "reshape view _unsafe_view view_as flatten.using_ints unflatten.int squeeze squeeze.dim squeeze.dims unsqueeze"
)
"""Operators that change only the shape."""

TRANSPOSES = overloads("permute transpose.int t numpy_T mT movedim.int movedim.intlist swapaxes swapdims")
"""Operators that only permute axes."""

PARTS = overloads("slice.Tensor select.int narrow")
"""Operators that select a part of one axis."""

COPIES = overloads("clone contiguous lift_fresh_copy alias lift_fresh detach")
"""Operators that return their input or a copy of it."""

MOVES = (*RESHAPES, *TRANSPOSES, *PARTS, *COPIES, *overloads("expand repeat"))
"""Operators on one tensor that move, select or repeat its numbers."""


def shape_of(variable: Variable) -> tuple[int, ...]:
    """The shape of a tensor variable."""
    return variable.tensor_type.shape


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    return axis % rank if rank else 0


def axes_of(dims: "int | Sequence[int] | None", rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; None and an empty list are all axes."""
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(rank))
    return tuple(sorted(dim % rank for dim in dims)) if rank else ()


def permutation_of(variable: Variable) -> tuple[int, ...] | None:
    """For each axis of a transposed variable the axis of the transpose's input; None if it is not transposed."""
    node = owned_by(variable, *TRANSPOSES)
    return None if node is None else axis_order(node)


def axis_order(transpose: Apply) -> tuple[int, ...]:
    """For each axis of the result of a transpose the axis of its input."""
    return _permutation(transpose.op, len(shape_of(transpose.inputs[0])))


@lru_cache(maxsize=10_000)
def _permutation(op: Op, rank: int) -> tuple[int, ...]:
    if op.target is aten.permute.default:
        return tuple(axis % rank for axis in op["dims"])
    marked = torch.empty(tuple(range(2, rank + 2)), device="meta")  # each axis is identified by its size
    return tuple(size - 2 for size in op.run([marked])[0].shape)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The inverse of a permutation."""
    return tuple(list(order).index(axis) for axis in range(len(order)))


def reorder(values: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    """One value per axis, reordered as the axes are."""
    return tuple(values[axis] for axis in order)


def permute(variable: Variable, order: Sequence[int]) -> Variable:
    """Permute the axes of a variable; returns it unchanged for the identity."""
    if tuple(order) == tuple(range(len(order))):
        return variable
    return call(aten.permute.default, variable, list(order))


def reshape(variable: Variable, shape: Sequence[int]) -> Variable:
    """Reshape a variable; returns it unchanged if it has that shape."""
    if shape_of(variable) == tuple(shape):
        return variable
    return call(aten.reshape.default, variable, list(shape))
