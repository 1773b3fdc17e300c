"""RaiseQuantization: `dequantize, operator, quantize` of PyTorch's quantization becomes one quantized operator.

PyTorch's quantization (PT2E) writes int8 as plain tensors between `quantized_decomposed.quantize_per_tensor` and
`dequantize_per_tensor`, with operators in floating point in between. The rules of quantization would remove these
pairs, and the quantization with them. So first each pair becomes one of ours, whose type knows scale and offset; then
each operator between them takes and gives int8. Because quantized operators compute just what stood there, all values
stay the same, bit for bit.
"""

from collections.abc import Sequence
from typing import Any

import torch

from explorer.errors import ValueRangeError
from explorer.rewrite import Exactness
from explorer.tensor.facts import CLIPS, RELUS, clip_bounds, owned_by, read_once, reapplied, replace_with, shape_of
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.types import Quantization
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import schema_name
from explorer.tensor.passes.quantization import quantize_of_dequantize
from explorer.tensor.passes.quantized_concat import quantize_of_concat
from explorer.tensor.passes.quantized_facts import PICKING, quantized_clip

aten = torch.ops.aten

NAMESPACE = "quantized_decomposed::"
QUANTIZE = "quantized_decomposed::quantize_per_tensor"
DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor"

raising = passes.new(
    "RaiseQuantization", "Dequantize, operator and quantize in floating point become one operator on quantized tensors."
)


def read_pair(node: Apply) -> "Quantization | Declined":
    """Scale and offset of an operator of PyTorch's quantization, or why it cannot be raised."""
    op = node.op
    if schema_name(node) not in (QUANTIZE, DEQUANTIZE):
        return Declined(f"{op.name} has not one scale and offset for the whole tensor", node)
    if op.target._overloadname != "default" and op.target._overloadname:
        return Declined("its scale and offset are computed, not known", node)
    if op.attributes.get("out_dtype") not in (None, torch.float32):
        return Declined(f"it gives {op['out_dtype']}, and quantized operators compute in float32", node)
    try:
        return Quantization(op["scale"], op["zero_point"])
    except ValueRangeError as error:
        return Declined(str(error), node)


@raising.rule(None, exactness=Exactness.EXACT)
def raise_pairs(node: Apply) -> Rewrite:
    """What PyTorch's quantize gives is read by dequantizations alike: both become those that tell scale and offset."""
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
            what = "the graph gives" if reader is None else f"{reader.op.name} reads"
            return Declined(f"{what} its integers with another meaning, or as they are", reader or node)
    made = q.dequantize(q.quantize(node.inputs[0], of, location=node.location), node.location)
    return {reader.outputs[0]: made for reader in readers if reader is not None}


@raising.rule(None, exactness=Exactness.EXACT)
def raise_constant(node: Apply) -> Rewrite:
    """A dequantized constant is one of integers that tell their scale and offset, dequantized."""
    if not schema_name(node).startswith(NAMESPACE + "dequantize"):
        return False
    source = node.inputs[0]
    if source.owner is not None and schema_name(source.owner).startswith(NAMESPACE + "quantize"):
        return False  # raised with its other half
    of = read_pair(node)
    if isinstance(of, Declined):
        return of
    if not isinstance(source, Constant) or source.data.dtype not in q.RANGES:
        return Declined("its integers are neither quantized here nor a constant of int8 or int32", node)
    if not torch.iinfo(source.data.dtype).min <= of.offset <= torch.iinfo(source.data.dtype).max:
        return Declined(f"the offset {of.offset} is no {source.data.dtype}", node)
    return replace_with(node, q.dequantize(q.with_quantization(source, of), node.location))


def _settings(node: Apply, kind: q.QuantizedOperator) -> "dict[str, Any] | str":
    """The arguments beside tensors of the quantized operator for one in floating point, or why there is none."""
    op, given = node.op, node.op.attributes
    if given.get("alpha", 1) != 1:
        return f"it multiplies one side with {given['alpha']}"
    if given.get("transposed"):
        return "it is a transposed convolution"
    if kind.target is q.conv2d and len(shape_of(node.inputs[1])) != 4:
        return "it is not in two dimensions"
    if kind.target is q.clip:
        bounds = clip_bounds(node)
        return "its bounds are no numbers in order" if bounds is None else {"min": bounds[0], "max": bounds[1]}
    return {name: op[name] for name in kind.settings}


def _integers(node: Apply) -> "list[Variable] | Declined":
    """The quantized tensors that an operator reads dequantized; a bias may be of real numbers."""
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
    """The operator in floating point whose result a quantize in 8 bits reads, and nothing else does."""
    inner = node.inputs[0].owner
    if inner is None or inner.op.target is q.dequantize_op:
        return None
    if node.outputs[0].tensor_type.dtype is not torch.int8:
        return Declined("it gives 32 bits, and quantized operators give 8", node)
    if not read_once(node.inputs[0]) or len(inner.outputs) > 1:
        return Declined(f"what {inner.op.name} gives in floating point is read elsewhere too", inner)
    if inner.op.target not in q.BY_FLOAT and inner.op.target is not aten.cat.default:
        return Declined(f"{inner.op.name} has no quantized form", inner)
    return inner


@raising.rule([q.quantize_op], exactness=Exactness.EXACT)
def quantize_above_clip(node: Apply) -> Rewrite:
    """A clip or relu between an operator and quantize is done on integers, so that the operator can be raised."""
    inner = _inner(node)
    if not isinstance(inner, Apply) or inner.op.target not in (*RELUS, *CLIPS):
        return False
    above = inner.inputs[0].owner
    bounds = clip_bounds(inner)
    if above is None or bounds is None or above.op.target is q.dequantize_op:
        return False
    if above.op.target not in q.BY_FLOAT or not read_once(inner.inputs[0]):
        return Declined(f"{above.op.name} above it has no quantized form, or is read elsewhere too", above)
    if isinstance(sources := _raisable(above), Declined):
        return sources
    to = q.quantization_of(node.outputs[0])
    return replace_with(
        node, quantized_clip(q.quantize(inner.inputs[0], to, location=node.location), *bounds, to, inner.location)
    )


def _raisable(node: Apply) -> "Sequence[Variable] | Declined":
    """The integers that an operator reads, through clips above it; or why it will not be raised."""
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
    return replace_with(node, q.quantized(kind.target, sources, to, inner.location, **settings))


@raising.rule(PICKING, exactness=Exactness.EXACT)
def dequantize_below_picks(node: Apply) -> Rewrite:
    """What only picks and moves numbers does it with integers, before they are dequantized."""
    above = owned_by(node.inputs[0], q.dequantize_op)
    if above is None or node.op.name not in MOVES_DATA:
        return False
    return replace_with(node, q.dequantize(reapplied(node, [above.inputs[0]]), above.location))


raising.add(quantize_of_concat, quantize_of_dequantize)
