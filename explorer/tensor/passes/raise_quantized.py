"""Passes that find quantized operators: `RaiseQuantization` and `OptimizeConcatQuantization`.

PyTorch's quantization (PT2E) represents int8 as plain tensors between `quantized_decomposed.quantize_per_tensor` and
`dequantize_per_tensor`, with floating-point operators between these. The rules on quantization would remove these
pairs, and the quantization with them. So each pair first becomes one of ours, with types that know scale and offset;
then the operators between them become quantized operators, which compute the same bits.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import torch

from explorer.errors import ValueRangeError
from explorer.rewrite import Exactness
from explorer.tensor.facts import CLIPS, RELUS, clip_bounds, owned_by, read_once, reapply, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.types import Quantization
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import schema_name
from explorer.tensor.passes.concat import CAT
from explorer.tensor.passes.quantization import PICKING, quantize_of_dequantize

concat_quantization = passes.new("OptimizeConcatQuantization")


@concat_quantization.rule([q.quantize_op], above=CAT, exactness=Exactness.EXACT)
def quantize_of_concat(node: Apply, cat: Apply) -> Rewrite:
    """quantize(cat(dequantize(x), dequantize(y))) is cat(rescale(x), rescale(y))."""
    above = [owned_by(variable, q.dequantize_op) for variable in cat.inputs]
    sources = [found.inputs[0] for found in above if found is not None]
    if len(sources) < len(above):
        return Declined("not all inputs of the concat are dequantized", cat)
    if not read_once(node.inputs[0]):
        return Declined("the concat has other users in floating point", cat)
    if not all(map(q.is_quantized_in_8_bits, (*sources, node.outputs[0]))):
        return Declined("some of the integers do not have 8 bits", cat)
    to = q.quantization_of(node.outputs[0])
    return replace_with(node, reapply(cat, [q.rescale(source, to) for source in sources]))


NAMESPACE = "quantized_decomposed::"
QUANTIZE = "quantized_decomposed::quantize_per_tensor"
DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor"

raising = passes.new("RaiseQuantization")


def read_pair(node: Apply) -> "Quantization | Declined":
    """Return scale and offset of an operator of PyTorch's quantization, or the reason why it cannot be raised."""
    op = node.op
    if schema_name(node) not in (QUANTIZE, DEQUANTIZE):
        return Declined(f"{op.name} does not have one scale and offset for the whole tensor", node)
    if op.target._overloadname != "default" and op.target._overloadname:
        return Declined("its scale and offset are not constants", node)
    if op.attributes.get("out_dtype") not in (None, torch.float32):
        return Declined(f"it returns {op['out_dtype']}, and quantized operators compute in float32", node)
    try:
        return Quantization(op["scale"], op["zero_point"])
    except ValueRangeError as error:
        return Declined(str(error), node)


@raising.rule(None, exactness=Exactness.EXACT)
def raise_pairs(node: Apply) -> Rewrite:
    """PyTorch's quantize and its dequantizations become ours, if all have the same scale and offset."""
    if not schema_name(node).startswith(NAMESPACE + "quantize"):
        return False
    of = read_pair(node)
    if isinstance(of, Declined):
        return of
    found = (node.op["dtype"], node.op["quant_min"], node.op["quant_max"])
    if found != (torch.int8, *q.RANGES[torch.int8]):
        return Declined(f"it stores {found[0]} between {found[1]} and {found[2]}; only whole int8 is raised", node)
    if node.inputs[0].tensor_type.dtype is not torch.float32:
        return Declined(f"it quantizes {node.inputs[0].type}; only float32 is raised", node)
    readers = [client for client, _ in node.outputs[0].clients]
    for reader in readers:
        if reader is None or schema_name(reader) != DEQUANTIZE or read_pair(reader) != of:
            what = "an output of the graph is" if reader is None else f"{reader.op.name} reads"
            return Declined(f"{what} its plain integers, or interprets them differently", reader or node)
    made = q.dequantize(q.quantize(node.inputs[0], of, location=node.location), node.location)
    return {reader.outputs[0]: made for reader in readers if reader is not None}


@raising.rule(None, exactness=Exactness.EXACT)
def raise_constant(node: Apply) -> Rewrite:
    """A dequantized constant becomes a quantized constant, dequantized."""
    if not schema_name(node).startswith(NAMESPACE + "dequantize"):
        return False
    source = node.inputs[0]
    if source.owner is not None and schema_name(source.owner).startswith(NAMESPACE + "quantize"):
        return False  # raised together with its quantize
    of = read_pair(node)
    if isinstance(of, Declined):
        return of
    if not isinstance(source, Constant) or source.data.dtype not in q.RANGES:
        return Declined("its integers are neither quantized here nor a constant of int8 or int32", node)
    if not torch.iinfo(source.data.dtype).min <= of.offset <= torch.iinfo(source.data.dtype).max:
        return Declined(f"the offset {of.offset} does not fit {source.data.dtype}", node)
    return replace_with(node, q.dequantize(q.with_quantization(source, of)))


