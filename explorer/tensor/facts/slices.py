"""Slices and splits as (tensor, axis, start, stop)."""

from dataclasses import dataclass
from itertools import accumulate
from weakref import WeakKeyDictionary

from explorer.tensor.facts.shapes import axis_of, shape_of
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.variables import Apply, Variable

SPLITS = overloads("split.Tensor split_with_sizes chunk split.sizes tensor_split.sections")
SLICES = overloads("slice.Tensor narrow")

_starts: WeakKeyDictionary[Apply, list[int]] = WeakKeyDictionary()
"""Where the parts of a split begin, computed once: a split may have thousands."""


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
    """The slice that a variable is; None if it is not a slice, or one with steps."""
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
