"""Passes on operators that move numbers.

`OptimizeReshape`, `SinkReshapes`, `OptimizeTransposeIntoReshape`, `TransposeConstants`, `OptimizeSplat`,
`GatherToSlice`, `FoldChannelShuffle`.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    CLIPS,
    COMPUTING,
    PARTS,
    RELUS,
    RESHAPES,
    SELECTING,
    TRANSPOSES,
    axis_of,
    axis_order,
    constant_like,
    keeps_bits,
    known_tensor,
    owned_by,
    permutation_of,
    read_once,
    reapply,
    replace_with,
    reshape,
    shape_of,
    slice_axis,
    splat,
    splat_number,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.library import channel_shuffle_op
from explorer.tensor.ir.ops import SLOT, call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.views import drop_same_shape, merge_reshapes, transpose_into_reshape

optimize_reshape = passes.new("OptimizeReshape")
sink_reshapes = passes.new("SinkReshapes")
optimize_reshape.add(drop_same_shape, merge_reshapes)


@optimize_reshape.rule(RESHAPES, exactness=Exactness.EXACT)
def reshape_constant(node: Apply) -> Rewrite:
    """A reshape of a constant is a constant."""
    data = known_tensor(node.inputs[0])
    if data is None:
        return False
    return replace_with(node, constant_like(node.inputs[0], data.reshape(shape_of(node.outputs[0]))))


def _sink(node: Apply, above: Apply) -> Rewrite:
    if node.op.attributes.get("memory_format") is not None:
        return False
    if len(above.outputs[0].clients) > 1:
        return Declined("the reshape has other users, and would be repeated below each of them", above)
    return replace_with(node, reshape(reapply(node, [above.inputs[0]]), shape_of(node.outputs[0])))


@sink_reshapes.rule(SELECTING, above=RESHAPES, exactness=Exactness.EXACT)
def reshape_below_elementwise(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape below an elementwise operator."""
    return _sink(node, above) if keeps_bits(node) else False


