"""OptimizeQuantization: fewer conversions between real numbers and integers, and between integers of two scales.

Some of these rules give the same bits. Others leave out a rounding, or a clipping to the range of the integers, so
the result is another one, within a bound or without: they are lossy, and only in passes that were made with
`lossy=True`. `OptimizeQuantization` has the exact rules only; `OptimizeQuantizationLossy` has all of them.

How much a lossy rule changes, where nothing is clipped: a rounding that is left out was at most half a quantum of its
scale s. So a result of the scale t that reads it without more arithmetic changes by at most s / (2 t) + 1 quanta; what
an operator reads changes by at most s / 2 before the operator.
Source: Glow, Quantization specific optimizations.
"""

import torch

from explorer.rewrite import Exactness
from explorer.tensor.facts import (
    is_known,
    owned_by,
    read_once,
    reapplied,
    replace_unless_aliased,
    replace_with,
    splat,
    splat_number,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.result_types import MOVES_DATA
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.passes.base import GraphPass, passes
from explorer.tensor.passes.quantized_facts import PICKING, read_once_from
from explorer.tensor.rewriting import LocalRewriter, node_rewriter

aten = torch.ops.aten

NOT_8_BITS = "its integers have not 8 bits, and float32 does not hold all longer ones"

# ---------------------------------------------------------------------- pairs of conversions


@node_rewriter([q.quantize_op], exactness=Exactness.EXACT)
def quantize_of_dequantize(node: Apply) -> Rewrite:
    """quantize(dequantize(x)) is x if scale and offset are the same, else rescale(x)."""
    above = owned_by(node.inputs[0], q.dequantize_op)
    if above is None:
        return False
    source = above.inputs[0]
    if not q.is_quantized_in_8_bits(source) or not q.is_quantized_in_8_bits(node.outputs[0]):
        return Declined(NOT_8_BITS, node)
    return replace_unless_aliased(node, q.rescale(source, q.quantization_of(node.outputs[0]), node.location))


@node_rewriter([q.dequantize_op], exactness=Exactness.LOSSY)
def dequantize_of_quantize(node: Apply) -> Rewrite:
    """dequantize(quantize(x)) is x: leaves out the rounding, and the clipping, whose size nothing bounds."""
    above = owned_by(node.inputs[0], q.quantize_op)
    return False if above is None else replace_unless_aliased(node, above.inputs[0])


@node_rewriter([q.dequantize_op], exactness=Exactness.LOSSY)
def dequantize_of_rescale(node: Apply) -> Rewrite:
    """dequantize(rescale(x)) is dequantize(x): leaves out the rounding and the clipping of the rescale."""
    above = owned_by(node.inputs[0], q.rescale_op)
    return False if above is None else replace_with(node, q.dequantize(above.inputs[0], node.location))


@node_rewriter([q.rescale_op], exactness=Exactness.EXACT)
def rescale_to_the_same(node: Apply) -> Rewrite:
    """A rescale to the scale and offset that are there already does nothing."""
    if node.inputs[0].type != node.outputs[0].type:
        return False
    return (
        replace_unless_aliased(node, node.inputs[0])
        if q.is_quantized_in_8_bits(node.inputs[0])
        else Declined(NOT_8_BITS, node)
    )


@node_rewriter([q.rescale_op], exactness=Exactness.LOSSY)
def rescale_of_rescale(node: Apply) -> Rewrite:
    """rescale(rescale(x)) is one rescale: leaves out the rounding and the clipping in the middle."""
    above = read_once_from(node.inputs[0], (q.rescale_op,))
    if not isinstance(above, Apply):
        return above
    return replace_with(node, q.rescale(above.inputs[0], q.quantization_of(node.outputs[0]), node.location))


@node_rewriter([q.rescale_op], exactness=Exactness.LOSSY)
def rescale_of_quantize(node: Apply) -> Rewrite:
    """rescale(quantize(x)) is quantize(x) to the last scale: leaves out the first rounding and clipping."""
    above = read_once_from(node.inputs[0], (q.quantize_op,))
    if not isinstance(above, Apply):
        return above
    return replace_with(node, q.quantize(above.inputs[0], q.quantization_of(node.outputs[0]), location=above.location))


# ---------------------------------------------------------------------- what is known


@node_rewriter([q.quantize_op], exactness=Exactness.EXACT)
def quantize_constant(node: Apply) -> Rewrite:
    """A quantized constant is a constant of integers; the real numbers stay for whatever else reads them."""
    source = node.inputs[0]
    if not isinstance(source, Constant) or not is_known(source):
        return False
    kind = node.outputs[0].tensor_type
    return replace_with(node, q.quantized_constant(source, q.quantization_of(node.outputs[0]), kind.dtype))


@node_rewriter([q.quantize_op, q.dequantize_op, q.rescale_op], exactness=Exactness.EXACT)
def convert_splat(node: Apply) -> Rewrite:
    """A conversion of one number everywhere is the converted number everywhere."""
    number = splat_number(node.inputs[0])
    kind = node.outputs[0].type
    if number is None or not isinstance(kind, TensorType):
        return False
    (converted,) = node.op.run([torch.tensor(number, dtype=node.inputs[0].tensor_type.dtype)])
    return replace_with(node, splat(kind, converted.item(), node.inputs[0]))


# ---------------------------------------------------------------------- the greatest of two


@node_rewriter([q.rescale_op], exactness=Exactness.EXACT)
def rescale_above_max(node: Apply) -> Rewrite:
    """rescale(max(x, y)) is max(rescale(x), rescale(y)) if all are quantized alike: a rescale keeps the order."""
    above = read_once_from(node.inputs[0], (q.maximum,))
    if not isinstance(above, Apply):
        return above
    if any(v.tensor_type.quantization != above.outputs[0].tensor_type.quantization for v in above.inputs):
        return Declined("the greatest number is rounded too: its inputs have other scales than its result", above)
    to = q.quantization_of(node.outputs[0])
    return replace_with(node, q.requantized(above, [q.rescale(v, to, node.location) for v in above.inputs], to))


@node_rewriter([q.maximum], exactness=Exactness.EXACT)
def max_with_splat(node: Apply) -> Rewrite:
    """max(x, number) is x if no number that x can hold is less than it."""
    for x, other in (node.inputs, node.inputs[::-1]):
        number = splat_number(other)
        if number is None or x.type != node.outputs[0].type:
            continue
        found = q.real(torch.tensor(number, dtype=other.tensor_type.dtype), *_parts(other)).item()
        least, _ = q.real_range(q.quantization_of(x))
        if found <= least:
            return replace_unless_aliased(node, x)
        return Declined(f"{found:g} is above {least:g}, the least number of the other input", node)
    return False


@node_rewriter([q.relu], exactness=Exactness.EXACT)
def relu_of_never_negative(node: Apply) -> Rewrite:
    """A relu of integers none of which stands for a number below 0 does nothing, or only rescales."""
    source = node.inputs[0]
    least, _ = q.real_range(q.quantization_of(source))
    if least < 0:
        return Declined(f"its input can hold {least:g}", node)
    return replace_unless_aliased(node, q.rescale(source, q.quantization_of(node.outputs[0]), node.location))


def _parts(variable: Variable) -> tuple[float, int]:
    of = q.quantization_of(variable)
    return of.scale, of.offset


# ---------------------------------------------------------------------- into operators

TAKES_ANY_RESULT = (q.add, q.sub, q.mul, q.div, q.minimum, q.maximum, q.matmul, q.linear, q.conv2d)
"""Operators that may give their result in any scale: a rescale below them can be left out."""

TAKES_ANY_INPUT = (*TAKES_ANY_RESULT, q.relu)
"""Operators that may take inputs of any scale: a rescale above them can be left out."""


@node_rewriter([q.rescale_op], exactness=Exactness.LOSSY)
def rescale_into_result(node: Apply) -> Rewrite:
    """rescale(op(x)) is op(x) with another scale of its result: leaves out a rounding and a clipping."""
    above = read_once_from(node.inputs[0], TAKES_ANY_RESULT)
    if not isinstance(above, Apply):
        return above
    return replace_with(node, q.requantized(above, above.inputs, q.quantization_of(node.outputs[0])))


@node_rewriter(TAKES_ANY_INPUT, exactness=Exactness.LOSSY)
def rescale_into_input(node: Apply) -> Rewrite:
    """op(rescale(x)) is op(x), which is told the scale of x: leaves out a rounding and a clipping."""
    above = [owned_by(variable, q.rescale_op) for variable in node.inputs]
    if not any(above):
        return False
    inputs = [v if found is None else found.inputs[0] for v, found in zip(node.inputs, above, strict=True)]
    return replace_with(node, q.requantized(node, inputs))


# ---------------------------------------------------------------------- below operators


@node_rewriter(PICKING, exactness=Exactness.EXACT)
def rescale_below_picks(node: Apply) -> Rewrite:
    """What only picks and moves numbers goes above a rescale; the greatest number stays so when it is rescaled."""
    above = read_once_from(node.inputs[0], (q.rescale_op,))
    if not isinstance(above, Apply):
        return above
    if node.op.name not in MOVES_DATA:
        return False
    moved = reapplied(node, [above.inputs[0]])
    return replace_with(node, q.rescale(moved, q.quantization_of(node.outputs[0]), above.location))


@node_rewriter([q.avg_pool2d], exactness=Exactness.LOSSY)
def rescale_below_average(node: Apply) -> Rewrite:
    """average(rescale(x)) is rescale(average(x)), rounded to the scale of x first."""
    above = read_once_from(node.inputs[0], (q.rescale_op,))
    if not isinstance(above, Apply):
        return above
    if node.inputs[0].tensor_type.quantization != node.outputs[0].tensor_type.quantization:
        return Declined("its result has another scale than its input", node)
    source = above.inputs[0]
    averaged = q.requantized(node, [source], q.quantization_of(source))
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
"""All rules on quantization, in the order in which they are tried at an operator."""

CHANGE_PARAMETERS = (rescale_of_quantize, rescale_above_max, rescale_into_result)
"""Those that give an operator another scale and offset of its result than it had."""

KEEP_PARAMETERS = (rescale_below_average,)
"""Those that are of use only where the former are not wanted."""


def optimize_quantization(
    name: str, *, lossy: bool = False, enable_quant_param_changes: bool = True, doc: str = ""
) -> GraphPass:
    """The pass, under a name; lossy rules and rules that change the scales of results only if they are wanted.

    `passes.register(optimize_quantization("Careful", enable_quant_param_changes=False))` makes it one for pipelines.
    Source: Glow, OptimizeQuantization; enableQuantParamChanges.
    """
    unwanted = KEEP_PARAMETERS if enable_quant_param_changes else CHANGE_PARAMETERS
    wanted = [rule for rule in RULES if rule not in unwanted and (lossy or rule.exactness is not Exactness.LOSSY)]
    return GraphPass(name, doc or "Conversions between real numbers and integers that are not needed go.", rules=wanted)


passes.register(optimize_quantization("OptimizeQuantization"))
passes.register(
    optimize_quantization(
        "OptimizeQuantizationLossy",
        lossy=True,
        doc="As OptimizeQuantization, and roundings and clippings in the middle go too: other results, within bounds.",
    )
)

constants = passes.new("ConvertQuantizedConstants", "Constants that are quantized are stored as integers.")
constants.add(quantize_constant)

fully_connected = passes.new(
    "OptimizeQuantFCFloatRelu", "A relu of a dequantized linear layer is done with the integers."
)


@fully_connected.rule([aten.relu.default], exactness=Exactness.EXACT)
def relu_above_dequantize(node: Apply) -> Rewrite:
    """relu(dequantize(linear(x))) is dequantize(relu(linear(x))): 0 is one of the numbers that integers stand for."""
    above = owned_by(node.inputs[0], q.dequantize_op)
    layer = owned_by(above.inputs[0], q.linear) if above is not None else None
    if above is None or layer is None:
        return False
    if not read_once(node.inputs[0]) or not read_once(above.inputs[0]):
        return Declined("what the linear layer gives is read elsewhere too", layer)
    integers = above.inputs[0]
    found = q.quantized(q.relu, [integers], q.quantization_of(integers), node.location)
    return replace_with(node, q.dequantize(found, above.location))
