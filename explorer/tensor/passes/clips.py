"""Clips: relu, clamp, hardtanh and relu6 are bounds from one side or both.

Source: Glow, OptimizeClips, RemoveIdentityRelu, RemoveIdentityClip, FoldMinMaxToClip, FoldLeakyRelu.
"""

from math import inf
from typing import Any

import torch

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import (
    CLIPS,
    RELUS,
    RESHAPES,
    TRANSPOSES,
    aten,
    clip,
    clip_bounds,
    fitting,
    gradient_on_ties,
    owner_in,
    shape_of,
    splat_number,
)
from explorer.tensor.passes.pool import may_hold_padding_only
from explorer.tensor.rewriting import Declined
from explorer.tensor.rules.layout_readers import without_copy
from explorer.tensor.variables import Apply, Variable, call

clips = passes.new("OptimizeClips", "Clips of clips are one clip.")
identity_relu = passes.new("RemoveIdentityRelu", "A relu of what is never below 0 is removed.")
identity_clip = passes.new("RemoveIdentityClip", "A clip of what is within its bounds already is removed.")
min_max = passes.new("FoldMinMaxToClip", "The lesser of a number and the greater of a number and x is a clip.")
leaky = passes.new("FoldLeakyRelu", "The greater of x and s x, with s of at most 1, is a leaky relu.")

MOST_STEPS = 16
"""How far up it is looked for the bounds of a value."""


def bounded(variable: Variable, low: float, high: float) -> Variable:
    """The variable between two bounds; a relu if that is all."""
    if (low, high) == (0.0, inf):
        return call(aten.relu.default, variable)
    return clip(variable, low, high)


@clips.rule((*CLIPS, *RELUS), exactness=Exactness.EXACT)
def merge_clips(node: Apply) -> Any:
    """clip(clip(x, a, b), c, d) is clip(x, clip(a, c, d), clip(b, c, d)), where a relu is clip(x, 0, inf)."""
    above = owner_in(node.inputs[0], (*CLIPS, *RELUS))
    outer = clip_bounds(node)
    inner = clip_bounds(above) if above is not None else None
    if above is None or outer is None or inner is None:
        return False
    low, high = (min(max(bound, outer[0]), outer[1]) for bound in inner)
    return gradient_on_ties(node) or fitting(node, bounded(above.inputs[0], low, high))


PASSES_ON = (
    *RESHAPES,
    *TRANSPOSES,
    aten.slice.Tensor,
    aten.select.int,
    aten.expand.default,
    aten.clone.default,
    aten.alias.default,
    aten.repeat.default,
    aten.max_pool2d.default,
    aten.channel_shuffle.default,
)
"""Operators that give some of the numbers of their input."""

UNIT = (aten.sigmoid.default, aten.softmax.int, aten._softmax.default)
NOT_NEGATIVE = (aten.abs.default, aten.exp.default, aten.sqrt.default, aten.square.default)
"""In floating point; the square of a large integer and the absolute value of the least one are negative."""

FLAT_AT_BOUNDS = (
    *(aten.relu.default, aten.relu6.default, aten.hardtanh.default, aten.sigmoid.default),
    *(aten.abs.default, aten.exp.default, aten.square.default),
)
"""Operators whose gradient is 0 where they give the least or greatest number that they can give."""


def value_range(variable: Variable, steps: int = MOST_STEPS) -> tuple[float, float]:
    """Bounds between which all numbers of a variable lie that are not NaN, as far as its operators tell."""
    number = splat_number(variable)
    if isinstance(number, int | float):
        return (number, number) if number == number else (-inf, inf)
    kind = variable.tensor_type
    widest = (0.0, inf) if kind.dtype in (torch.uint8, torch.bool) else (-inf, inf)
    node = variable.owner
    if node is None or steps == 0:
        return widest
    bounds = clip_bounds(node)
    if bounds is not None:
        low, high = value_range(node.inputs[0], steps - 1)
        return max(low, bounds[0]) if low <= bounds[1] else bounds[1], min(high, bounds[1])
    target = node.op.target
    if target is aten.max_pool2d.default and may_hold_padding_only(node):
        return widest
    if target in PASSES_ON:
        return value_range(node.inputs[0], steps - 1)
    if target is aten.cat.default:
        ranges = [value_range(v, steps - 1) for v in node.inputs]
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    if target in UNIT:
        return 0.0, 1.0
    return (0.0, inf) if target in NOT_NEGATIVE and kind.dtype.is_floating_point else widest


def _without_effect(node: Apply) -> Any:
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
def remove_identity_relu(node: Apply) -> Any:
    """A relu of a relu, of a sigmoid, of a clip from above 0, or of anything else that is never below 0 is removed."""
    return _without_effect(node)


@identity_clip.rule(CLIPS, exactness=Exactness.EXACT)
def remove_identity_clip(node: Apply) -> Any:
    """A clip whose input lies between its bounds is removed."""
    return _without_effect(node)


MIN = (aten.minimum.default, aten.min.other)
MAX = (aten.maximum.default, aten.max.other)


def _with_number(node: Apply) -> tuple[Variable, float] | None:
    """The tensor and the number of an operator on two inputs, in any order."""
    for x, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        number = splat_number(other)
        if isinstance(number, int | float) and number == number and shape_of(x) == shape_of(node.outputs[0]):
            return x, number
    return None


@min_max.rule((*MIN, *MAX))
def min_max_is_clip(node: Apply) -> Any:
    """min(max(x, a), b) and max(min(x, b), a) are clip(x, a, b) if a is not above b, but for the sign of a zero."""
    outer = _with_number(node)
    if outer is None or node.outputs[0].tensor_type.dtype is torch.bool:
        return False
    below, outer_number = outer
    wanted = MAX if node.op.target in MIN else MIN
    inner_node = owner_in(below, wanted)
    inner = _with_number(inner_node) if inner_node is not None else None
    if inner is None or inner_node is None:
        return False
    source, inner_number = inner
    low, high = (inner_number, outer_number) if node.op.target in MIN else (outer_number, inner_number)
    if low > high:
        return Declined(f"the bounds {low:g} and {high:g} leave one number only", inner_node)
    return gradient_on_ties(node) or fitting(node, clip(source, low, high))


@leaky.rule(MAX)
def max_is_leaky_relu(node: Apply) -> Any:
    """max(x, s x) with one number s of at most 1 is leaky_relu(x, s), but for the sign of a zero."""
    near: Declined | None = None
    for x, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        product = owner_in(other, (aten.mul.Tensor,))
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
        return gradient_on_ties(node) or fitting(node, call(aten.leaky_relu.default, x, slope, place=node.place))
    return near or False