def _settings(node: Apply, kind: q.QuantizedOperator) -> "dict[str, Any] | str":
    """Return the settings of the quantized operator for a floating-point one, or the reason why there is none."""
    op, given = node.op, node.op.attributes
    if given.get("alpha", 1) != 1:
        return f"it multiplies one side with {given['alpha']}"
    if given.get("transposed"):
        return "it is a transposed convolution"
    if kind.target is q.conv2d and len(shape_of(node.inputs[1])) != 4:
        return "it is not in two dimensions"
    if kind.target is q.clip:
        bounds = clip_bounds(node)
        return "its bounds are not numbers in order" if bounds is None else {"min": bounds[0], "max": bounds[1]}
    return {name: op[name] for name in kind.settings}


def _integers(node: Apply) -> "list[Variable] | Declined":
    """Return the quantized tensors that an operator uses dequantized; a bias may be real."""
    kind = q.BY_FLOAT[node.op.target]
    found: list[Variable] = []
    for name, variable in zip(kind.tensors, node.inputs, strict=False):
        source = owned_by(variable, q.dequantize_op)
        if source is not None and (q.is_quantized_in_8_bits(source.inputs[0]) or name == "bias"):
            found.append(source.inputs[0])
        elif source is None and name == "bias":
            found.append(variable)
        else:
            return Declined(f"its {name} is not dequantized from 8 bits", node)
    return found


def _inner(node: Apply) -> "Apply | Declined | None":
    """Return the floating-point operator above an 8-bit quantize, which must be its only user."""
    inner = node.inputs[0].owner
    if inner is None or inner.op.target is q.dequantize_op:
        return None
    if node.outputs[0].tensor_type.dtype is not torch.int8:
        return Declined("it returns 32 bits, and quantized operators return 8", node)
    if not read_once(node.inputs[0]) or len(inner.outputs) > 1:
        return Declined(f"the result of {inner.op.name} has other users", inner)
    if inner.op.target not in q.BY_FLOAT and inner.op.target is not aten.cat.default:
        return Declined(f"{inner.op.name} has no quantized form", inner)
    return inner


@raising.rule([q.quantize_op], exactness=Exactness.EXACT)
def quantize_above_clip(node: Apply) -> Rewrite:
    """Move a clip or relu between an operator and quantize to the integers, so that the operator can be raised."""
    inner = _inner(node)
    if not isinstance(inner, Apply) or inner.op.target not in (*RELUS, *CLIPS):
        return False
    above = inner.inputs[0].owner
    bounds = clip_bounds(inner)
    if above is None or bounds is None or above.op.target is q.dequantize_op:
        return False
    if above.op.target not in q.BY_FLOAT or not read_once(inner.inputs[0]):
        return Declined(f"{above.op.name} above it has no quantized form, or has other users", above)
    if isinstance(sources := _raisable(above), Declined):
        return sources
    to = q.quantization_of(node.outputs[0])
    integers = q.quantize(inner.inputs[0], to)
    if bounds == (0.0, inf):
        return replace_with(node, q.apply(q.relu, [integers], to, inner.location))
    return replace_with(node, q.apply(q.clip, [integers], to, inner.location, min=bounds[0], max=bounds[1]))


def _raisable(node: Apply) -> "Sequence[Variable] | Declined":
    """Return the integers that an operator uses, through clips above it; or the reason why it will not be raised."""
    inner = node
    while inner.op.target in (*RELUS, *CLIPS):
        above = inner.inputs[0].owner
        if above is None or above.op.target not in q.BY_FLOAT:
            break
        inner = above
    return _integers(inner)


@raising.rule([q.quantize_op], exactness=Exactness.EXACT)
def raise_operator(node: Apply) -> Rewrite:
    """quantize(op(dequantize(x), ...)) is the quantized operator on x, ..."""
    inner = _inner(node)
    if not isinstance(inner, Apply):
        return inner or False
    kind = q.BY_FLOAT.get(inner.op.target)
    if kind is None:
        return False
    settings, sources = _settings(inner, kind), _integers(inner)
    if isinstance(settings, str):
        return Declined(settings, inner)
    if isinstance(sources, Declined):
        return sources
    to = q.quantization_of(node.outputs[0])
    return replace_with(node, q.apply(kind.target, sources, to, inner.location, **settings))


@raising.rule(PICKING, above=[q.dequantize_op], exactness=Exactness.EXACT)
def dequantize_below_picks(node: Apply, above: Apply) -> Rewrite:
    """Select and move integers instead of dequantized numbers."""
    if node.op.name not in MOVES_DATA:
        return False
    return replace_with(node, q.dequantize(reapply(node, [above.inputs[0]]), above.location))


raising.add(quantize_of_concat, quantize_of_dequantize)
