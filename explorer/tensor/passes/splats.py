"""OptimizeSplat: views of a splat (a tensor filled with one number) are splats."""

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
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes

optimize_splat = passes.new("OptimizeSplat", "Evaluate slices, transposes, reshapes and clips of splats.")

MOVING = (*PARTS, *TRANSPOSES, aten.expand.default)


@optimize_splat.rule(MOVING, exactness=Exactness.EXACT)
def part_of_splat(node: Apply) -> Rewrite:
    """A slice, a transpose or an expansion of a splat is a splat."""
    number = splat_number(node.inputs[0])
    return False if number is None else replace_with(node, splat(node.outputs[0].tensor_type, number, node.inputs[0]))


@optimize_splat.rule(RESHAPES, exactness=Exactness.EXACT)
def reshape_of_splat(node: Apply) -> Rewrite:
    """A reshape of a splat is a splat; left alone where the splat has other users."""
    number = splat_number(node.inputs[0])
    if number is None:
        return False
    if not read_once(node.inputs[0]):
        return Declined("the tensor has other users", node)
    return replace_with(node, splat(node.outputs[0].tensor_type, number, node.inputs[0]))


@optimize_splat.rule((*CLIPS, *RELUS), exactness=Exactness.EXACT)
def clip_of_splat(node: Apply) -> Rewrite:
    """A clip of a splat is a splat of the clipped number."""
    number = splat_number(node.inputs[0])
    if number is None:
        return False
    (clipped,) = node.op.run([torch.tensor(number, dtype=node.inputs[0].tensor_type.dtype)])
    return replace_with(node, splat(node.outputs[0].tensor_type, clipped.item(), node.inputs[0]))
