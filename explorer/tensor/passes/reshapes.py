"""Reshapes: several in a row are one, one that changes nothing is none, and all of them move down.

Source: Glow, OptimizeReshape, SinkReshapes.
"""

from typing import Any

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.elementwise import COMPUTING, SELECTING, keeps_bits
from explorer.tensor.passes.facts import (
    RESHAPES,
    constant_like,
    fitting,
    known_tensor,
    owner_in,
    reapplied,
    reshape,
    shape_of,
)
from explorer.tensor.rewriting import Declined
from explorer.tensor.variables import Apply

optimize_reshape = passes.new("OptimizeReshape", "Reshapes in a row are one; a reshape to the same shape is removed.")
sink_reshapes = passes.new("SinkReshapes", "A reshape moves below operators on each number by itself.")


@optimize_reshape.rule(RESHAPES, exactness=Exactness.EXACT)
def remove_identity_reshape(node: Apply) -> Any:
    """A reshape to the shape that is there already does nothing."""
    return fitting(node, node.inputs[0]) if node.inputs[0].type == node.outputs[0].type else False


@optimize_reshape.rule(RESHAPES, exactness=Exactness.EXACT)
def merge_reshapes(node: Apply) -> Any:
    """Of several reshapes in a row only the last shape counts."""
    above = owner_in(node.inputs[0], RESHAPES)
    if above is None:
        return False
    return fitting(node, reshape(above.inputs[0], shape_of(node.outputs[0])))


@optimize_reshape.rule(RESHAPES, exactness=Exactness.EXACT)
def reshape_constant(node: Apply) -> Any:
    """A reshape of a constant is a constant."""
    data = known_tensor(node.inputs[0])
    if data is None:
        return False
    return fitting(node, constant_like(node.inputs[0], data.reshape(shape_of(node.outputs[0]))))


def _sink(node: Apply) -> Any:
    above = owner_in(node.inputs[0], RESHAPES)
    if above is None or node.op.attributes.get("memory_format") is not None:
        return False
    if len(above.outputs[0].clients) > 1:
        return Declined("the reshape is read by others too, and would be done again below each of them", above)
    return fitting(node, reshape(reapplied(node, [above.inputs[0]]), shape_of(node.outputs[0])))


@sink_reshapes.rule(SELECTING, exactness=Exactness.EXACT)
def reshape_below_elementwise(node: Apply) -> Any:
    """An operator on each number by itself is done before a reshape as well as after it."""
    return _sink(node) if keeps_bits(node) else False


@sink_reshapes.rule((*SELECTING, *COMPUTING))
def reshape_below_function(node: Apply) -> Any:
    """A function of each number by itself is taken before a reshape as well as after it."""
    return False if keeps_bits(node) else _sink(node)
