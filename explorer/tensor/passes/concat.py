"""Joins (cat): nested ones, those that put a tensor together again, and those that are taken apart again.

Source: Glow, OptimizeConcatNodes, EliminateConcatSlice, EliminateSliceConcat.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    RESHAPES,
    SLICES,
    SPLITS,
    Slice,
    axis_of,
    only_user,
    owned_by,
    permute,
    read_once,
    replace_with,
    reshape,
    shape_of,
    slice_of,
    sliced,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.aliasing import memory_roots, memory_views
from explorer.tensor.ir.ops import Op, apply_op, slots
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.views import drop_single_cat

aten = torch.ops.aten

CAT = (aten.cat.default,)

concat_nodes = passes.new("OptimizeConcatNodes", "Joins of joins are one; joins that change nothing are removed.")
concat_slice = passes.new("EliminateConcatSlice", "A slice of a join that is one of its inputs is that input.")
slice_concat = passes.new("EliminateSliceConcat", "A join of slices that lie side by side is one slice.")
concat_nodes.add(drop_single_cat)


def concat(variables: Sequence[Variable], axis: int) -> Variable:
    """Tensors joined along an axis."""
    return apply_op(Op.of(aten.cat.default, tensors=slots(len(variables)), dim=axis), variables).outputs[0]


def cat_axis(node: Apply) -> int | None:
    """The axis of a join; None if PyTorch's empty tensors of one axis, which fit anywhere, are among its inputs."""
    rank = len(shape_of(node.outputs[0]))
    if any(len(shape_of(v)) != rank for v in node.inputs):
        return None
    return axis_of(node.op["dim"], rank)


@concat_nodes.rule(CAT, exactness=Exactness.EXACT)
def merge_concats(node: Apply) -> Rewrite:
    """Joins along the same axis among the inputs of a join, read nowhere else, are taken into it, at any depth.

    A join that another one takes in is left for that one: each is looked at once, however deep it lies.
    """
    axis = cat_axis(node)
    inner = [owner for v in node.inputs if (owner := _joined_alike(v, node, axis)) is not None]
    if axis is None or not inner:
        return False
    if not any(read_once(found.outputs[0]) for found in inner):
        return Declined("the inner join is read elsewhere too", inner[-1])
    outer = only_user(node.outputs[0])
    if outer is not None and _joined_alike(node.outputs[0], outer, axis) is node:
        return False
    return replace_with(node, concat(_flattened(node, axis), axis))


def _joined_alike(variable: Variable, outer: Apply, axis: int | None) -> Apply | None:
    """The join that gives a variable, if a join that reads it goes along the same axis and has the same dtype."""
    inner = owned_by(variable, *CAT)
    if inner is None or outer.op.target not in CAT or axis is None:
        return None
    same = cat_axis(inner) == cat_axis(outer) == axis
    return inner if same and variable.tensor_type.dtype is outer.outputs[0].tensor_type.dtype else None


def _flattened(node: Apply, axis: int) -> list[Variable]:
    """The inputs of a join with those of the joins in place of joins that nothing else reads."""
    found: list[Variable] = []
    waiting = list(reversed(node.inputs))
    while waiting:
        variable = waiting.pop()
        inner = _joined_alike(variable, node, axis)
        if inner is not None and read_once(variable):
            waiting.extend(reversed(inner.inputs))
        else:
            found.append(variable)
    return found


@concat_nodes.rule(CAT, exactness=Exactness.EXACT)
def concat_of_all_slices(node: Apply) -> Rewrite:
    """A join of all slices of one tensor in their order is that tensor."""
    axis = cat_axis(node)
    parts = [slice_of(v) for v in node.inputs]
    first = parts[0]
    if axis is None or first is None or any(part is None for part in parts):
        return False
    whole = [part for part in parts if part is not None]
    if any(part.source is not first.source or part.axis != axis for part in whole):
        return False
    if not _consecutive(whole) or first.start != 0 or whole[-1].stop != shape_of(first.source)[axis]:
        return Declined("the slices are not all of the tensor in its order", node)
    return without_copy(node, first.source)


@concat_nodes.rule(CAT)
def reshape_below_concat(node: Apply) -> Rewrite:
    """A join of reshapes is the reshape of a join, where an axis of the inputs runs as the joined one does."""
    axis = cat_axis(node)
    above = [owned_by(v, *RESHAPES) for v in node.inputs]
    sources = [found.inputs[0] for found in above if found is not None]
    if axis is None or len(sources) != len(node.inputs) or len(sources) < 2:
        return False
    ranks = {len(shape_of(v)) for v in sources}
    if len(ranks) != 1:
        return Declined("the reshaped tensors have different numbers of axes", node)
    for candidate in range(ranks.pop()):
        rest = {(*shape_of(v)[:candidate], *shape_of(v)[candidate + 1 :]) for v in sources}
        if len(rest) == 1 and all(
            prod(shape_of(s)[:candidate]) == prod(shape_of(v)[:axis])
            and prod(shape_of(s)[candidate + 1 :]) == prod(shape_of(v)[axis + 1 :])
            for s, v in zip(sources, node.inputs, strict=True)
        ):
            return replace_with(node, reshape(concat(sources, candidate), shape_of(node.outputs[0])))
    return Declined("no axis of the reshaped tensors runs as the joined one", node)


