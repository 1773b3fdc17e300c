"""A guard against leaving the range of floating-point numbers where log space would have stayed in it."""

from explorer.backend import TorchSumLayer
from explorer.optimize.layers import RuleCompiler
from explorer.rewrite import GraphOptMatch


def product_stays_in_range(compiler: RuleCompiler, match: GraphOptMatch) -> str | None:
    """Guard of SumCollapse: decline weights whose product may under- or overflow while their logarithms do not.

    The product is computed outside of log space. If the rows of both weights sum to one, its rows do too; an entry may
    still underflow, as that of a softmax may, and layers then receive double precision.
    """
    if not compiler.semiring.is_logarithmic:
        return None
    for node, layer in zip(match.nodes, match.entries, strict=True):
        if isinstance(layer, TorchSumLayer) and not layer.weight.rows_sum_to_one:
            return f"the rows of the weight of layer {node} need not sum to one, so the product may leave float's range"
    return None
