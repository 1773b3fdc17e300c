"""Clips: relu, clamp, hardtanh and relu6."""

from math import inf

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    CLIPS,
    RELUS,
    clip,
    clip_bounds,
    gradient_on_ties,
    owned_by,
    replace_with,
    splat_number,
    value_range,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.clips import merge_clips

clips = passes.new("OptimizeClips", "Merge nested clips.")
identity_relu = passes.new("RemoveIdentityRelu", "Remove a relu whose input is never below 0.")
identity_clip = passes.new("RemoveIdentityClip", "Remove a clip whose input is within its bounds.")
min_max = passes.new("FoldMinMaxToClip", "Replace the minimum and maximum with two numbers by a clip.")
leaky = passes.new("FoldLeakyRelu", "Replace the maximum of x and s x, with s at most 1, by a leaky relu.")

clips.add(merge_clips)

FLAT_AT_BOUNDS = overloads("relu relu6 hardtanh sigmoid abs exp square")
"""Operators whose gradient is 0 at the ends of their range."""


def _remove_if_within_bounds(node: Apply) -> Rewrite:
    bounds = clip_bounds(node)
    if bounds is None:
        return False
    low, high = value_range(node.inputs[0])
    if low < bounds[0] or high > bounds[1]:
        return False
    return (None if _is_flat(node) else gradient_on_ties(node)) or without_copy(node, node.inputs[0])


def _is_flat(node: Apply) -> bool:
    """Whether removing the clip leaves the gradient on its bounds unchanged."""
    above = node.inputs[0].owner
    keeps_gradient = node.op.target in (aten.clamp.default, aten.clip.default)
    return keeps_gradient or (above is not None and above.op.target in FLAT_AT_BOUNDS)


@identity_relu.rule(RELUS, exactness=Exactness.EXACT)
def remove_identity_relu(node: Apply) -> Rewrite:
    """Remove a relu of a relu, a sigmoid, a clip above 0, or any other value that is never below 0."""
    return _remove_if_within_bounds(node)


@identity_clip.rule(CLIPS, exactness=Exactness.EXACT)
def remove_identity_clip(node: Apply) -> Rewrite:
    """Remove a clip whose input is within its bounds."""
    return _remove_if_within_bounds(node)


MIN = (aten.minimum.default, aten.min.other)
MAX = (aten.maximum.default, aten.max.other)


def _with_number(node: Apply) -> tuple[Variable, float] | None:
    """The tensor and the number of a binary operator, in any order."""
    for x, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        number = splat_number(other)
        if isinstance(number, int | float) and number == number and x.type == node.outputs[0].type:
            return x, number
    return None


@min_max.rule((*MIN, *MAX))
def min_max_is_clip(node: Apply) -> Rewrite:
    """min(max(x, a), b) and max(min(x, b), a) are clip(x, a, b) if a <= b, except for the sign of a zero."""
    outer = _with_number(node)
    if outer is None or node.outputs[0].tensor_type.dtype is torch.bool:
        return False
    below, outer_number = outer
    wanted = MAX if node.op.target in MIN else MIN
    inner_node = owned_by(below, *wanted)
    inner = _with_number(inner_node) if inner_node is not None else None
    if inner is None or inner_node is None:
        return False
    source, inner_number = inner
    low, high = (inner_number, outer_number) if node.op.target in MIN else (outer_number, inner_number)
    if low > high:
        return Declined(f"the lower bound {low:g} is above the upper bound {high:g}", inner_node)
    return gradient_on_ties(node) or replace_with(node, clip(source, low, high))


@leaky.rule(MAX)
def max_is_leaky_relu(node: Apply) -> Rewrite:
    """max(x, s x) with a number s <= 1 is leaky_relu(x, s), except for the sign of a zero."""
    near: Declined | None = None
    for x, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        product = owned_by(other, aten.mul.Tensor)
        if product is None:
            continue
        found = _with_number(product)
        if found is None:
            near = Declined("it is not a product with a number", product)
            continue
        source, slope = found
        if source is not x:
            near = Declined("the product is of another tensor", product)
            continue
        if not -inf < slope <= 1 or slope == 0:
            near = Declined(f"the slope is {slope:g}; a leaky relu needs one that is at most 1, and not 0", product)
            continue
        if not x.tensor_type.dtype.is_floating_point:
            continue
        return gradient_on_ties(node) or replace_with(node, call(aten.leaky_relu.default, x, slope))
    return near or False
