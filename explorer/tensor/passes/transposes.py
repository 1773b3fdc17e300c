"""Transposes: several in a row are one, one that moves nothing is none or a reshape, one of a constant is done now."""

from typing import Any

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import (
    TRANSPOSES,
    constant_like,
    fitting,
    known_tensor,
    permutation_of,
    permute,
    reshape,
    shape_of,
)
from explorer.tensor.rewriting import node_rewriter
from explorer.tensor.variables import Apply


@node_rewriter(TRANSPOSES, exactness=Exactness.EXACT)
def merge_transposes(node: Apply) -> Any:
    """Two transposes in a row are one: axis i of the result is axis inner[outer[i]] of the input."""
    outer, inner = permutation_of(node.outputs[0]), permutation_of(node.inputs[0])
    below = node.inputs[0].owner
    if outer is None or inner is None or below is None:
        return False
    return fitting(node, permute(below.inputs[0], [inner[axis] for axis in outer]))


@node_rewriter(TRANSPOSES, exactness=Exactness.EXACT)
def remove_identity_transpose(node: Apply) -> Any:
    """A transpose that leaves every axis where it is does nothing."""
    order = permutation_of(node.outputs[0])
    if order is None or order != tuple(range(len(order))):
        return False
    return fitting(node, node.inputs[0])


into_reshape = passes.new(
    "OptimizeTransposeIntoReshape", "A transpose that moves only axes of size 1 is a reshape: no number changes place."
)


@into_reshape.rule(TRANSPOSES, exactness=Exactness.EXACT)
def transpose_into_reshape(node: Apply) -> Any:
    """A transpose that keeps the order of all axes longer than 1 is a reshape."""
    order = permutation_of(node.outputs[0])
    shape = shape_of(node.inputs[0])
    if order is None or order == tuple(range(len(order))):
        return False
    long = [axis for axis in order if shape[axis] != 1]
    if long != sorted(long):
        return False
    return fitting(node, reshape(node.inputs[0], shape_of(node.outputs[0])))


constants = passes.new("TransposeConstants", "A transpose of a constant is done once, now.")


@constants.rule(TRANSPOSES, exactness=Exactness.EXACT)
def transpose_constant(node: Apply) -> Any:
    """A transpose of a constant is a constant."""
    data, order = known_tensor(node.inputs[0]), permutation_of(node.outputs[0])
    if data is None or order is None:
        return False
    return fitting(node, constant_like(node.inputs[0], data.permute(order)))
