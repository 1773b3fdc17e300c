"""Views: one operator for shapes and one for permutations, merged chains, and unnecessary copies.

Shapes use `reshape`, which is valid for all strides.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    RESHAPES,
    SLICES,
    TRANSPOSES,
    axis_order,
    first_trained,
    known_tensor,
    number_of,
    owned_by,
    permute,
    read_once,
    reorder,
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
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rules.families import canonical

EXACT = Exactness.EXACT


@canonical.rule([target for target in RESHAPES if target is not aten.reshape.default], exactness=EXACT)
def to_reshape(node: Apply) -> Rewrite:
    """view, flatten, squeeze and unsqueeze are reshapes."""
    return replace_with(node, call(aten.reshape.default, node.inputs[0], list(shape_of(node.outputs[0]))))


@canonical.rule([target for target in TRANSPOSES if target is not aten.permute.default], exactness=EXACT)
def to_permute(node: Apply) -> Rewrite:
    """transpose, t and movedim are permutations of the axes."""
    return replace_with(node, call(aten.permute.default, node.inputs[0], list(axis_order(node))))


@canonical.rule([aten.expand_as.default, aten.broadcast_to.default], exactness=EXACT)
def to_expand(node: Apply) -> Rewrite:
    """expand_as and broadcast_to are expand with an explicit shape."""
    return replace_with(node, call(aten.expand.default, node.inputs[0], list(shape_of(node.outputs[0]))))


@canonical.rule(RESHAPES, exactness=EXACT)
def drop_same_shape(node: Apply) -> Rewrite:
    """A reshape to the same shape is a no-op."""
    return replace_with(node, node.inputs[0]) if shape_of(node.inputs[0]) == shape_of(node.outputs[0]) else False


@canonical.rule([aten.expand.default, aten.repeat.default, aten.tile.default], exactness=EXACT)
def drop_single_tile(node: Apply) -> Rewrite:
    """Repeating once is a no-op."""
    source = node.inputs[0]
    return without_copy(node, source) if shape_of(source) == shape_of(node.outputs[0]) else False


@canonical.rule(TRANSPOSES, exactness=EXACT)
def drop_same_order(node: Apply) -> Rewrite:
    """A transpose that keeps every axis is a no-op."""
    order = axis_order(node)
    return replace_with(node, node.inputs[0]) if order == tuple(range(len(order))) else False


@canonical.rule(RESHAPES, above=RESHAPES, exactness=EXACT)
def merge_reshapes(node: Apply, above: Apply) -> Rewrite:
    """Consecutive reshapes are the last one."""
    return replace_with(node, reshape(above.inputs[0], shape_of(node.outputs[0])))


@canonical.rule(TRANSPOSES, above=TRANSPOSES, exactness=EXACT)
def merge_transposes(node: Apply, above: Apply) -> Rewrite:
    """Two consecutive transposes are one: axis i of the result is axis inner[outer[i]] of the input."""
    return replace_with(node, permute(above.inputs[0], reorder(axis_order(above), axis_order(node))))


@canonical.rule([aten.expand.default], above=[aten.expand.default], exactness=EXACT)
def merge_expands(node: Apply, above: Apply) -> Rewrite:
    """Consecutive expansions are the last one."""
    return replace_with(node, call(aten.expand.default, above.inputs[0], list(shape_of(node.outputs[0]))))


@canonical.rule(TRANSPOSES, exactness=EXACT)
def transpose_into_reshape(node: Apply) -> Rewrite:
    """A transpose that moves only axes of size 1 is a reshape."""
    shape, order = shape_of(node.inputs[0]), axis_order(node)
    if order == tuple(range(len(order))):
        return False
    long = [axis for axis in order if shape[axis] != 1]
    return replace_with(node, reshape(node.inputs[0], shape_of(node.outputs[0]))) if long == sorted(long) else False


@canonical.rule([aten.permute.default], above=[aten.reshape.default], exactness=EXACT)
def permute_before_reshape(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape that only adds or drops axes of size 1 below a permutation, where reshapes meet."""
    source = above.inputs[0]
    inner, middle = shape_of(source), shape_of(node.inputs[0])
    if [size for size in inner if size != 1] != [size for size in middle if size != 1]:
        return Declined("the reshape above changes more than axes of size 1", above)
    if not read_once(node.inputs[0]):
        return Declined("the reshape above has other users", above)
    long = [axis for axis, size in enumerate(inner) if size != 1]
    location = {axis: long[i] for i, axis in enumerate(axis for axis, size in enumerate(middle) if size != 1)}
    order = [location[dim] for dim in axis_order(node) if dim in location]
    order += [axis for axis, size in enumerate(inner) if size == 1]
    return replace_with(node, reshape(permute(source, order), shape_of(node.outputs[0])))


COPIES = (aten.clone.default, aten.contiguous.default, aten.lift_fresh_copy.default)


@canonical.rule(COPIES, exactness=EXACT)
def drop_copy(node: Apply) -> Rewrite:
    """A copy is its source in a graph without in-place operators."""
    return _requested_format(node) or without_copy(node, node.inputs[0])


@canonical.rule(COPIES)
def drop_copy_before_sums(node: Apply) -> Rewrite:
    """Remove a copy even where later sums may then add the same numbers in another order."""
    found = _requested_format(node) or without_copy(node, node.inputs[0], rounding=True)
    return False if isinstance(found, Declined) else found  # drop_copy reports why


