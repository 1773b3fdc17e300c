"""OptimizeSplat: parts and shapes of a tensor that is one number everywhere are that number again.

Source: Glow, OptimizeSplat.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    CLIPS,
    PARTS,
    RELUS,
    RESHAPES,
    TRANSPOSES,
    read_once,
    replace_with,
    splat,
    splat_number,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes

aten = torch.ops.aten

optimize_splat = passes.new("OptimizeSplat", "Parts of a tensor that is one number everywhere are known already.")

MOVING = (*PARTS, *TRANSPOSES, aten.expand.default)


@optimize_splat.rule(MOVING, exactness=Exactness.EXACT)
def part_of_splat(node: Apply) -> Rewrite:
    """A slice, a transpose or an expansion of one number everywhere is one number everywhere."""
    number = splat_number(node.inputs[0])
    return False if number is None else replace_with(node, splat(node.outputs[0].tensor_type, number, node.inputs[0]))


@optimize_splat.rule(RESHAPES, exactness=Exactness.EXACT)
def reshape_of_splat(node: Apply) -> Rewrite:
    """A reshape of one number everywhere is one number everywhere; left alone where the first shape is needed too."""
    number = splat_number(node.inputs[0])
    if number is None:
        return False
    if not read_once(node.inputs[0]):
        return Declined("the tensor is read in its own shape too", node)
    return replace_with(node, splat(node.outputs[0].tensor_type, number, node.inputs[0]))


@optimize_splat.rule((*CLIPS, *RELUS), exactness=Exactness.EXACT)
def clip_of_splat(node: Apply) -> Rewrite:
    """A clip of one number everywhere is the clipped number."""
    number = splat_number(node.inputs[0])
    if number is None:
        return False
    (clipped,) = node.op.run([torch.tensor(number, dtype=node.inputs[0].tensor_type.dtype)])
    return replace_with(node, splat(node.outputs[0].tensor_type, clipped.item(), node.inputs[0]))
