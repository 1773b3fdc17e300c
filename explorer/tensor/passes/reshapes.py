"""Reshapes: merge consecutive ones, remove no-ops, and move them down."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    COMPUTING,
    RESHAPES,
    SELECTING,
    constant_like,
    keeps_bits,
    known_tensor,
    reapply,
    replace_with,
    reshape,
    shape_of,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.views import drop_same_shape, merge_reshapes

optimize_reshape = passes.new("OptimizeReshape", "Merge consecutive reshapes; remove a reshape to the same shape.")
sink_reshapes = passes.new("SinkReshapes", "Move reshapes below elementwise operators.")
optimize_reshape.add(drop_same_shape, merge_reshapes)


@optimize_reshape.rule(RESHAPES, exactness=Exactness.EXACT)
def reshape_constant(node: Apply) -> Rewrite:
    """A reshape of a constant is a constant."""
    data = known_tensor(node.inputs[0])
    if data is None:
        return False
    return replace_with(node, constant_like(node.inputs[0], data.reshape(shape_of(node.outputs[0]))))


def _sink(node: Apply, above: Apply) -> Rewrite:
    if node.op.attributes.get("memory_format") is not None:
        return False
    if len(above.outputs[0].clients) > 1:
        return Declined("the reshape has other users, and would be repeated below each of them", above)
    return replace_with(node, reshape(reapply(node, [above.inputs[0]]), shape_of(node.outputs[0])))


@sink_reshapes.rule(SELECTING, above=RESHAPES, exactness=Exactness.EXACT)
def reshape_below_elementwise(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape below an elementwise operator."""
    return _sink(node, above) if keeps_bits(node) else False


@sink_reshapes.rule((*SELECTING, *COMPUTING), above=RESHAPES)
def reshape_below_function(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape below an elementwise function whose rounding depends on positions."""
    return False if keeps_bits(node) else _sink(node, above)
