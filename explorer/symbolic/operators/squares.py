"""The squares of layers, where symmetry pays: units (i, j) and (j, i) of a square are equal, and one of them is enough.

A layer of K units then has K(K+1)/2 instead of K^2. The price is that the weight of a sum is no longer a Kronecker
product, which can be shattered, so it pays for few units only.
"""

from dataclasses import replace

from explorer.graph import parameters_of
from explorer.symbolic.arrangement_operators import TriangleParameter
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import (
    BinomialLayer,
    CategoricalLayer,
    EmbeddingLayer,
    GaussianLayer,
    HadamardLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    PolynomialLayer,
    SumLayer,
)
from explorer.symbolic.operators.weights import mixes_unit_by_unit

MAX_HALVED_UNITS = 8
"""A layer of more units is squared with all K^2, so that its sums can be shattered.

Measured on one core with torch 2.13, the square of an 8x8 image with 8 units: 13 instead of 24 ms for 512 rows, as much
for 64, and its integral takes twice as long (1.7 instead of 0.9 ms); frozen, 7.5 instead of 22 ms. With 16 units, the
dense weight takes twice as long for 64 rows, and the integral more than three times as long.
"""

_TABLES = (EmbeddingLayer, CategoricalLayer, BinomialLayer, GaussianLayer, PolynomialLayer)


def halved_layers(circuit: Circuit) -> frozenset[int]:
    """The layers whose square has K(K+1)/2 units, and of which nothing needs all K^2.

    What reads such a square is the product of two sums that read the layer alone, or the square of a Hadamard product
    that has half of its units, too.
    """
    nodes, inputs, users = circuit.graph.nodes, circuit.graph.inputs, circuit.graph.users
    found = {node for node, layer in nodes.items() if 2 <= layer.num_output_units <= MAX_HALVED_UNITS}
    found -= set(circuit.outputs)
    while True:
        kept: set[int] = set()
        for node, layer in nodes.items():
            if node in found and _can_be_halved(circuit, layer, inputs[node], kept):
                kept.add(node)
        kept = {node for node in kept if all(_accepts_half(nodes[user], user, kept) for user in users[node])}
        if kept == found:
            return frozenset(found)
        found = kept


def _accepts_half(user: Layer, node: int, halved: set[int]) -> bool:
    return (isinstance(user, SumLayer) and user.arity == 1) or (isinstance(user, HadamardLayer) and node in halved)


def _can_be_halved(circuit: Circuit, layer: Layer, inputs: tuple[int, ...], below: set[int]) -> bool:
    if isinstance(layer, HadamardLayer):
        return all(source in below for source in inputs)
    if not isinstance(layer, SumLayer):
        return type(layer) in _TABLES
    if mixes_unit_by_unit(layer):
        return False  # its square mixes unit by unit, too
    # The weight of one with a single input is shattered, unless that is a Kronecker product or has half the units.
    return layer.arity > 1 or inputs[0] in below or isinstance(circuit.graph.nodes[inputs[0]], KroneckerLayer)


def half_of(layer: InputLayer, width: int) -> InputLayer:
    """An input layer of K^2 units, K = `width`, without those of pairs (i, j) with i > j."""
    kept = {name: TriangleParameter((p,), size=width, axis=0) for name, p in parameters_of(layer).items()}
    return replace(layer, num_output_units=width * (width + 1) // 2, **kept)
