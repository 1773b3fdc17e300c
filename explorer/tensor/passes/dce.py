"""DCE: what no output needs is not computed.

A `FunctionGraph` holds only what its outputs need: an application goes with its last reader, a constant that nothing
reads is no longer among its constants, and inputs stay. Changes of buffers are outputs, so they are kept. What is left
for a pass are operators that compute several results of which only the first is read.
Source: Glow, Dead code elimination.
"""

from typing import Any

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import aten
from explorer.tensor.variables import Apply, call

dce = passes.new("DCE", "Results that nothing reads are not computed.")


@dce.rule([aten.max_pool2d_with_indices.default], exactness=Exactness.EXACT)
def max_pool_without_indices(node: Apply) -> Any:
    """Max pooling whose indices nothing reads does not compute them."""
    if node.outputs[1].clients:
        return False
    op = node.op
    given = [op[name] for name in ("kernel_size", "stride", "padding", "dilation", "ceil_mode")]
    return [call(aten.max_pool2d.default, node.inputs[0], *given, place=node.place), None]


@dce.rule([aten.max.dim, aten.min.dim], exactness=Exactness.EXACT)
def extremum_without_indices(node: Apply) -> Any:
    """The extremum along an axis without its index, if nothing reads that."""
    if node.outputs[1].clients or not node.inputs[0].tensor_type.shape:
        return False
    target = aten.amax.default if node.op.target is aten.max.dim else aten.amin.default
    return [call(target, node.inputs[0], [node.op["dim"]], node.op["keepdim"], place=node.place), None]
