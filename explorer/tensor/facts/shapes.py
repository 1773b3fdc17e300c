"""Reshapes, permutations and slices: their operators, and how they are built."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import torch

from explorer.tensor.facts.values import owned_by
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
    """Return the shape of a tensor variable."""
    return variable.tensor_type.shape


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    return axis % rank if rank else 0


def axes_of(dims: "int | Sequence[int] | None", rank: int) -> tuple[int, ...]:
    """Count axes from the front, in order; None and an empty list are all axes."""
    if isinstance(dims, int):
        dims = (dims,)
    if not dims:
        return tuple(range(rank))
    return tuple(sorted(dim % rank for dim in dims)) if rank else ()


def permutation_of(variable: Variable) -> tuple[int, ...] | None:
    """Return the permutation of a transposed variable, by axes of the input; None if it is not transposed."""
    node = owned_by(variable, *TRANSPOSES)
    return None if node is None else axis_order(node)


def axis_order(transpose: Apply) -> tuple[int, ...]:
    """Return the permutation of a transpose: the axis of its input for each axis of its result."""
    return _permutation(transpose.op, len(shape_of(transpose.inputs[0])))


@lru_cache(maxsize=10_000)
def _permutation(op: Op, rank: int) -> tuple[int, ...]:
    if op.target is aten.permute.default:
        return tuple(axis % rank for axis in op["dims"])
    marked = torch.empty(tuple(range(2, rank + 2)), device="meta")  # each axis is identified by its size
    return tuple(size - 2 for size in op.run([marked])[0].shape)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse of a permutation."""
    return tuple(list(order).index(axis) for axis in range(len(order)))


def reorder(values: Sequence[Any], order: Sequence[int]) -> tuple[Any, ...]:
    """Reorder one value per axis as the axes are."""
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


SPLITS = overloads("split.Tensor split_with_sizes chunk split.sizes tensor_split.sections")
SLICES = overloads("slice.Tensor narrow")

_starts: WeakKeyDictionary[Apply, list[int]] = WeakKeyDictionary()
"""The starts of the parts of a split, computed once: a split may have thousands."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a tensor: from `start` to before `stop` along `axis`."""

    source: Variable
    axis: int
    start: int
    stop: int

    @property
    def is_integer(self) -> bool:
        """Whether it covers the whole axis."""
        return self.start == 0 and self.stop == shape_of(self.source)[self.axis]


def slice_of(variable: Variable) -> Slice | None:
    """Return the slice that a variable is; None if it is not a slice, or one with steps."""
    owner = variable.owner
    if owner is None:
        return None
    target = owner.op.target
    if target not in SLICES and target not in SPLITS:
        return None
    source = owner.inputs[0]
    axis = axis_of(owner.op["dim"], len(shape_of(source)))
    size = shape_of(source)[axis]
    if target in SPLITS:
        starts = _starts.get(owner)
        if starts is None:
            starts = _starts[owner] = list(accumulate((shape_of(v)[axis] for v in owner.outputs), initial=0))
        return Slice(source, axis, starts[variable.index], starts[variable.index + 1])
    start = owner.op["start"] or 0
    start = max(0, min(start + size if start < 0 else start, size))
    if target is aten.slice.Tensor and owner.op["step"] != 1:
        return None
    return Slice(source, axis, start, start + shape_of(variable)[axis])


def slice_axis(source: Variable, axis: int, start: int, stop: int) -> Variable:
    """Slice a tensor along an axis."""
    return call(aten.slice.Tensor, source, axis, start, stop)
