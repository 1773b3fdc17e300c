"""Casts and clips: remove no-ops, merge consecutive ones, and write all clips as one operator."""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import CLIPS, RELUS, clip_bounds, gradient_on_ties, relu_or_clip, replace_with, without_copy
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.rules.families import canonical

EXACT = Exactness.EXACT
OTHER_SETTINGS = ("layout", "device", "pin_memory")
CASTS = (aten._to_copy.default, aten.to.dtype, aten.to.dtype_layout, aten.to.device, aten.type_as.default)


@canonical.rule(CASTS[1:], exactness=EXACT)
def to_cast(node: Apply) -> Rewrite:
    """`to` and `type_as` are casts to a dtype."""
    settings = node.op.attributes
    if settings.get("memory_format") is not None:
        return Declined("it requests a memory format")
    kept = {name: settings[name] for name in OTHER_SETTINGS if settings.get(name) is not None}
    dtype = node.outputs[0].tensor_type.dtype
    return replace_with(node, call(aten._to_copy.default, node.inputs[0], dtype=dtype, **kept))


@canonical.rule([aten._to_copy.default], exactness=EXACT)
def drop_same_cast(node: Apply) -> Rewrite:
    """A cast to the same dtype is a no-op."""
    source = node.inputs[0]
    if source.type != node.outputs[0].type:
        return False
    moved = _moves(node)
    return Declined(moved) if moved else without_copy(node, source)


@canonical.rule([aten._to_copy.default], above=[aten._to_copy.default], exactness=EXACT)
def merge_casts(node: Apply, above: Apply) -> Rewrite:
    """Two casts are the last one if the first loses nothing."""
    moved = _moves(node) or _moves(above)
    if moved:
        return Declined(moved)
    first, middle, last = (v.tensor_type.dtype for v in (above.inputs[0], node.inputs[0], node.outputs[0]))
    if not _holds(middle, first):
        return Declined(f"{middle} does not represent every {first}", above)
    if not _holds(last, first) and first != torch.bool and _kind(middle) != _kind(first):
        return Declined(f"from {first} to {last} via {middle} may round differently", above)
    if last == first:
        return without_copy(node, above.inputs[0])
    return replace_with(node, call(aten._to_copy.default, above.inputs[0], dtype=last))


def _moves(node: Apply) -> str:
    """Return the reason why a cast does more than casting; empty if it does not."""
    settings = node.op.attributes
    if any(settings.get(name) is not None for name in OTHER_SETTINGS):
        return "it may move the tensor to another device or layout"
    if settings.get("memory_format") not in (None, torch.preserve_format, torch.contiguous_format):
        return "it requests a memory format"
    return ""


def _kind(dtype: torch.dtype) -> str:
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "bool" if dtype == torch.bool else "integer"


def _holds(wide: torch.dtype, narrow: torch.dtype) -> bool:
    """Return whether a dtype represents every number of another one."""
    if wide == narrow or narrow == torch.bool:
        return True
    kinds = _kind(wide), _kind(narrow)
    if kinds == ("integer", "integer"):
        a, b = torch.iinfo(wide), torch.iinfo(narrow)
        return a.min <= b.min and a.max >= b.max
    if kinds == ("float", "float"):
        a, b = torch.finfo(wide), torch.finfo(narrow)
        return a.eps <= b.eps and a.max >= b.max and a.smallest_normal <= b.smallest_normal
    if kinds == ("float", "integer"):
        return 2 / torch.finfo(wide).eps >= torch.iinfo(narrow).max
    return False


CLAMPS = (aten.clamp.default, aten.clip.default)
"""Clips that pass the gradient on their bounds."""


@canonical.rule(
    [aten.clamp_min.default, aten.clamp_max.default, aten.hardtanh.default, aten.relu6.default], exactness=EXACT
)
def to_clamp(node: Apply) -> Rewrite:
    """clamp_min, clamp_max, hardtanh and relu6 are clamps; the last two only where no gradient is needed."""
    settings = node.op.attributes
    flat = node.op.target in CLIPS
    low = settings.get("min_val", settings.get("min", 0 if node.op.name == "relu6" else None))
    high = settings.get("max_val", settings.get("max", 6 if node.op.name == "relu6" else None))
    made = call(aten.clamp.default, node.inputs[0], low, high)
    return (gradient_on_ties(node) if flat else None) or replace_with(node, made)


@canonical.rule((*CLIPS, *RELUS), above=(*CLIPS, *RELUS), exactness=EXACT)
def merge_clips(node: Apply, above: Apply) -> Rewrite:
    """clip(clip(x, a, b), c, d) is clip(x, clip(a, c, d), clip(b, c, d)), where a relu is clip(x, 0, inf)."""
    outer, inner = clip_bounds(node), clip_bounds(above)
    if outer is None or inner is None:
        return Declined("a bound is NaN, -0 or beyond its dtype, or the lower one is above the upper one", above)
    low, high = (min(max(bound, outer[0]), outer[1]) for bound in inner)
    alike = (
        node.op.target in CLAMPS and above.op.target in CLAMPS and max(inner[0], outer[0]) <= min(inner[1], outer[1])
    )
    return (None if alike else gradient_on_ties(node)) or replace_with(node, relu_or_clip(above.inputs[0], low, high))
