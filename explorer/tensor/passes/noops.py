"""EliminateNoop: operators that give their input as it is.

Source: Glow, EliminateNoop.
"""

from typing import Any

import torch

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import aten, fitting
from explorer.tensor.passes.slices import SLICES, slice_of
from explorer.tensor.variables import Apply, call

noop = passes.new("EliminateNoop", "Copies, empty paddings, whole slices and the like are left out.")

COPIES = (
    aten.clone.default,
    aten.alias.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.lift_fresh_copy.default,
    aten._to_copy.default,
    aten.expand.default,
)


@noop.rule(COPIES, exactness=Exactness.EXACT)
def remove_copy(node: Apply) -> Any:
    """A copy, or an expansion to the same shape, is what it copies; a value is never changed, so one will do."""
    kept = node.inputs[0].type == node.outputs[0].type
    moved = node.op.attributes.get("device") is not None or node.op.attributes.get("layout") is not None
    return [node.inputs[0]] if kept and not moved else False


@noop.rule(SLICES, exactness=Exactness.EXACT)
def remove_whole_slice(node: Apply) -> Any:
    """A slice of everything is what it is of."""
    part = slice_of(node.outputs[0])
    return fitting(node, node.inputs[0]) if part is not None and part.is_whole else False


@noop.rule([aten.repeat.default, aten.tile.default], exactness=Exactness.EXACT)
def remove_single_tile(node: Apply) -> Any:
    """Repeating once is not repeating."""
    name = "repeats" if node.op.target is aten.repeat.default else "dims"
    once = all(count == 1 for count in node.op[name])
    return [node.inputs[0]] if once and node.inputs[0].type == node.outputs[0].type else False


@noop.rule([aten.constant_pad_nd.default, aten.pad.default], exactness=Exactness.EXACT)
def remove_empty_pad(node: Apply) -> Any:
    """Padding by nothing does nothing."""
    return fitting(node, node.inputs[0]) if not any(node.op["pad"]) else False


@noop.rule([aten.dropout.default], exactness=Exactness.EXACT)
def remove_dropout(node: Apply) -> Any:
    """Dropout outside of training, or with the probability 0, does nothing."""
    if node.op["train"] and node.op["p"] != 0:
        return False
    return fitting(node, node.inputs[0])


@noop.rule([aten.max_pool2d.default, aten.avg_pool2d.default], exactness=Exactness.EXACT)
def remove_pool_of_one(node: Apply) -> Any:
    """Pooling with a window of 1 and a stride of 1 does nothing."""
    op = node.op
    ones = set(op["kernel_size"]) == {1} and set(op["stride"] or (1,)) == {1}
    plain = not any(op["padding"]) and op.attributes.get("divisor_override") is None
    if not ones or not plain or set(op.attributes.get("dilation", (1,))) != {1}:
        return False
    return fitting(node, node.inputs[0])


LOSSLESS = {
    torch.bool: (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64),
    torch.uint8: (torch.int16, torch.int32, torch.int64, torch.float32, torch.float64),
    torch.int8: (torch.int16, torch.int32, torch.int64, torch.float32, torch.float64),
    torch.int16: (torch.int32, torch.int64, torch.float32, torch.float64),
    torch.int32: (torch.int64, torch.float64),
    torch.float16: (torch.float32, torch.float64),
    torch.bfloat16: (torch.float32, torch.float64),
    torch.float32: (torch.float64,),
}
"""For each type those that hold all of its numbers exactly."""

conversions = passes.new("OptimizeConversions", "A conversion to a wider type and on to another one is one conversion.")


@conversions.rule([aten._to_copy.default], exactness=Exactness.EXACT)
def merge_conversions(node: Apply) -> Any:
    """Going over a type that holds all numbers of the first one is going straight, or not at all."""
    inner = node.inputs[0].owner
    if inner is None or inner.op.target is not aten._to_copy.default or not (_only_type(node) and _only_type(inner)):
        return False
    first, middle = inner.inputs[0].tensor_type.dtype, node.inputs[0].tensor_type.dtype
    if middle is not first and middle not in LOSSLESS.get(first, ()):
        return False
    last = node.outputs[0].tensor_type.dtype
    source = inner.inputs[0]
    return fitting(node, source if last is first else call(aten._to_copy.default, source, dtype=last, place=node.place))


@conversions.rule([aten._to_copy.default], exactness=Exactness.EXACT)
def remove_conversion_to_the_same(node: Apply) -> Any:
    """A conversion to the type that is there already is left out."""
    return [node.inputs[0]] if _only_type(node) and node.inputs[0].type == node.outputs[0].type else False


def _only_type(node: Apply) -> bool:
    """Whether a conversion changes the type only, not the device or the layout of the memory."""
    given = node.op.attributes
    plain = given.get("memory_format") in (None, torch.preserve_format)
    return plain and given.get("device") is None and given.get("layout") is None
