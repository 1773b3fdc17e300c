"""A guard against leaving the range of floating-point numbers where log space would have stayed in it."""

from explorer.backend import TorchSumLayer
from explorer.backend.parameters import (
    TorchKroneckerParameter,
    TorchMatMulParameter,
    TorchMixingWeightParameter,
    TorchParameter,
    TorchSoftmaxParameter,
)
from explorer.optimize.layers import RuleCompiler
from explorer.rewrite import GraphOptMatch


def product_stays_in_range(compiler: RuleCompiler, match: GraphOptMatch) -> str | None:
    """Guard of SumCollapse: decline weights whose product may under- or overflow while their logarithms do not.

    The product is computed outside of log space. If the rows of both weights sum to one, its rows do too.
    """
    if not compiler.semiring.is_logarithmic:
        return None
    for node, layer in zip(match.nodes, match.entries, strict=True):
        if isinstance(layer, TorchSumLayer) and not is_normalized(layer.weight):
            return f"the rows of the weight of layer {node} need not sum to one, so the product may leave float's range"
    return None


def is_normalized(parameter: TorchParameter) -> bool:
    """Whether its operators show that the rows of a weight sum to one, whatever the values of its leaves are."""
    graph = parameter.graph

    def sums_to_one(node: int) -> bool:
        value = graph.nodes[node]
        if isinstance(value, TorchSoftmaxParameter):
            return value.axis == len(value.shape) - 1
        keeps = isinstance(value, TorchMatMulParameter | TorchKroneckerParameter | TorchMixingWeightParameter)
        return keeps and all(map(sums_to_one, graph.inputs[node]))

    return sums_to_one(graph.outputs[0])
