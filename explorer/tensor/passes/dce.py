"""DCE: what no output needs is not computed.

A `FunctionGraph` holds only what its outputs need: an application goes with its last reader, a constant that nothing
reads is no longer among its constants, and inputs stay. Changes of buffers are outputs, so they are kept. What is left
for a pass are operators that compute several results of which only the first is read. Where that also changes
gradients, and signs of zeros, it is a pass of its own, for inference.
Source: Glow, Dead code elimination.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import gradient_on_ties
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes

aten = torch.ops.aten

dce = passes.new("DCE", "Results that nothing reads are not computed.")
indices = passes.new("EliminateIndices", "The place of the greatest number that nothing reads is not looked for.")


@dce.rule([aten.max_pool2d_with_indices.default], exactness=Exactness.EXACT)
def max_pool_without_indices(node: Apply) -> Rewrite:
    """Max pooling whose indices nothing reads does not compute them."""
    if node.outputs[1].clients:
        return False
    op = node.op
    given = [op[name] for name in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")]
    return [call(aten.max_pool2d.default, node.inputs[0], *given, location=node.location), None]


@indices.rule([aten.max.dim, aten.min.dim])
def extremum_without_index(node: Apply) -> Rewrite:
    """The extremum along an axis without its index, if nothing reads that; of 0 and -0 it may be the other one.

    Among equal numbers max gives the gradient to one of them, amax a part of it to each.
    """
    if node.outputs[1].clients or not node.inputs[0].tensor_type.shape:
        return False
    if (requires_grad := gradient_on_ties(node)) is not None:
        return requires_grad
    target = aten.amax.default if node.op.target is aten.max.dim else aten.amin.default
    return [call(target, node.inputs[0], [node.op["dim"]], node.op["keepdim"], location=node.location), None]
