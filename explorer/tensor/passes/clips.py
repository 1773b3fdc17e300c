"""Clips: relu, clamp, hardtanh and relu6 are bounds from one side or both.

Source: Glow, OptimizeClips, RemoveIdentityRelu, RemoveIdentityClip, FoldMinMaxToClip, FoldLeakyRelu.
"""

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
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.clips import merge_clips

aten = torch.ops.aten

clips = passes.new("OptimizeClips", "Clips of clips are one clip.")
identity_relu = passes.new("RemoveIdentityRelu", "A relu of what is never below 0 is removed.")
identity_clip = passes.new("RemoveIdentityClip", "A clip of what is within its bounds already is removed.")
min_max = passes.new("FoldMinMaxToClip", "The lesser of a number and the greater of a number and x is a clip.")
leaky = passes.new("FoldLeakyRelu", "The greater of x and s x, with s of at most 1, is a leaky relu.")

clips.add(merge_clips)

FLAT_AT_BOUNDS = (
    *(aten.relu.default, aten.relu6.default, aten.hardtanh.default, aten.sigmoid.default),
    *(aten.abs.default, aten.exp.default, aten.square.default),
)
"""Operators whose gradient is 0 where they give the least or greatest number that they can give."""


def _without_effect(node: Apply) -> Rewrite:
    bounds = clip_bounds(node)
    if bounds is None:
        return False
    low, high = value_range(node.inputs[0])
    if low < bounds[0] or high > bounds[1]:
        return False
    return (None if _is_flat(node) else gradient_on_ties(node)) or without_copy(node, node.inputs[0])


def _is_flat(node: Apply) -> bool:
    """Whether no gradient comes through a clip on its bounds that would not without it, or the other way round."""
    above = node.inputs[0].owner
    passes_all = node.op.target in (aten.clamp.default, aten.clip.default)
    return passes_all or (above is not None and above.op.target in FLAT_AT_BOUNDS)


@identity_relu.rule(RELUS, exactness=Exactness.EXACT)
def remove_identity_relu(node: Apply) -> Rewrite:
    """A relu of a relu, of a sigmoid, of a clip from above 0, or of anything else that is never below 0 is removed."""
    return _without_effect(node)


@identity_clip.rule(CLIPS, exactness=Exactness.EXACT)
def remove_identity_clip(node: Apply) -> Rewrite:
    """A clip whose input lies between its bounds is removed."""
    return _without_effect(node)


MIN = (aten.minimum.default, aten.min.other)
MAX = (aten.maximum.default, aten.max.other)


def _with_number(node: Apply) -> tuple[Variable, float] | None:
    """The tensor and the number of an operator on two inputs, in any order."""
    for x, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        number = splat_number(other)
        if isinstance(number, int | float) and number == number and x.type == node.outputs[0].type:
            return x, number
    return None


@min_max.rule((*MIN, *MAX))
def min_max_is_clip(node: Apply) -> Rewrite:
    """min(max(x, a), b) and max(min(x, b), a) are clip(x, a, b) if a is not above b, but for the sign of a zero."""
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
        return Declined(f"the bounds {low:g} and {high:g} leave one number only", inner_node)
    return gradient_on_ties(node) or replace_with(node, clip(source, low, high))


@leaky.rule(MAX)
def max_is_leaky_relu(node: Apply) -> Rewrite:
    """max(x, s x) with one number s of at most 1 is leaky_relu(x, s), but for the sign of a zero."""
    near: Declined | None = None
    for x, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        product = owned_by(other, aten.mul.Tensor)
        if product is None:
            continue
        found = _with_number(product)
        if found is None:
            near = Declined("it is no product with one number", product)
            continue
        source, slope = found
        if source is not x:
            near = Declined("the product is of another tensor than the one it is compared with", product)
            continue
        if not -inf < slope <= 1 or slope == 0:
            near = Declined(f"the slope is {slope:g}; a leaky relu needs one of at most 1, and not 0", product)
            continue
        if not x.tensor_type.dtype.is_floating_point:
            continue
        return gradient_on_ties(node) or replace_with(
            node, call(aten.leaky_relu.default, x, slope, location=node.location)
        )
    return near or False
