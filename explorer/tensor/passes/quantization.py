"""OptimizeQuantization: remove conversions between real numbers and integers, and between integers of two scales.

Some of these rules keep all bits. Others remove a rounding, or a clipping to the range of the integers, and so change
results, within a bound or without: these are lossy, and only in passes made with `lossy=True`. `OptimizeQuantization`
has only the exact rules; `OptimizeQuantizationLossy` has all of them.

The error of a lossy rule where nothing is clipped: a removed rounding changed a number by at most half a quantum of its
scale s. A result of scale t that uses it directly changes by at most s / (2 t) + 1 quanta; an input of an operator
changes by at most s / 2.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    PARTS,
    RESHAPES,
    TRANSPOSES,
    owned_by,
    read_once,
    reapply,
    replace_unless_aliased,
    replace_with,
    splat,
    splat_number,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import library, quantized as q
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.schemas import aten, overloads
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import GraphPass, passes
from explorer.tensor.rewriting import LocalRewriter, node_rewriter

NOT_8_BITS = "its integers do not have 8 bits, and float32 does not represent all longer ones"

# ---------------------------------------------------------------------- pairs of conversions


@node_rewriter([q.quantize_op], above=[q.dequantize_op], exactness=Exactness.EXACT)
def quantize_of_dequantize(node: Apply, above: Apply) -> Rewrite:
    """quantize(dequantize(x)) is x if scale and offset are the same, else rescale(x)."""
    source = above.inputs[0]
    if not q.is_quantized_in_8_bits(source) or not q.is_quantized_in_8_bits(node.outputs[0]):
        return Declined(NOT_8_BITS, node)
    return replace_unless_aliased(node, q.rescale(source, q.quantization_of(node.outputs[0])))


@node_rewriter([q.dequantize_op], above=[q.quantize_op], exactness=Exactness.LOSSY)
def dequantize_of_quantize(node: Apply, above: Apply) -> Rewrite:
    """dequantize(quantize(x)) is x: removes the rounding, and the clipping, an unbounded error."""
    return replace_unless_aliased(node, above.inputs[0])


@node_rewriter([q.dequantize_op], above=[q.rescale_op], exactness=Exactness.LOSSY)
def dequantize_of_rescale(node: Apply, above: Apply) -> Rewrite:
    """dequantize(rescale(x)) is dequantize(x): removes the rounding and the clipping of the rescale."""
    return replace_with(node, q.dequantize(above.inputs[0]))


@node_rewriter([q.rescale_op], exactness=Exactness.EXACT)
def rescale_to_the_same(node: Apply) -> Rewrite:
    """A rescale to the same scale and offset is a no-op."""
    source = node.inputs[0]
    if source.type != node.outputs[0].type:
        return False
    return replace_unless_aliased(node, source) if q.is_quantized_in_8_bits(source) else Declined(NOT_8_BITS, node)


@node_rewriter([q.rescale_op], above=[q.rescale_op], sole_user=True, exactness=Exactness.LOSSY)
def rescale_of_rescale(node: Apply, above: Apply) -> Rewrite:
    """rescale(rescale(x)) is one rescale: removes the rounding and the clipping in between."""
    return replace_with(node, q.rescale(above.inputs[0], q.quantization_of(node.outputs[0])))


@node_rewriter([q.rescale_op], above=[q.quantize_op], sole_user=True, exactness=Exactness.LOSSY)
def rescale_of_quantize(node: Apply, above: Apply) -> Rewrite:
    """rescale(quantize(x)) is quantize(x) to the last scale: removes the first rounding and clipping."""
    return replace_with(node, q.quantize(above.inputs[0], q.quantization_of(node.outputs[0]), location=above.location))


# ---------------------------------------------------------------------- constants


@node_rewriter([q.quantize_op], exactness=Exactness.EXACT)
def quantize_constant(node: Apply) -> Rewrite:
    """A quantized constant is a constant of integers; the real constant stays for its other users."""
    source = node.inputs[0]
    if not isinstance(source, Constant) or source.trainable:
        return False
    kind = node.outputs[0].tensor_type
    return replace_with(node, q.quantize_constant(source, q.quantization_of(node.outputs[0]), kind.dtype))


@node_rewriter([q.quantize_op, q.dequantize_op, q.rescale_op], exactness=Exactness.EXACT)
def convert_splat(node: Apply) -> Rewrite:
    """A conversion of a splat is a splat of the converted number."""
    number = splat_number(node.inputs[0])
    kind = node.outputs[0].type
    if number is None or not isinstance(kind, TensorType):
        return False
    (converted,) = node.op.run([torch.tensor(number, dtype=node.inputs[0].tensor_type.dtype)])
    return replace_with(node, splat(kind, converted.item(), node.inputs[0]))


# ---------------------------------------------------------------------- maximum and relu


@node_rewriter([q.rescale_op], above=[q.maximum], sole_user=True, exactness=Exactness.EXACT)
def rescale_above_max(node: Apply, above: Apply) -> Rewrite:
    """rescale(max(x, y)) is max(rescale(x), rescale(y)) if all have the same scale: a rescale is monotonic."""
    if any(v.tensor_type.quantization != above.outputs[0].tensor_type.quantization for v in above.inputs):
        return Declined("the maximum is rounded too: its inputs have other scales than its result", above)
    to = q.quantization_of(node.outputs[0])
    return replace_with(node, q.reapply(above, [q.rescale(v, to) for v in above.inputs], to))


@node_rewriter([q.maximum], exactness=Exactness.EXACT)
def max_with_splat(node: Apply) -> Rewrite:
    """max(x, number) is x if x cannot represent a smaller number."""
    for x, other in (node.inputs, node.inputs[::-1]):
        number = splat_number(other)
        if number is None or x.type != node.outputs[0].type:
            continue
        found = q.dequantize_tensor(torch.tensor(number, dtype=other.tensor_type.dtype), *_parts(other)).item()
        least, _ = q.real_range(q.quantization_of(x))
        if found <= least:
            return replace_unless_aliased(node, x)
        return Declined(f"{found:g} is above {least:g}, the minimum of the other input", node)
    return False


@node_rewriter([q.relu], exactness=Exactness.EXACT)
def relu_of_never_negative(node: Apply) -> Rewrite:
    """A relu of integers that cannot represent a number below 0 is a no-op, or a rescale."""
    source = node.inputs[0]
    least, _ = q.real_range(q.quantization_of(source))
    if least < 0:
        return Declined(f"its input can represent {least:g}", node)
    return replace_unless_aliased(node, q.rescale(source, q.quantization_of(node.outputs[0])))


def _parts(variable: Variable) -> tuple[float, int]:
    of = q.quantization_of(variable)
    return of.scale, of.offset


# ---------------------------------------------------------------------- into operators

RESULT_OF_ANY_SCALE = (q.add, q.sub, q.mul, q.div, q.minimum, q.maximum, q.matmul, q.linear, q.conv2d)
"""Operators that accept any scale for their result: a rescale below them can be removed."""

INPUTS_OF_ANY_SCALE = (*RESULT_OF_ANY_SCALE, q.relu)
"""Operators that accept inputs of any scale: a rescale above them can be removed."""


@node_rewriter([q.rescale_op], above=RESULT_OF_ANY_SCALE, sole_user=True, exactness=Exactness.LOSSY)
def rescale_into_result(node: Apply, above: Apply) -> Rewrite:
    """rescale(op(x)) is op(x) with another scale of its result: removes a rounding and a clipping."""
    return replace_with(node, q.reapply(above, above.inputs, q.quantization_of(node.outputs[0])))


@node_rewriter(INPUTS_OF_ANY_SCALE, exactness=Exactness.LOSSY)
def rescale_into_input(node: Apply) -> Rewrite:
    """op(rescale(x)) is op(x) with the scale of x: removes a rounding and a clipping."""
    above = [owned_by(variable, q.rescale_op) for variable in node.inputs]
    if not any(above):
        return False
    inputs = [v if found is None else found.inputs[0] for v, found in zip(node.inputs, above, strict=True)]
    return replace_with(node, q.reapply(node, inputs))


# ---------------------------------------------------------------------- below operators


PICKING = (*RESHAPES, *TRANSPOSES, *PARTS, *overloads("clone max_pool2d"), library.max_pool2d_nhwc)
"""Unary operators that select numbers of their input by position, or as the maximum of several."""


@node_rewriter(PICKING, above=[q.rescale_op], sole_user=True, exactness=Exactness.EXACT)
def rescale_below_picks(node: Apply, above: Apply) -> Rewrite:
    """Move a rescale below operators that select and move numbers; a rescale is monotonic, so max pooling does too."""
    if node.op.name not in MOVES_DATA:
        return False
    moved = reapply(node, [above.inputs[0]])
    return replace_with(node, q.rescale(moved, q.quantization_of(node.outputs[0]), above.location))


@node_rewriter([q.avg_pool2d], above=[q.rescale_op], sole_user=True, exactness=Exactness.LOSSY)
def rescale_below_average(node: Apply, above: Apply) -> Rewrite:
    """average(rescale(x)) is rescale(average(x)), which is first rounded to the scale of x."""
    if node.inputs[0].tensor_type.quantization != node.outputs[0].tensor_type.quantization:
        return Declined("its result has another scale than its input", node)
    source = above.inputs[0]
    averaged = q.reapply(node, [source], q.quantization_of(source))
    return replace_with(node, q.rescale(averaged, q.quantization_of(node.outputs[0]), above.location))


# ---------------------------------------------------------------------- the passes

RULES: tuple[LocalRewriter, ...] = (
    quantize_of_dequantize,
    quantize_constant,
    convert_splat,
    dequantize_of_quantize,
    dequantize_of_rescale,
    rescale_to_the_same,
    rescale_of_rescale,
    rescale_of_quantize,
    rescale_above_max,
    rescale_into_result,
    max_with_splat,
    relu_of_never_negative,
    rescale_into_input,
    rescale_below_picks,
    rescale_below_average,
)
"""All rules on quantization, in the order in which they are tried."""

CHANGE_PARAMETERS = (rescale_of_quantize, rescale_above_max, rescale_into_result)
"""Rules that change the scale and offset of the result of an operator."""

KEEP_PARAMETERS = (rescale_below_average,)
"""Rules that are only useful without the former."""


def optimize_quantization(name: str, *, lossy: bool = False, enable_quant_param_changes: bool = True) -> GraphPass:
    """Make the pass under a name, optionally with lossy rules, or without rules that change the scales of results.

    `passes.register(optimize_quantization("Careful", lossy=True))` makes it available to pipelines.
    """
    unwanted = KEEP_PARAMETERS if enable_quant_param_changes else CHANGE_PARAMETERS
    wanted = [rule for rule in RULES if rule not in unwanted and (lossy or rule.exactness is not Exactness.LOSSY)]
    return GraphPass(name, rules=wanted)


passes.register(optimize_quantization("OptimizeQuantization"))
passes.register(optimize_quantization("OptimizeQuantizationLossy", lossy=True))

constants = passes.new("ConvertQuantizedConstants")
constants.add(quantize_constant)

fully_connected = passes.new("OptimizeQuantFCFloatRelu")


@fully_connected.rule([aten.relu.default], exactness=Exactness.EXACT)
def relu_above_dequantize(node: Apply) -> Rewrite:
    """relu(dequantize(linear(x))) is dequantize(relu(linear(x))), because integers represent 0 exactly."""
    above = owned_by(node.inputs[0], q.dequantize_op)
    layer = owned_by(above.inputs[0], q.linear) if above is not None else None
    if above is None or layer is None:
        return False
    if not read_once(node.inputs[0]) or not read_once(above.inputs[0]):
        return Declined("the result of the linear layer has other users", layer)
    integers = above.inputs[0]
    found = q.apply(q.relu, [integers], q.quantization_of(integers))
    return replace_with(node, q.dequantize(found, above.location))
