"""Passes on clips: relu, clamp, hardtanh and relu6, and next to quantization, which clips as well.

`OptimizeClips`, `RemoveIdentityRelu`, `RemoveIdentityClip`, `FoldMinMaxToClip`, `FoldLeakyRelu`,
`OptimizeQuantizeClip`, `OptimizeQuantizeClipLossy`.
"""

from math import inf

import torch

from explorer.errors import ValueRangeError
from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    CLIPS,
    RELUS,
    clip,
    clip_bounds,
    gradient_on_ties,
    only_user,
    owned_by,
    read_once,
    replace_unless_aliased,
    replace_with,
    splat_number,
    value_range,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.types import Quantization
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import GraphPass, passes
from explorer.tensor.passes.quantization import relu_of_never_negative
from explorer.tensor.rewriting import LocalRewriter, node_rewriter
from explorer.tensor.rules.casts import merge_clips

clips = passes.new("OptimizeClips")
identity_relu = passes.new("RemoveIdentityRelu")
identity_clip = passes.new("RemoveIdentityClip")
min_max = passes.new("FoldMinMaxToClip")
leaky = passes.new("FoldLeakyRelu")

clips.add(merge_clips)

FLAT_AT_BOUNDS = overloads("relu relu6 hardtanh sigmoid abs exp square")
"""Operators with the gradient 0 at the ends of their range."""


def _remove_if_within_bounds(node: Apply) -> Rewrite:
    bounds = clip_bounds(node)
    if bounds is None:
        return False
    low, high = value_range(node.inputs[0])
    if low < bounds[0] or high > bounds[1]:
        return False
    return (None if _is_flat(node) else gradient_on_ties(node)) or without_copy(node, node.inputs[0])


def _is_flat(node: Apply) -> bool:
    """Return whether removing the clip leaves the gradient on its bounds unchanged."""
    above = node.inputs[0].owner
    keeps_gradient = node.op.target in (aten.clamp.default, aten.clip.default)
    return keeps_gradient or (above is not None and above.op.target in FLAT_AT_BOUNDS)


@identity_relu.rule(RELUS, exactness=Exactness.EXACT)
def remove_identity_relu(node: Apply) -> Rewrite:
    """Remove a relu of a relu, a sigmoid, a clip above 0, or any other value that is never below 0."""
    return _remove_if_within_bounds(node)


@identity_clip.rule(CLIPS, exactness=Exactness.EXACT)
def remove_identity_clip(node: Apply) -> Rewrite:
    """Remove a clip of an input that is within its bounds."""
    return _remove_if_within_bounds(node)


MIN = (aten.minimum.default, aten.min.other)
MAX = (aten.maximum.default, aten.max.other)


def _with_number(node: Apply) -> tuple[Variable, float] | None:
    """Return the tensor and the number of a binary operator, in any order."""
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


identity_relu.add(relu_of_never_negative)


@identity_clip.rule([q.clip], exactness=Exactness.EXACT)
def clip_of_narrower_integers(node: Apply) -> Rewrite:
    """A clip of integers that only represent numbers within its bounds is a no-op, or a rescale."""
    source = node.inputs[0]
    low, high = q.real_range(q.quantization_of(source))
    if low < node.op["min"] or high > node.op["max"]:
        return Declined(f"its input can represent numbers from {low:g} to {high:g}", node)
    return replace_unless_aliased(node, q.rescale(source, q.quantization_of(node.outputs[0])))


def _includes(node: Apply, of: Quantization) -> "bool | None":
    """Return whether the bounds of a clip include all numbers of a quantization; None if it has no bounds."""
    bounds = clip_bounds(node)
    if bounds is None:
        return None
    low, high = q.real_range(of)
    return bounds[0] <= low and high <= bounds[1]


