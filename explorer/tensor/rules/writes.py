"""Writes of a part of a tensor: reads of what was written, writes over writes, and writes that fill the tensor."""

from dataclasses import dataclass

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    axis_of,
    have_dtype_of,
    read_once,
    replace_with,
    reshape,
    shape_of,
    slice_axis,
    slice_of,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rules.families import canonical

EXACT = Exactness.EXACT
WRITES = (aten.slice_scatter.default, aten.select_scatter.default)


@dataclass(frozen=True, slots=True)
class Write:
    """A write to the positions from `start` to before `stop` along `axis` of a tensor."""

    node: Apply
    target: Variable
    source: Variable
    axis: int
    start: int
    stop: int

    @property
    def part(self) -> Variable:
        """What is written, with the axis also where one position is written."""
        shape = list(shape_of(self.target))
        shape[self.axis] = self.stop - self.start
        return reshape(self.source, shape)

    @property
    def size(self) -> int:
        """The number of positions along the axis."""
        return shape_of(self.target)[self.axis]


def write_of(node: Apply | None) -> Write | None:
    """Return the write that an operator is; None for another operator, a write with steps, or one of no positions."""
    if node is None or node.op.target not in WRITES:
        return None
    target, source = node.inputs
    axis = axis_of(node.op["dim"], len(shape_of(target)))
    size = shape_of(target)[axis]
    if not have_dtype_of(target, source):
        return None
    if node.op.target is aten.select_scatter.default:
        start = node.op["index"] % size
        return Write(node, target, source, axis, start, start + 1)
    if node.op["step"] != 1:
        return None
    start = node.op["start"] or 0
    start = max(0, min(start + size if start < 0 else start, size))
    stop = start + shape_of(source)[axis]
    return Write(node, target, source, axis, start, stop) if stop > start else None


@canonical.rule(WRITES, exactness=EXACT)
def write_of_all(node: Apply) -> Rewrite:
    """A write of the whole tensor is what is written."""
    write = write_of(node)
    if write is None or (write.start, write.stop) != (0, write.size):
        return False
    return without_copy(node, write.part)


@canonical.rule(WRITES, exactness=EXACT)
def write_back(node: Apply) -> Rewrite:
    """A write of the numbers that were read from there is the tensor."""
    write = write_of(node)
    if write is None:
        return False
    read = slice_of(write.source)
    same = read is not None and (read.axis, read.start, read.stop) == (write.axis, write.start, write.stop)
    if read is None or not same or read.source is not write.target:
        return False
    return without_copy(node, write.target)


@canonical.rule(WRITES, above=WRITES, exactness=EXACT)
def write_over_write(node: Apply, above: Apply) -> Rewrite:
    """A write over all that was written before replaces it."""
    outer, inner = write_of(node), write_of(above)
    if outer is None or inner is None or outer.axis != inner.axis:
        return False
    if not (outer.start <= inner.start and inner.stop <= outer.stop):
        return Declined("it leaves a part of what was written", above)
    made = call(aten.slice_scatter.default, inner.target, outer.part, outer.axis, outer.start, outer.stop)
    return replace_with(node, made)


@canonical.rule([aten.slice.Tensor, aten.narrow.default, aten.select.int], above=WRITES)
def read_of_write(node: Apply, above: Apply) -> Rewrite:
    """A read of what was written is a part of it; a read of other positions reads the tensor as it was."""
    write = write_of(above)
    if write is None or axis_of(node.op["dim"], len(shape_of(node.inputs[0]))) != write.axis:
        return False
    if node.op.target is aten.select.int:
        start = node.op["index"] % write.size
        stop = start + 1
    else:
        part = slice_of(node.outputs[0])
        if part is None:
            return False
        start, stop = part.start, part.stop
    if stop <= write.start or start >= write.stop:
        found = slice_axis(write.target, write.axis, start, stop)
    elif write.start <= start and stop <= write.stop:
        found = write.part
        if (start, stop) != (write.start, write.stop):
            found = slice_axis(found, write.axis, start - write.start, stop - write.start)
    else:
        return Declined("it reads written positions and others", above)
    return without_copy(node, reshape(found, shape_of(node.outputs[0])), rounding=True)


@canonical.rule(WRITES)
def writes_fill(node: Apply) -> Rewrite:
    """Writes that fill a tensor one after the other are a concat of what they write."""
    if any(client is not None and write_of(client) is not None for client, _ in node.outputs[0].clients):
        return False  # the last write handles all
    found: dict[int, Write] = {}
    last = write = write_of(node)
    while write is not None and last is not None and write.axis == last.axis:
        if write is not last and not read_once(write.node.outputs[0]):
            break
        if any(write.start < other.stop and other.start < write.stop for other in found.values()):
            return Declined("the writes overlap", write.node)
        found[write.start] = write
        write = write_of(write.target.owner)
    if last is None or len(found) < 2:
        return False
    if sum(one.stop - one.start for one in found.values()) != last.size:
        return Declined("the writes do not fill the tensor", node)
    return replace_with(node, call(aten.cat.default, [found[start].part for start in sorted(found)], last.axis))
