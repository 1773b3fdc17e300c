"""Gathers whose indices are consecutive: they are slices."""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import axis_of, known_tensor, shape_of, slice_axis, without_copy
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import SLOT
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes

gathers = passes.new("GatherToSlice", "Replace a gather at consecutive constant indices by a slice.")

INTEGERS = (torch.int32, torch.int64)


@gathers.rule((aten.index_select.default, aten.index.Tensor), exactness=Exactness.EXACT)
def gather_to_slice(node: Apply) -> Rewrite:
    """Rows i, i + 1, ..., j of a tensor, chosen by constant indices, are a slice of it."""
    found = _indices(node)
    if found is None:
        return False
    picked, axis = found
    size = shape_of(node.inputs[0])[axis]
    rows = [row + size if row < 0 else row for row in picked.tolist()]
    if rows != list(range(rows[0], rows[0] + len(rows))):
        return Declined("the indices are not consecutive", node)
    return without_copy(node, slice_axis(node.inputs[0], axis, rows[0], rows[-1] + 1))


def _indices(node: Apply) -> tuple[torch.Tensor, int] | None:
    """The constant indices of a gather, in one dimension, and the axis that they index; None if there are none."""
    rank = len(shape_of(node.inputs[0]))
    picked = known_tensor(node.inputs[1]) if len(node.inputs) == 2 and rank else None
    if picked is None or picked.ndim != 1 or not picked.numel() or picked.dtype not in INTEGERS:
        return None
    if node.op.target is aten.index_select.default:
        return picked, axis_of(node.op["dim"], rank)
    return picked, node.op["indices"].index(SLOT)
