"""`SinkCode`: move transposes, reshapes, clips, relus and batch norms down, so that they meet and cancel.

A transpose moves below an operator: op(T(x)) becomes T(op'(x)), where op' works along the axes of x. Transposes and
reshapes move below conversions of quantization too, and transposes of quantized constants are evaluated
(`TransposeConstants`).
"""

from collections.abc import Sequence

import torch
from torch._ops import OpOverload

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    BINARY,
    BINARY_COMPUTING,
    CLIPS,
    COMPUTING,
    RELUS,
    RESHAPES,
    SELECTING,
    SLICES,
    SPLITS,
    TRANSPOSES,
    axis_of,
    axis_order,
    clip,
    clip_bounds,
    constant_like,
    have_dtype_of,
    inverse,
    keeps_bits,
    known_tensor,
    only_user,
    owned_by,
    permutation_of,
    permute,
    read_once,
    reapply,
    reorder,
    replace_with,
    reshape,
    shape_of,
    splat,
    splat_number,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.ops import apply_op, call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import (
    ATEN_BATCH_NORM,
    BATCH_NORM,
    batch_norm_of,
    batch_norm_on,
    batch_norm_results,
    schema_name,
)
from explorer.tensor.passes.reshapes import shuffle, shuffle_of, transpose_constants
from explorer.tensor.rules.views import drop_same_order, merge_transposes

sink_code = passes.new("SinkCode")
sink_code.add(drop_same_order, merge_transposes)


def _below_one(node: Apply, above: Apply) -> Rewrite:
    if node.op.attributes.get("memory_format") not in (None, torch.preserve_format):
        return Declined("it requests a memory format, which a transpose changes", node)
    return replace_with(node, permute(reapply(node, [above.inputs[0]]), axis_order(above)))


