"""Channel shuffles along any axis, and shuffles written as two reshapes and a transpose."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import RESHAPES, TRANSPOSES, owned_by, permutation_of, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.library import channel_shuffle_op
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import passes


def shuffle_of(node: Apply) -> tuple[int, int]:
    """Groups and axis of a channel shuffle."""
    if node.op.target is aten.channel_shuffle.default:
        return node.op["groups"], 1
    return node.op["groups"], node.op["axis"] % len(shape_of(node.inputs[0]))


def shuffle(variable: Variable, groups: int, axis: int) -> Variable:
    """Shuffle the channels at an axis of a variable between groups."""
    if axis == 1 and len(shape_of(variable)) >= 3:
        return call(aten.channel_shuffle.default, variable, groups)
    return call(channel_shuffle_op, variable, groups, axis)


fold_shuffle = passes.new("FoldChannelShuffle", "Replace a reshape, a transpose and a reshape by a channel shuffle.")


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
