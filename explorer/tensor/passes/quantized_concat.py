"""OptimizeConcatQuantization: replace a concat between dequantize and quantize by a concat of integers."""

from explorer.rewrite import Exactness
from explorer.tensor.facts import owned_by, read_once, reapply, replace_with
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.concat import CAT

concat_quantization = passes.new(
    "OptimizeConcatQuantization",
    "Concatenate rescaled integers instead of dequantized tensors that are quantized again.",
)


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