@concat_slice.rule((*SLICES, *SPLITS))
def slice_of_concat(node: Apply) -> Rewrite:
    """A part of a join that lies within one of its inputs is that input, or a part of it."""
    parts = [slice_of(v) for v in node.outputs]
    join = owned_by(node.inputs[0], *CAT)
    axis = cat_axis(join) if join is not None else None
    if join is None or axis is None or any(part is None or part.axis != axis for part in parts):
        return False
    given: list[Variable | None] = []
    for variable, part in zip(node.outputs, parts, strict=True):
        new = _part_of_concat(join, axis, part) if part is not None and variable.clients else None
        if variable.clients and new is None:
            return Declined("it takes numbers of several inputs of the join", join)
        if new is not None and new.type != variable.type:
            return Declined("the join changes the type of its inputs", join)
        if new is not None and (root := _becomes_an_output(variable, new)) is not None:
            return Declined(f"an output of the graph would share its memory with {root.name or 'a constant'}", node)
        given.append(new)
    return given


def _becomes_an_output(old: Variable, new: Variable) -> Variable | None:
    """What the caller holds of which a part would be an output, if `new` stood for `old`; None if nothing."""
    if not any(client is None for view in memory_views(old) for client, _ in view.clients):
        return None
    return next((root for root in memory_roots(new) if root.owner is None), None)


def _part_of_concat(join: Apply, axis: int, part: Slice) -> Variable | None:
    begin = 0
    for variable in join.inputs:
        end = begin + shape_of(variable)[axis]
        if (part.start, part.stop) == (begin, end):
            return variable
        if begin <= part.start < part.stop <= end:
            return sliced(variable, axis, part.start - begin, part.stop - begin)
        begin = end
    return None


def _consecutive(parts: Sequence[Slice]) -> bool:
    return all(one.stop == other.start for one, other in pairwise(parts))


@slice_concat.rule(CAT, exactness=Exactness.EXACT)
def concat_of_slices(node: Apply) -> Rewrite:
    """Slices that lie side by side in one tensor and in the join are one slice."""
    axis = cat_axis(node)
    if axis is None:
        return False
    runs = _runs(node, axis)
    if len(runs) == len(node.inputs):
        return False
    merged = [_merged(run) for run in runs]
    return without_copy(node, merged[0] if len(merged) == 1 else concat(merged, axis))


def _runs(node: Apply, axis: int) -> list[list[Variable]]:
    """The inputs of a join in groups of slices along its axis that follow each other."""
    runs: list[list[Variable]] = []
    for variable in node.inputs:
        part, last = slice_of(variable), slice_of(runs[-1][-1]) if runs else None
        follows = (
            part is not None
            and last is not None
            and part.source is last.source
            and part.axis == last.axis == axis
            and part.start == last.stop
        )
        if follows:
            runs[-1].append(variable)
        else:
            runs.append([variable])
    return runs


def _merged(run: Sequence[Variable]) -> Variable:
    first, last = slice_of(run[0]), slice_of(run[-1])
    if len(run) == 1 or first is None or last is None:
        return run[0]
    return sliced(first.source, first.axis, first.start, last.stop)


LEAST_FOR_RESHAPE = 2
LEAST_FOR_TRANSPOSE = 3
"""More slices than these must be joined for a reshape, or a transpose and a reshape, to be less work."""


@slice_concat.rule(CAT, exactness=Exactness.EXACT)
def concat_of_slices_of_the_next_axis(node: Apply) -> Rewrite:
    """Slices of size 1 along one axis, joined along its neighbour, are one slice that is reshaped, maybe transposed."""
    axis = cat_axis(node)
    parts = [slice_of(v) for v in node.inputs]
    first, last = parts[0], parts[-1]
    if axis is None or first is None or last is None or len(parts) < 2:
        return False
    whole = [part for part in parts if part is not None]
    if len(whole) != len(parts) or any(
        part.source is not first.source or part.axis != first.axis or part.stop - part.start != 1 for part in whole
    ):
        return False
    if first.axis not in (axis - 1, axis + 1) or not _consecutive(whole):
        return False
    needed = LEAST_FOR_RESHAPE if first.axis == axis - 1 else LEAST_FOR_TRANSPOSE
    if len(parts) <= needed:
        return Declined(f"{len(parts)} slices are joined; more than {needed} make it less work", node)
    new = sliced(first.source, first.axis, first.start, last.stop)
    if first.axis == axis + 1:
        order = list(range(len(shape_of(new))))
        order[axis], order[axis + 1] = axis + 1, axis
        new = permute(new, order)
    return without_copy(node, reshape(new, shape_of(node.outputs[0])))