def _requested_format(node: Apply) -> Declined | None:
    wanted = node.op.attributes.get("memory_format")
    if wanted in (None, 0, torch.preserve_format, torch.contiguous_format):  # 0: the default in the schema
        return None
    return Declined(f"the copy has the memory format {wanted}, which its users may need to be fast")


@canonical.rule([aten.alias.default, aten.lift_fresh.default, aten.detach.default], exactness=EXACT)
def drop_alias(node: Apply) -> Rewrite:
    """Remove alias and lift_fresh, and detach where no gradient passes."""
    source = node.inputs[0]
    if node.op.target is aten.detach.default:
        trained = first_trained(source)
        if trained is not None:
            return Declined(f"it stops the gradient of {trained.name or 'a parameter'}")
    return replace_with(node, source)


@canonical.rule([aten.dropout, aten.feature_dropout, aten.alpha_dropout, aten.native_dropout], exactness=EXACT)
def drop_dropout(node: Apply) -> Rewrite:
    """Dropout in inference, or with probability 0, is its input."""
    if node.op["train"] is not False and not (node.op["p"] == 0 and node.op.target is aten.dropout.default):
        return False
    if len(node.outputs) > 1 and node.outputs[1].clients:
        return Declined("its mask is used")
    found = without_copy(node, node.inputs[0])
    return found if isinstance(found, Declined) else [*found, *[None] * (len(node.outputs) - 1)]


@canonical.rule(SLICES, exactness=EXACT)
def drop_whole_slice(node: Apply) -> Rewrite:
    """A slice of the whole axis is its input."""
    part = slice_of(node.outputs[0])
    return replace_with(node, node.inputs[0]) if part is not None and part.is_integer else False


@canonical.rule([aten.cat.default], exactness=EXACT)
def drop_single_cat(node: Apply) -> Rewrite:
    """The concatenation of one tensor is that tensor."""
    return without_copy(node, node.inputs[0]) if len(node.inputs) == 1 else False


@canonical.rule([aten.index_select.default], exactness=EXACT)
def select_a_range(node: Apply) -> Rewrite:
    """Selecting all positions in order is the input; evenly spaced ones are a slice, which does not copy."""
    found = _range(node)
    return False if found is None else without_copy(node, found)


@canonical.rule([aten.index_select.default])
def select_a_range_before_sums(node: Apply) -> Rewrite:
    """Slice a range even where later sums may then add the same numbers in another order."""
    source = _range(node)
    found = False if source is None else without_copy(node, source, rounding=True)
    return False if isinstance(found, Declined) else found  # select_a_range reports why


def _range(node: Apply) -> Variable | None:
    """Return the input of a selection of evenly spaced positions, or a slice of it; None for another selection."""
    source, index = node.inputs
    rows = _rows(index)
    if not rows or not shape_of(source):
        return None
    step = rows[1] - rows[0] if len(rows) > 1 else 1
    if step < 1 or rows != list(range(rows[0], rows[-1] + 1, step)):
        return None
    dim = node.op["dim"]
    if len(rows) == shape_of(source)[dim]:
        return source
    return call(aten.slice.Tensor, source, dim, rows[0], rows[-1] + 1, step)


@canonical.rule([aten.index_select.default], above=[aten.index_select.default], exactness=EXACT)
def merge_selects(node: Apply, above: Apply) -> Rewrite:
    """Merge two selections along one axis."""
    rank = len(shape_of(node.outputs[0]))
    if above.op["dim"] % rank != node.op["dim"] % rank:
        return Declined("the two select along different axes", above)
    inner, outer = known_tensor(above.inputs[1]), known_tensor(node.inputs[1])
    if inner is None or outer is None:
        return Declined("one of the two selections is unknown", above)
    if not read_once(node.inputs[0]):
        return Declined("the selection above has other users", above)
    both = Constant(inner.reshape(-1)[outer.reshape(-1)], above.inputs[1].name or node.inputs[1].name)
    return replace_with(node, call(aten.index_select.default, above.inputs[0], node.op["dim"], both))


@canonical.rule(SLICES, exactness=EXACT)
def merge_slices(node: Apply) -> Rewrite:
    """Merge two slices along one axis, both with step 1."""
    outer, inner = slice_of(node.outputs[0]), slice_of(node.inputs[0])
    if outer is None or inner is None or outer.axis != inner.axis or owned_by(node.inputs[0], *SLICES) is None:
        return False
    return replace_with(node, slice_axis(inner.source, inner.axis, inner.start + outer.start, inner.start + outer.stop))


@canonical.rule([aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf], exactness=EXACT)
def drop_decided_where(node: Apply) -> Rewrite:
    """A where with one known condition is one of its sides."""
    decided = number_of(node.inputs[0])
    if decided is None:
        return False
    side = node.input_of("self" if decided else "other")
    if side is None:
        return Declined("the selected side is a number, not a tensor")
    return without_copy(node, side)


def _rows(index: Variable) -> list[int] | None:
    """Return the positions in a known index."""
    data = known_tensor(index)
    return None if data is None else [int(row) for row in data.reshape(-1).tolist()]
