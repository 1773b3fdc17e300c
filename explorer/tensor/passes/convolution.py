"""MergePadIntoConvolution: fold zero padding into the convolution after it."""

from explorer.tensor.facts import reapply, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import CONVOLUTIONS, is_convolution, is_transposed, schema_name
from explorer.tensor.passes.sinking import PADS, padding_value, pads_by_axis

pad_into_conv = passes.new("MergePadIntoConvolution", "Fold zero padding into the convolution after it.")


@pad_into_conv.rule(None, above=PADS)
def pad_into_convolution(node: Apply, pad: Apply) -> Rewrite:
    """A convolution of a tensor that is zero-padded symmetrically on its inner axes pads by itself."""
    if not is_convolution(node) or is_transposed(node):
        return False
    rank = len(shape_of(node.inputs[0]))
    if rank != len(shape_of(node.inputs[1])):
        return Declined("the convolution has no batch axis", node)
    if padding_value(pad) != 0:
        return Declined("it is not padded with zeros", pad)
    pads = pads_by_axis(pad.op["pad"], rank)
    channel = CONVOLUTIONS[schema_name(node)]
    inner = [axis for axis in range(1, rank) if axis != channel]
    if pads[0] != (0, 0) or pads[channel] != (0, 0):
        return Declined("the batch or the channels are padded too", pad)
    if any(before != after for before, after in pads):
        return Declined("the padding is asymmetric", pad)
    if any(before < 0 for before, _ in pads):
        return Declined("the padding is negative", pad)
    own = tuple(node.op["padding"])
    own = own * len(inner) if len(own) == 1 else own
    total = [old + pads[axis][0] for old, axis in zip(own, inner, strict=True)]
    return replace_with(node, reapply(node, [pad.inputs[0], *node.inputs[1:]], padding=total))
