"""EliminateNoop: operators that give their input as it is.

Source: Glow, EliminateNoop.
"""

from typing import Any

import torch

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.facts import aten, fitting
from explorer.tensor.passes.present import trained_among
from explorer.tensor.passes.slices import SLICES, slice_of
from explorer.tensor.rewriting import Declined
from explorer.tensor.rules.layout_readers import without_copy
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
    if not kept or moved:
        return False
    trained = trained_among(node.inputs[0]) if node.op.target is aten.detach.default else None
    if trained is not None:
        return Declined(f"it keeps the gradient from {trained.name or 'a constant'}, which is trained", node)
    return without_copy(node, node.inputs[0])


@noop.rule(SLICES, exactness=Exactness.EXACT)
def remove_whole_slice(node: Apply) -> Any:
    """A slice of everything is what it is of."""
    part = slice_of(node.outputs[0])
    return without_copy(node, node.inputs[0]) if part is not None and part.is_whole else False


@noop.rule([aten.repeat.default, aten.tile.default], exactness=Exactness.EXACT)
def remove_single_tile(node: Apply) -> Any:
    """Repeating once is not repeating."""
    name = "repeats" if node.op.target is aten.repeat.default else "dims"
    once = all(count == 1 for count in node.op[name])
    return without_copy(node, node.inputs[0]) if once and node.inputs[0].type == node.outputs[0].type else False


@noop.rule([aten.constant_pad_nd.default, aten.pad.default], exactness=Exactness.EXACT)
def remove_empty_pad(node: Apply) -> Any:
    """Padding by nothing does nothing."""
    return without_copy(node, node.inputs[0]) if not any(node.op["pad"]) else False


@noop.rule([aten.dropout.default], exactness=Exactness.EXACT)
def remove_dropout(node: Apply) -> Any:
    """Dropout outside of training, or with the probability 0, does nothing."""
    if node.op["train"] and node.op["p"] != 0:
        return False
    return without_copy(node, node.inputs[0])


@noop.rule([aten.max_pool2d.default], exactness=Exactness.EXACT)
def greatest_of_one(node: Apply) -> Any:
    """Max pooling with a window of 1 and a stride of 1 does nothing."""
    return _pool_of_one(node)


@noop.rule([aten.avg_pool2d.default])
def average_of_one(node: Apply) -> Any:
    """Average pooling with a window of 1 and a stride of 1 does nothing, but makes 0 of -0."""
    return _pool_of_one(node)


def _pool_of_one(node: Apply) -> Any:
    op = node.op
    ones = set(op["kernel_size"]) == {1} and set(op["stride"] or (1,)) == {1}
    plain = not any(op["padding"]) and op.attributes.get("divisor_override") is None
    if not ones or not plain or set(op.attributes.get("dilation", (1,))) != {1}:
        return False
    return without_copy(node, node.inputs[0])


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
    """Going over a type that holds all numbers of the first one is going straight, or not at all.

    What a number in floating point becomes that an integer type does not hold is left open, so that case stays.
    """
    inner = node.inputs[0].owner
    if inner is None or inner.op.target is not aten._to_copy.default or not (_only_type(node) and _only_type(inner)):
        return False
    first, middle = inner.inputs[0].tensor_type.dtype, node.inputs[0].tensor_type.dtype
    if middle is not first and middle not in LOSSLESS.get(first, ()):
        return False
    last = node.outputs[0].tensor_type.dtype
    source = inner.inputs[0]
    if last is first:
        return without_copy(node, source)
    to_integers = middle.is_floating_point and not (first.is_floating_point or last.is_floating_point)
    if to_integers and last not in LOSSLESS.get(first, ()):
        return False
    return fitting(node, call(aten._to_copy.default, source, dtype=last, place=node.place))


@conversions.rule([aten._to_copy.default], exactness=Exactness.EXACT)
def remove_conversion_to_the_same(node: Apply) -> Any:
    """A conversion to the type that is there already is left out."""
    same = _only_type(node) and node.inputs[0].type == node.outputs[0].type
    return without_copy(node, node.inputs[0]) if same else False


def _only_type(node: Apply) -> bool:
    """Whether a conversion changes the type only, not the device or the layout of the memory."""
    given = node.op.attributes
    plain = given.get("memory_format") in (None, torch.preserve_format)
    return plain and given.get("device") is None and given.get("layout") is None
