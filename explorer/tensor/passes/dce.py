"""DCE: do not compute results that no output needs.

A `FunctionGraph` contains only what its outputs need: applications and constants are removed with their last user,
inputs stay, and mutated buffers are outputs. This leaves operators with several results of which only
the first is used. Where that changes gradients and signs of zeros, it is a separate pass, for inference.
"""

from explorer.rewrite import Exactness
from explorer.tensor.facts import gradient_on_ties
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes

dce = passes.new("DCE", "Do not compute unused results.")
indices = passes.new("EliminateIndices", "Drop unused argmax indices: `max.dim` becomes `amax`.")


@dce.rule([aten.max_pool2d_with_indices.default], exactness=Exactness.EXACT)
def max_pool_without_indices(node: Apply) -> Rewrite:
    """Max pooling does not compute unused indices."""
    if node.outputs[1].clients:
        return False
    op = node.op
    given = [op[name] for name in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")]
    return [call(aten.max_pool2d.default, node.inputs[0], *given), None]


@indices.rule([aten.max.dim, aten.min.dim])
def extremum_without_index(node: Apply) -> Rewrite:
    """The extremum along an axis without its unused index; of 0 and -0 it may return the other one.

    Among equal numbers, max passes the gradient to one of them, amax a part to each.
    """
    if node.outputs[1].clients or not node.inputs[0].tensor_type.shape:
        return False
    if (trained := gradient_on_ties(node)) is not None:
        return trained
    target = aten.amax.default if node.op.target is aten.max.dim else aten.amin.default
    return [call(target, node.inputs[0], [node.op["dim"]], node.op["keepdim"]), None]
