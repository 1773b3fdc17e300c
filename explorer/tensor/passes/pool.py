"""OptimizePool: move monotonic operators below max pooling, where there are fewer numbers."""

from explorer.tensor.facts import CLIPS, RELUS, gradient_on_ties, may_hold_padding_only, read_once
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import apply_op
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import MAX_POOLS, schema_name

pool = passes.new("OptimizePool", "Move a relu below max pooling, where there are fewer numbers.")


@pool.rule(None, above=(*RELUS, *CLIPS))
def relu_below_max_pool(node: Apply, above: Apply) -> Rewrite:
    """max_pool(relu(x)) is relu(max_pool(x)), also for NaN, except for the sign of zeros."""
    if schema_name(node) not in MAX_POOLS:
        return False
    if not read_once(node.inputs[0]):
        return Declined("the relu has other users", above)
    if any(extra.clients for extra in node.outputs[1:]):
        return Declined("the indices are used too; a relu makes several numbers equal", node)
    if may_hold_padding_only(node.op):
        return Declined("a window may contain only padding, which counts as -inf", node)
    passes_on_bounds = above.op.target in (aten.clamp.default, aten.clip.default)
    if passes_on_bounds and (trained := gradient_on_ties(above)) is not None:
        return trained
    pooled = apply_op(node.op, [above.inputs[0]])
    new = apply_op(above.op, pooled.outputs[:1], above.location).outputs[0]
    return [new, *[None] * (len(node.outputs) - 1)]
