"""Clips: one operator for all of them, and nested clips."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import CLIPS, RELUS, clip_bounds, gradient_on_ties, relu_or_clip, replace_with
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.rules.families import canonical

EXACT = Exactness.EXACT
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