@sink_reshapes.rule((*SELECTING, *COMPUTING), above=RESHAPES)
def reshape_below_function(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape below an elementwise function that rounds depending on positions."""
    return False if keeps_bits(node) else _sink(node, above)


into_reshape = passes.new("OptimizeTransposeIntoReshape")


into_reshape.add(transpose_into_reshape)

transpose_constants = passes.new("TransposeConstants")


@transpose_constants.rule(TRANSPOSES, exactness=Exactness.EXACT)
def transpose_constant(node: Apply) -> Rewrite:
    """A transpose of a constant is a constant with the same strides, on which kernels depend."""
    data, kind = known_tensor(node.inputs[0]), node.outputs[0].tensor_type
    if data is None:
        return False
    turned = data.permute(axis_order(node))
    return replace_with(node, Constant(turned, node.inputs[0].name, False, kind.layout, kind.quantization))


optimize_splat = passes.new("OptimizeSplat")

MOVING = (*PARTS, *TRANSPOSES, aten.expand.default)


@optimize_splat.rule(MOVING, exactness=Exactness.EXACT)
def part_of_splat(node: Apply) -> Rewrite:
    """A slice, a transpose or an expansion of a splat is a splat."""
    number = splat_number(node.inputs[0])
    return False if number is None else replace_with(node, splat(node.outputs[0].tensor_type, number, node.inputs[0]))


@optimize_splat.rule(RESHAPES, exactness=Exactness.EXACT)
def reshape_of_splat(node: Apply) -> Rewrite:
    """A reshape of a splat is a splat; left alone where the splat has other users."""
    number = splat_number(node.inputs[0])
    if number is None:
        return False
    if not read_once(node.inputs[0]):
        return Declined("the tensor has other users", node)
    return replace_with(node, splat(node.outputs[0].tensor_type, number, node.inputs[0]))


@optimize_splat.rule((*CLIPS, *RELUS), exactness=Exactness.EXACT)
def clip_of_splat(node: Apply) -> Rewrite:
    """A clip of a splat is a splat of the clipped number."""
    number = splat_number(node.inputs[0])
    if number is None:
        return False
    (clipped,) = node.op.run([torch.tensor(number, dtype=node.inputs[0].tensor_type.dtype)])
    return replace_with(node, splat(node.outputs[0].tensor_type, clipped.item(), node.inputs[0]))


gathers = passes.new("GatherToSlice")

INTEGERS = (torch.int32, torch.int64)


@gathers.rule((aten.index_select.default, aten.index.Tensor), exactness=Exactness.EXACT)
def gather_to_slice(node: Apply) -> Rewrite:
    """Rows i, i + 1, ..., j of a tensor, chosen by constant indices, are a slice of it."""
    found = _indices(node)
    if found is None:
        return False
    picked, axis = found
    size = shape_of(node.inputs[0])[axis]
    rows = [row + size if row < 0 else row for row in picked.tolist()]
    if rows != list(range(rows[0], rows[0] + len(rows))):
        return Declined("the indices are not consecutive", node)
    return without_copy(node, slice_axis(node.inputs[0], axis, rows[0], rows[-1] + 1))


def _indices(node: Apply) -> tuple[torch.Tensor, int] | None:
    """Return the constant indices of a gather, in one dimension, and their axis; None if there are none."""
    rank = len(shape_of(node.inputs[0]))
    picked = known_tensor(node.inputs[1]) if len(node.inputs) == 2 and rank else None
    if picked is None or picked.ndim != 1 or not picked.numel() or picked.dtype not in INTEGERS:
        return None
    if node.op.target is aten.index_select.default:
        return picked, axis_of(node.op["dim"], rank)
    return picked, node.op["indices"].index(SLOT)


def shuffle_of(node: Apply) -> tuple[int, int]:
    """Return groups and axis of a channel shuffle."""
    if node.op.target is aten.channel_shuffle.default:
        return node.op["groups"], 1
    return node.op["groups"], node.op["axis"] % len(shape_of(node.inputs[0]))


def shuffle(variable: Variable, groups: int, axis: int) -> Variable:
    """Shuffle the channels at an axis of a variable between groups."""
    if axis == 1 and len(shape_of(variable)) >= 3:
        return call(aten.channel_shuffle.default, variable, groups)
    return call(channel_shuffle_op, variable, groups, axis)


fold_shuffle = passes.new("FoldChannelShuffle")


@fold_shuffle.rule(RESHAPES, exactness=Exactness.EXACT)
def channel_shuffle(node: Apply) -> Rewrite:
    """Splitting an axis in two, exchanging the two and merging them again is a channel shuffle."""
    middle = node.inputs[0].owner
    if middle is not None and middle.op.target in (aten.clone.default, aten.contiguous.default):
        middle = middle.inputs[0].owner
    if middle is None or middle.op.target not in TRANSPOSES:
        return False
    first = owned_by(middle.inputs[0], *RESHAPES)
    order = permutation_of(middle.outputs[0])
    if first is None or order is None:
        return False
    source = first.inputs[0]
    shape, divided = shape_of(source), shape_of(first.outputs[0])
    if shape_of(node.outputs[0]) != shape:
        return Declined("the last reshape does not restore the first shape", node)
    moved = [i for i, axis in enumerate(order) if i != axis]
    if len(moved) != 2 or moved[1] != moved[0] + 1:
        return Declined("the transpose does not exchange two adjacent axes", middle)
    axis = moved[0]
    groups, rest = divided[axis], divided[axis + 1]
    if divided != (*shape[:axis], groups, rest, *shape[axis + 1 :]) or shape[axis : axis + 1] != (groups * rest,):
        return Declined("the first reshape does not split one axis in two", first)
    return replace_with(node, shuffle(source, groups, axis))
