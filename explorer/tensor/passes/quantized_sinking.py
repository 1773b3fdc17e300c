"""SinkCode and TransposeConstants for quantization: move transposes and reshapes below conversions."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    RESHAPES,
    TRANSPOSES,
    axis_order,
    constant_like,
    known_tensor,
    permute,
    reapply,
    replace_with,
    reshape,
    shape_of,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.sinking import sink_code
from explorer.tensor.passes.transposes import constants

CONVERSIONS = (q.quantize_op, q.dequantize_op, q.rescale_op)


def _has_only_such_users(variable: Variable, node: Apply) -> bool:
    """Whether all users of a variable are conversions of the same kind as a node."""
    return all(reader is not None and reader.op.target is node.op.target for reader, _ in variable.clients)


@sink_code.rule(CONVERSIONS, above=TRANSPOSES, exactness=Exactness.EXACT)
def transpose_below_conversion(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below a conversion."""
    if node.op.target is q.quantize_op and not _has_only_such_users(node.inputs[0], node):
        return Declined("the transposed tensor has other users in floating point", above)
    return replace_with(node, permute(reapply(node, [above.inputs[0]]), axis_order(above)))


@sink_code.rule([q.quantize_op], above=RESHAPES, exactness=Exactness.EXACT)
def reshape_below_quantize(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape below a quantize."""
    if not _has_only_such_users(node.inputs[0], node):
        return Declined("the reshaped tensor has other users in floating point", above)
    return replace_with(node, reshape(reapply(node, [above.inputs[0]]), shape_of(node.outputs[0])))


@constants.rule(TRANSPOSES, above=[q.quantize_op], sole_user=True, exactness=Exactness.EXACT)
def transpose_quantized_constant(node: Apply, above: Apply) -> Rewrite:
    """A transpose of a quantized constant is the quantized transposed constant."""
    data = known_tensor(above.inputs[0])
    if data is None:
        return False
    return replace_with(node, reapply(above, [constant_like(above.inputs[0], data.permute(axis_order(node)))]))
