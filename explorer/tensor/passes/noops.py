"""EliminateNoop: remove operators that return their input unchanged."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import without_copy
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.casts import drop_same_cast, merge_casts
from explorer.tensor.rules.views import (
    drop_alias,
    drop_copy,
    drop_copy_before_sums,
    drop_dropout,
    drop_single_tile,
    drop_whole_slice,
)

noop = passes.new("EliminateNoop", "Remove copies, empty paddings, whole slices and other no-ops.")

noop.add(drop_copy, drop_copy_before_sums, drop_alias, drop_same_cast, drop_single_tile, drop_whole_slice, drop_dropout)


@noop.rule([aten.constant_pad_nd.default, aten.pad.default], exactness=Exactness.EXACT)
def remove_empty_pad(node: Apply) -> Rewrite:
    """Empty padding is a no-op."""
    return without_copy(node, node.inputs[0]) if not any(node.op["pad"]) else False


@noop.rule([aten.max_pool2d.default], exactness=Exactness.EXACT)
def greatest_of_one(node: Apply) -> Rewrite:
    """Max pooling with a window of 1 and a stride of 1 is a no-op."""
    return _pool_of_one(node)


@noop.rule([aten.avg_pool2d.default])
def average_of_one(node: Apply) -> Rewrite:
    """Average pooling with a window of 1 and a stride of 1 is a no-op, except that -0 becomes 0."""
    return _pool_of_one(node)


def _pool_of_one(node: Apply) -> Rewrite:
    op = node.op
    ones = set(op["kernel_size"]) == {1} and set(op["stride"] or (1,)) == {1}
    plain = not any(op["padding"]) and op.attributes.get("divisor_override") is None
    if not ones or not plain or set(op.attributes.get("dilation", (1,))) != {1}:
        return False
    return without_copy(node, node.inputs[0])


conversions = passes.new("OptimizeConversions", "Merge a conversion to a wider type with the one after it.")
conversions.add(merge_casts, drop_same_cast)
