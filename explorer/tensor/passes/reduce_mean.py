"""OptimizeReduceMean: replace a mean over the last two of four axes by average pooling over all of both.

PyTorch's pooling expects the channels at axis 1, so no transpose is needed.
"""

from explorer.tensor.facts import replace_with, reshape, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes

reduce_mean = passes.new("OptimizeReduceMean", "Replace a mean over height and width by average pooling.")


@reduce_mean.rule([aten.mean.dim])
def mean_is_average_pool(node: Apply) -> Rewrite:
    """A mean over axes 2 and 3 of 4 is average pooling with a window of their sizes, then possibly a reshape."""
    kind = node.inputs[0].tensor_type
    axes = node.op["dim"]
    if kind.rank != 4 or not kind.dtype.is_floating_point or kind.size == 0:
        return False
    if axes is None or sorted(axis % 4 for axis in axes) != [2, 3]:
        return Declined("it is not over the last two axes", node)
    if node.op["dtype"] not in (None, kind.dtype):
        return Declined("it is computed in another dtype", node)
    pooled = call(aten.avg_pool2d.default, node.inputs[0], list(kind.shape[2:]))
    return replace_with(node, pooled if node.op["keepdim"] else reshape(pooled, shape_of(node.outputs[0])))
