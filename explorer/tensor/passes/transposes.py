"""Transposes that are reshapes, and transposes of constants."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import TRANSPOSES, axis_order, known_tensor, replace_with
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.variables import Apply, Constant
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.views import transpose_into_reshape

into_reshape = passes.new(
    "OptimizeTransposeIntoReshape", "Replace a transpose that moves only axes of size 1 by a reshape."
)


into_reshape.add(transpose_into_reshape)

constants = passes.new("TransposeConstants", "Evaluate transposes of constants.")


@constants.rule(TRANSPOSES, exactness=Exactness.EXACT)
def transpose_constant(node: Apply) -> Rewrite:
    """A transpose of a constant is a constant with the same strides, on which kernels depend."""
    data, kind = known_tensor(node.inputs[0]), node.outputs[0].tensor_type
    if data is None:
        return False
    turned = data.permute(axis_order(node))
    return replace_with(node, Constant(turned, node.inputs[0].name, False, kind.layout, kind.quantization))
