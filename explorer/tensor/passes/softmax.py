"""FoldExpSumDivIntoSoftmax: exponentials over their sum are a softmax.

Source: Glow, FoldExpSumDivIntoSoftmax.
"""

from typing import Any

from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import aten, fitting, owner_in
from explorer.tensor.rewriting import Declined
from explorer.tensor.variables import Apply, call

into_softmax = passes.new("FoldExpSumDivIntoSoftmax", "Exponentials over their sum are a softmax.")


@into_softmax.rule([aten.div.Tensor])
def exponentials_over_sum(node: Apply) -> Any:
    """exp(x) / sum(exp(x)) along one axis is softmax(x), which does not overflow."""
    above = owner_in(node.inputs[0], (aten.exp.default,))
    total = owner_in(node.inputs[1], (aten.sum.dim_IntList,))
    below = owner_in(total.inputs[0], (aten.exp.default,)) if total is not None else None
    if above is None or total is None or below is None:
        return False
    if above.inputs[0] is not below.inputs[0]:
        return Declined("the sum is of the exponentials of another tensor", total)
    axes = total.op["dim"]
    if axes is None or len(axes) != 1 or not total.op["keepdim"] or total.op["dtype"] is not None:
        return Declined("the sum is not over one axis that is kept", total)
    if not above.inputs[0].tensor_type.dtype.is_floating_point:
        return False
    return fitting(node, call(aten.softmax.int, above.inputs[0], axes[0], place=node.place))
