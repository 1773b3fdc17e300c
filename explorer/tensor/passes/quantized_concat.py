"""OptimizeConcatQuantization: a join of dequantized tensors that is quantized again is a join of integers.

Source: Glow, OptimizeConcatQuantization.
"""

from explorer.rewrite import Exactness
from explorer.tensor.facts import owned_by, read_once, reapplied, replace_with
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import quantized as q
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.concat import CAT

concat_quantization = passes.new(
    "OptimizeConcatQuantization", "A join between dequantize and quantize joins the integers, rescaled where need be."
)


@concat_quantization.rule([q.quantize_op], exactness=Exactness.EXACT)
def quantize_of_concat(node: Apply) -> Rewrite:
    """quantize(cat(dequantize(x), dequantize(y))) is cat(rescale(x), rescale(y)), number by number."""
    join = owned_by(node.inputs[0], *CAT)
    if join is None:
        return False
    above = [owned_by(variable, q.dequantize_op) for variable in join.inputs]
    sources = [found.inputs[0] for found in above if found is not None]
    if len(sources) < len(above):
        return Declined("not all inputs of the join are dequantized", join)
    if not read_once(node.inputs[0]):
        return Declined("the join is read in floating point too", join)
    if not all(map(q.is_quantized_in_8_bits, (*sources, node.outputs[0]))):
        return Declined("some of the integers have not 8 bits", join)
    to = q.quantization_of(node.outputs[0])
    return replace_with(node, reapplied(join, [q.rescale(source, to, node.location) for source in sources]))