@sink_code.rule(SELECTING, above=TRANSPOSES, exactness=Exactness.EXACT)
def transpose_below_elementwise(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below an elementwise operator."""
    return _below_one(node, above) if keeps_bits(node) else False


@sink_code.rule((*SELECTING, *COMPUTING), above=TRANSPOSES)
def transpose_below_function(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below an elementwise function that rounds depending on positions."""
    return False if keeps_bits(node) else _below_one(node, above)


@sink_code.rule([aten.prelu.default], above=TRANSPOSES, exactness=Exactness.EXACT)
def transpose_below_prelu(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below PReLU with one slope, or with slopes along an axis that the transpose keeps."""
    order, slopes = axis_order(above), node.inputs[1].tensor_type.size
    if slopes != 1 and order[1] != 1:
        return Declined(f"it has {slopes} slopes along axis 1, which the transpose moves", node)
    return replace_with(node, permute(reapply(node, [above.inputs[0], node.inputs[1]]), order))


@sink_code.rule(None, above=TRANSPOSES)
def transpose_below_batch_norm(node: Apply, above: Apply) -> Rewrite:
    """A batch norm along axis c of a transposed tensor is one along axis order[c] of the tensor."""
    if schema_name(node) not in (ATEN_BATCH_NORM, BATCH_NORM):
        return False
    order, old = axis_order(above), batch_norm_of(node)
    if old is None:
        return Declined("its statistics are used too", node)
    return batch_norm_results(node, permute(batch_norm_on(old, above.inputs[0], order[old.axis]), order))


@sink_code.rule(BINARY, exactness=Exactness.EXACT)
def transpose_below_arithmetic(node: Apply) -> Rewrite:
    """Move equal transposes of two tensors below a binary operator; a constant is transposed back at compile time."""
    return _below_both(node) if keeps_bits(node) else False


@sink_code.rule((*BINARY, *BINARY_COMPUTING))
def transpose_below_power(node: Apply) -> Rewrite:
    """Move equal transposes below a binary function with bits that depend on positions."""
    return False if keeps_bits(node) else _below_both(node)


def _below_both(node: Apply) -> Rewrite:
    orders = [permutation_of(v) for v in node.inputs]
    order = orders[0] if orders[0] is not None else orders[1]
    if order is None:
        return False
    sources: list[Variable] = []
    for variable, own in zip(node.inputs, orders, strict=True):
        source = variable.owner.inputs[0] if own is not None and variable.owner is not None else None
        if source is not None:
            if own != order:
                return Declined("its inputs are transposed differently", node)
            sources.append(source)
            continue
        back = _transpose_back(variable, order)
        if back is None:
            return Declined("its other input is neither transposed nor a constant", node)
        sources.append(back)
    return replace_with(node, permute(reapply(node, sources), order))


def _transpose_back(variable: Variable, order: Sequence[int]) -> Variable | None:
    """Apply the inverse permutation to a constant or splat; None for anything else, or if it has more axes."""
    kind = variable.type
    if not isinstance(kind, TensorType) or kind.rank > len(order):
        return None
    if not kind.shape:
        return variable if known_tensor(variable) is not None or splat_number(variable) is not None else None
    full = (1,) * (len(order) - kind.rank) + kind.shape
    data, number = known_tensor(variable), splat_number(variable)
    if number is not None:
        return splat(TensorType(kind.dtype, reorder(full, inverse(order)), "", kind.quantization), number, variable)
    if data is not None:
        return constant_like(variable, data.reshape(full).permute(inverse(order)))
    return None


@sink_code.rule([aten.cat.default])
def transpose_below_concat(node: Apply) -> Rewrite:
    """Move equal transposes below a concat, which changes the strides of its result."""
    orders = [permutation_of(v) for v in node.inputs]
    order = orders[0]
    if order is None or any(own is None for own in orders):
        return False
    if any(own != order for own in orders):
        return Declined("its inputs are transposed differently", node)
    sources = [v.owner.inputs[0] for v in node.inputs if v.owner is not None]
    axis = order[axis_of(node.op["dim"], len(order))]
    return replace_with(node, permute(reapply(node, sources, dim=axis), order))


@sink_code.rule([*SPLITS, *SLICES], above=TRANSPOSES, exactness=Exactness.EXACT)
def transpose_below_slice(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below slices and splits."""
    order = axis_order(above)
    axis = order[axis_of(node.op["dim"], len(order))]
    return [permute(part, order) for part in apply_op(node.op.with_attributes(dim=axis), above.inputs).outputs]


@sink_code.rule([aten.repeat.default, aten.tile.default], above=TRANSPOSES)
def transpose_below_tile(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below a repetition along the corresponding axes."""
    order = axis_order(above)
    name = "repeats" if node.op.target is aten.repeat.default else "dims"
    counts = node.op[name]
    if len(counts) > len(order):
        return Declined("it adds axes", node)
    counts = reorder((1,) * (len(order) - len(counts)) + tuple(counts), inverse(order))
    return replace_with(node, permute(reapply(node, above.inputs, **{name: counts}), order))


def pads_by_axis(pad: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """Return the padding before and after each axis; PyTorch lists it from the last axis."""
    found = [(0, 0)] * rank
    for i in range(len(pad) // 2):
        found[rank - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    return found


def pad_list(pads: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """List the padding per axis as PyTorch does, from the last axis."""
    return tuple(size for pair in reversed(pads) for size in pair)


def padding_value(node: Apply) -> float | None:
    """Return the number that an operator pads with; None if it does not pad with a constant."""
    if node.op.target is aten.constant_pad_nd.default:
        return node.op["value"]
    if node.op["mode"] != "constant":
        return None
    return 0.0 if node.op["value"] is None else node.op["value"]


PADS = (aten.constant_pad_nd.default, aten.pad.default)


@sink_code.rule(PADS, above=TRANSPOSES)
def transpose_below_pad(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below the padding of the corresponding axes."""
    if padding_value(node) is None:
        return Declined(f"{node.op['mode']} padding works on the last axes only", node)
    order = axis_order(above)
    pads = reorder(pads_by_axis(node.op["pad"], len(order)), inverse(order))
    return replace_with(node, permute(reapply(node, above.inputs, pad=pad_list(pads)), order))


@sink_code.rule(None, above=TRANSPOSES)
def transpose_below_channel_shuffle(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below a channel shuffle along the corresponding axis."""
    if node.op.name != "channel_shuffle":
        return False
    order = axis_order(above)
    groups, axis = shuffle_of(node)
    if axis >= len(order):
        return False
    return replace_with(node, permute(shuffle(above.inputs[0], groups, order[axis]), order))


@sink_code.rule(None, above=RESHAPES)
def reshape_below_batch_norm(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape of the axes other than batch and channels below a batch norm."""
    old = batch_norm_of(node)
    if old is None:
        return False
    source = above.inputs[0]
    before, after = shape_of(source), shape_of(node.inputs[0])
    axis = old.axis if old.axis == 1 else old.axis - len(after)
    if min(len(before), len(after)) < 3 or axis not in (1, -1) or (before[0], before[axis]) != (after[0], after[axis]):
        return Declined("the reshape changes the batch or the channels", above)
    return batch_norm_results(node, reshape(batch_norm_on(old, source, axis_of(axis, len(before))), after))


@sink_code.rule(RELUS, above=CLIPS, exactness=Exactness.EXACT)
def clip_below_relu(node: Apply, above: Apply) -> Rewrite:
    """relu(clip(x, a, b)) is clip(relu(x), max(a, 0), b) if b is not below 0."""
    bounds = clip_bounds(above)
    if bounds is None:
        return False
    low, high = bounds
    if high < 0:
        return Declined(f"the upper bound {high:g} is below 0: it would be the result instead of 0", above)
    relu, low = reapply(node, [above.inputs[0]]), max(low, 0.0)
    if above.op.target in (aten.clamp.default, aten.clip.default):
        return replace_with(node, clip(relu, low, high))
    return replace_with(node, call(aten.hardtanh.default, relu, low, high))  # has no gradient on its bounds


CONVERSIONS = (q.quantize_op, q.dequantize_op, q.rescale_op)


@sink_code.rule([aten.cat.default], exactness=Exactness.EXACT)
def relu_below_concat(node: Apply) -> Rewrite:
    """Equal relus, clips, casts or conversions of all inputs of a concat are one of the concat."""
    return _below_concat(node, (*RELUS, *CLIPS, aten._to_copy.default, *CONVERSIONS))


@sink_code.rule([aten.cat.default])
def gate_below_concat(node: Apply) -> Rewrite:
    """The tanh or sigmoid of all inputs of a concat is that of the concat."""
    return _below_concat(node, (aten.tanh.default, aten.sigmoid.default))


def _below_concat(node: Apply, targets: Sequence[OpOverload]) -> Rewrite:
    above = [owned_by(v, *targets) for v in node.inputs]
    first = above[0]
    if len(above) < 2 or first is None or any(found is None or found.op != first.op for found in above):
        return False
    if not all(read_once(v) for v in node.inputs):
        return Declined(f"the {first.op.name} of one of the inputs has other users", node)
    sources = [found.inputs[0] for found in above if found is not None]
    if not have_dtype_of(*sources):
        return Declined("the inputs have different dtypes", node)
    if first.op.attributes.get("memory_format") not in (None, torch.preserve_format):
        return Declined("it requests a memory format", first)
    return replace_with(node, apply_op(first.op, [reapply(node, sources)], first.location).outputs[0])


@sink_code.rule([aten.slice.Tensor])
def batch_norm_below_slice(node: Apply) -> Rewrite:
    """Move a batch norm below its only user, a slice."""
    old = batch_norm_of(node.inputs[0].owner)
    if old is None or node.inputs[0].index != 0:
        return False
    if axis_of(node.op["dim"], len(shape_of(old.input))) == old.axis:
        return Declined("the slice is along the channels", node)
    if only_user(node.inputs[0]) is not node:
        return Declined("the batch norm has other users", old.node)
    return replace_with(node, batch_norm_on(old, reapply(node, [old.input]), old.axis))


def _keep_only_such_users(variable: Variable, node: Apply) -> bool:
    """Return whether all users of a variable are conversions of the same kind as a node."""
    return all(reader is not None and reader.op.target is node.op.target for reader, _ in variable.clients)


@sink_code.rule(CONVERSIONS, above=TRANSPOSES, exactness=Exactness.EXACT)
def transpose_below_conversion(node: Apply, above: Apply) -> Rewrite:
    """Move a transpose below a conversion."""
    if node.op.target is q.quantize_op and not _keep_only_such_users(node.inputs[0], node):
        return Declined("the transposed tensor has other users in floating point", above)
    return replace_with(node, permute(reapply(node, [above.inputs[0]]), axis_order(above)))


@sink_code.rule([q.quantize_op], above=RESHAPES, exactness=Exactness.EXACT)
def reshape_below_quantize(node: Apply, above: Apply) -> Rewrite:
    """Move a reshape below a quantize."""
    if not _keep_only_such_users(node.inputs[0], node):
        return Declined("the reshaped tensor has other users in floating point", above)
    return replace_with(node, reshape(reapply(node, [above.inputs[0]]), shape_of(node.outputs[0])))


@transpose_constants.rule(TRANSPOSES, above=[q.quantize_op], sole_user=True, exactness=Exactness.EXACT)
def transpose_quantized_constant(node: Apply, above: Apply) -> Rewrite:
    """A transpose of a quantized constant is the quantized transposed constant."""
    data = known_tensor(above.inputs[0])
    if data is None:
        return False
    return replace_with(node, reapply(above, [constant_like(above.inputs[0], data.permute(axis_order(node)))]))