@node_rewriter([q.quantize_op], above=(*CLIPS, *RELUS), exactness=Exactness.EXACT)
def quantize_without_clip(node: Apply, above: Apply) -> Rewrite:
    """quantize(clip(x)) is quantize(x) if the bounds include all numbers that the integers represent."""
    to = q.quantization_of(node.outputs[0])
    around = _includes(above, to)
    if around is None or node.outputs[0].tensor_type.dtype is not torch.int8:
        return False
    if not around:
        return Declined("the clip is narrower than the range of the integers", above)
    return replace_with(node, q.quantize(above.inputs[0], to))


@node_rewriter((*CLIPS, *RELUS), above=[q.dequantize_op], exactness=Exactness.EXACT)
def clip_of_dequantize(node: Apply, above: Apply) -> Rewrite:
    """clip(dequantize(x)) is dequantize(x) if the bounds include all numbers that x can represent."""
    if not q.is_quantized_in_8_bits(above.inputs[0]):
        return False
    if not _includes(node, q.quantization_of(above.inputs[0])):
        return Declined("the clip is narrower than the range of the integers", node)
    return replace_with(node, node.inputs[0])


def _narrow(node: Apply, of: Quantization) -> "Quantization | Declined":
    """Choose scale and offset for the numbers of a quantization within the bounds of a clip."""
    bounds = clip_bounds(node)
    low, high = q.real_range(of)
    if bounds is None or max(low, bounds[0]) > min(high, bounds[1]):
        return Declined("the bounds of the clip exclude all numbers of the integers", node)
    try:
        return q.quantization_of_range(max(low, bounds[0]), min(high, bounds[1]))
    except ValueRangeError as error:
        return Declined(str(error), node)


@node_rewriter([q.quantize_op], above=(*CLIPS, *RELUS), sole_user=True, exactness=Exactness.LOSSY)
def quantize_to_range_of_clip(node: Apply, above: Apply) -> Rewrite:
    """quantize(clip(x)) is quantize(x) with integers for the range of the clip, which then clip by themselves."""
    if node.outputs[0].tensor_type.dtype is not torch.int8:
        return False
    reader = only_user(node.outputs[0])
    if reader is None or reader.op.target not in (*q.QUANTIZED, q.dequantize_op, q.rescale_op):
        return Declined("the user of the integers does not accept another scale", reader or node)
    to = _narrow(above, q.quantization_of(node.outputs[0]))
    if isinstance(to, Declined):
        return to
    made = q.quantize(above.inputs[0], to, location=node.location)
    return {reader.outputs[0]: q.reapply(reader, [made if v is node.outputs[0] else v for v in reader.inputs])}


@node_rewriter((*CLIPS, *RELUS), above=[q.dequantize_op], sole_user=True, exactness=Exactness.LOSSY)
def operator_to_range_of_clip(node: Apply, above: Apply) -> Rewrite:
    """clip(dequantize(op(x))) is dequantize(op(x)) with integers for the range of the clip."""
    operator = owned_by(above.inputs[0], *q.QUANTIZED, q.quantize_op, q.rescale_op)
    if operator is None or not read_once(above.inputs[0]):
        return Declined("the integers have other users, or their owner does not accept another scale", above)
    to = _narrow(node, q.quantization_of(above.inputs[0]))
    if isinstance(to, Declined):
        return to
    return replace_with(node, q.dequantize(q.reapply(operator, operator.inputs, to), above.location))


RULES: tuple[LocalRewriter, ...] = (
    quantize_without_clip,
    clip_of_dequantize,
    quantize_to_range_of_clip,
    operator_to_range_of_clip,
)


def optimize_quantize_clip(name: str, *, lossy: bool = False, enable_quant_param_changes: bool = True) -> GraphPass:
    """Make the pass under a name. The lossy rules change scales, so they need both permissions."""
    lossy = lossy and enable_quant_param_changes
    wanted = [rule for rule in RULES if lossy or rule.exactness is not Exactness.LOSSY]
    return GraphPass(name, rules=wanted)


passes.register(optimize_quantize_clip("OptimizeQuantizeClip"))
passes.register(optimize_quantize_clip("OptimizeQuantizeClipLossy", lossy=True))
