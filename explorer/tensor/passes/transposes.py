"""Transposes: several in a row are one, one that moves nothing is none or a reshape, one of a constant is done now."""

from typing import Any

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    TRANSPOSES,
    constant_like,
    instead,
    known_tensor,
    permutation_of,
)
from explorer.tensor.passes.base import passes
from explorer.tensor.rules.views import transpose_into_reshape
from explorer.tensor.variables import Apply

into_reshape = passes.new(
    "OptimizeTransposeIntoReshape", "A transpose that moves only axes of size 1 is a reshape: no number changes place."
)


into_reshape.add(transpose_into_reshape)

constants = passes.new("TransposeConstants", "A transpose of a constant is done once, now.")


@constants.rule(TRANSPOSES, exactness=Exactness.EXACT)
def transpose_constant(node: Apply) -> Any:
    """A transpose of a constant is a constant."""
    data, order = known_tensor(node.inputs[0]), permutation_of(node.outputs[0])
    if data is None or order is None:
        return False
    return instead(node, constant_like(node.inputs[0], data.permute(order)))
