"""Transposes that are reshapes, and transposes of constants."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    TRANSPOSES,
    known_tensor,
    permutation_of,
    replace_with,
)
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
    data, order, kind = known_tensor(node.inputs[0]), permutation_of(node.outputs[0]), node.outputs[0].tensor_type
    if data is None or order is None:
        return False
    made = Constant(data.permute(order), node.inputs[0].name, False, kind.layout, kind.quantization)
    return replace_with(node, made)
