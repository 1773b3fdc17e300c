"""Concats (cat): nested ones, concats of slices, and slices of concats."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Literal

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
    slice_axis,
    slice_of,
    without_copy,
    would_alias,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import Op, apply_op, slots
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.views import drop_single_cat

CAT = (aten.cat.default,)

concat_nodes = passes.new("OptimizeConcatNodes")
concat_slice = passes.new("EliminateConcatSlice")
slice_concat = passes.new("EliminateSliceConcat")
concat_nodes.add(drop_single_cat)


def concat(variables: Sequence[Variable], axis: int) -> Variable:
    """Concatenate tensors along an axis."""
    return apply_op(Op.of(aten.cat.default, tensors=slots(len(variables)), dim=axis), variables).outputs[0]


def cat_axis(node: Apply) -> int | None:
    """Return the axis of a concat; None if its inputs include PyTorch's empty 1-d tensors, which fit any shape."""
    rank = len(shape_of(node.outputs[0]))
    if any(len(shape_of(v)) != rank for v in node.inputs):
        return None
    return axis_of(node.op["dim"], rank)


@concat_nodes.rule(CAT, exactness=Exactness.EXACT)
def merge_concats(node: Apply) -> Rewrite:
    """Flatten concats along the same axis that are only used by another concat, at any depth.

    Only the outermost concat does this, so that each is visited once.
    """
    axis = cat_axis(node)
    inner = [owner for v in node.inputs if (owner := _inner_concat(v, node, axis)) is not None]
    if axis is None or not inner:
        return False
    if not any(read_once(found.outputs[0]) for found in inner):
        return Declined("the inner concat has other users", inner[-1])
    outer = only_user(node.outputs[0])
    if outer is not None and _inner_concat(node.outputs[0], outer, axis) is node:
        return False
    return replace_with(node, concat(_flatten(node, axis), axis))


def _inner_concat(variable: Variable, outer: Apply, axis: int | None) -> Apply | None:
    """Return the owner of a variable if it is a concat with the axis and dtype of the concat that uses it."""
    inner = owned_by(variable, *CAT)
    if inner is None or outer.op.target not in CAT or axis is None:
        return None
    same = cat_axis(inner) == cat_axis(outer) == axis
    return inner if same and variable.tensor_type.dtype is outer.outputs[0].tensor_type.dtype else None


def _flatten(node: Apply, axis: int) -> list[Variable]:
    """Return the inputs of a concat, with those concats that only it uses replaced by their inputs."""
    found: list[Variable] = []
    waiting = list(reversed(node.inputs))
    while waiting:
        variable = waiting.pop()
        inner = _inner_concat(variable, node, axis)
        if inner is not None and read_once(variable):
            waiting.extend(reversed(inner.inputs))
        else:
            found.append(variable)
    return found


@concat_nodes.rule(CAT, exactness=Exactness.EXACT)
def concat_of_all_slices(node: Apply) -> Rewrite:
    """A concat of all slices of a tensor in order is that tensor."""
    source = _all_slices(node)
    return without_copy(node, source) if isinstance(source, Variable) else source


@concat_nodes.rule(CAT)
def concat_of_all_slices_before_sums(node: Apply) -> Rewrite:
    """Remove a concat of all slices even where later operators may then round in another order."""
    source = _all_slices(node)
    found = without_copy(node, source, rounding=True) if isinstance(source, Variable) else False
    return False if isinstance(found, Declined) else found  # concat_of_all_slices reports why


def _all_slices(node: Apply) -> Variable | Declined | Literal[False]:
    """Return the tensor of which a concat has all slices in order; or why not."""
    axis = cat_axis(node)
    parts = [slice_of(v) for v in node.inputs]
    first = parts[0]
    if axis is None or first is None or any(part is None for part in parts):
        return False
    whole = [part for part in parts if part is not None]
    if any(part.source is not first.source or part.axis != axis for part in whole):
        return False
    if not _consecutive(whole) or first.start != 0 or whole[-1].stop != shape_of(first.source)[axis]:
        return Declined("the slices do not cover the tensor in order", node)
    return first.source


@concat_nodes.rule(CAT)
def reshape_below_concat(node: Apply) -> Rewrite:
    """A concat of reshapes is a reshape of a concat, if an axis of the inputs corresponds to the concatenated one."""
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
    return Declined("no axis of the reshaped tensors corresponds to the concatenated one", node)


@concat_slice.rule((*SLICES, *SPLITS))
def slice_of_concat(node: Apply) -> Rewrite:
    """A slice of a concat that is within one of its inputs is that input, or a slice of it."""
    parts = [slice_of(v) for v in node.outputs]
    outer = owned_by(node.inputs[0], *CAT)
    axis = cat_axis(outer) if outer is not None else None
    if outer is None or axis is None or any(part is None or part.axis != axis for part in parts):
        return False
    given: list[Variable | None] = []
    for variable, part in zip(node.outputs, parts, strict=True):
        new = _part_of_concat(outer, axis, part) if part is not None and variable.clients else None
        if variable.clients and new is None:
            return Declined("it spans several inputs of the concat", outer)
        if new is not None and new.type != variable.type:
            return Declined("the concat changes the type of its inputs", outer)
        if new is not None and (reason := would_alias(variable, new)) is not None:
            return reason
        given.append(new)
    return given


def _part_of_concat(outer: Apply, axis: int, part: Slice) -> Variable | None:
    begin = 0
    for variable in outer.inputs:
        end = begin + shape_of(variable)[axis]
        if (part.start, part.stop) == (begin, end):
            return variable
        if begin <= part.start < part.stop <= end:
            return slice_axis(variable, axis, part.start - begin, part.stop - begin)
        begin = end
    return None


def _consecutive(parts: Sequence[Slice]) -> bool:
    return all(one.stop == other.start for one, other in pairwise(parts))


@slice_concat.rule(CAT, exactness=Exactness.EXACT)
def concat_of_slices(node: Apply) -> Rewrite:
    """Adjacent slices of one tensor are one slice."""
    axis = cat_axis(node)
    if axis is None:
        return False
    runs = _runs(node, axis)
    if len(runs) == len(node.inputs):
        return False
    merged = [_merge(run) for run in runs]
    return without_copy(node, merged[0] if len(merged) == 1 else concat(merged, axis))


def _runs(node: Apply, axis: int) -> list[list[Variable]]:
    """Return the inputs of a concat, grouped into runs of adjacent slices along its axis."""
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


def _merge(run: Sequence[Variable]) -> Variable:
    first, last = slice_of(run[0]), slice_of(run[-1])
    if len(run) == 1 or first is None or last is None:
        return run[0]
    return slice_axis(first.source, first.axis, first.start, last.stop)


MIN_FOR_RESHAPE = 2
MIN_FOR_TRANSPOSE = 3
"""More slices than these are needed for a reshape, or a transpose and a reshape, to be cheaper."""


@slice_concat.rule(CAT, exactness=Exactness.EXACT)
def concat_of_slices_of_the_next_axis(node: Apply) -> Rewrite:
    """Slices of size 1 along one axis, concatenated along the next one, are a slice that is reshaped or transposed."""
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
    needed = MIN_FOR_RESHAPE if first.axis == axis - 1 else MIN_FOR_TRANSPOSE
    if len(parts) <= needed:
        return Declined(f"only {len(parts)} slices; it is cheaper for more than {needed}", node)
    new = slice_axis(first.source, first.axis, first.start, last.stop)
    if first.axis == axis + 1:
        order = list(range(len(shape_of(new))))
        order[axis], order[axis + 1] = axis + 1, axis
        new = permute(new, order)
    return without_copy(node, reshape(new, shape_of(node.outputs[0])))
