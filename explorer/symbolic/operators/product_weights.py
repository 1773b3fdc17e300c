"""The weights of products and squares of sums, and the layers that reorder units where no weight can.

Units (i, j) and (j, i) of a square are equal, and one of them is enough: a layer of K units then has K(K+1)/2 instead
of K^2. The price is that the weight of a sum is no longer a Kronecker product, which can be shattered, so it pays for
few units only.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from explorer.graph import parameters_of
from explorer.symbolic.arrangement_operators import (
    KroneckerIdentityParameter,
    MixingWeightParameter,
    ReorderParameter,
    TriangleParameter,
)
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
    RearrangeLayer,
    SumLayer,
)
from explorer.symbolic.operators.factors import PairUnits, Role, is_ascending
from explorer.symbolic.parameter_operators import KroneckerParameter
from explorer.symbolic.parameters import ParameterNode


def product_weight(
    left: SumLayer, right: SumLayer, units: PairUnits, *, once: bool = False, half: bool = False
) -> ParameterNode:
    """The weight (O*P, G*H*I*J) of the product of sums with weights (O, G*I) and (P, H*J), over inputs (g, h).

    The columns of a Kronecker product are in the order g, i, h, j; those wanted in the order g, h, and `units`. In a
    square, the inputs with `once` are those with g <= h, and the units with `half` those with o <= p.
    """
    v, w = left.weight, right.weight
    keeps = units.is_natural and not (half or units.is_half)
    if keeps and mixes_unit_by_unit(left) and mixes_unit_by_unit(right):
        return MixingWeightParameter((KroneckerParameter((*v.operands, *w.operands)),))
    weight: ParameterNode = KroneckerParameter((v, w))
    if half:
        weight = TriangleParameter((weight,), size=left.num_output_units, axis=0)
    if units.is_half:
        return TriangleParameter((weight,), size=units.num_left, add=True, axis=1)
    if once:
        weight = TriangleParameter((weight,), size=left.arity, block=units.num_left, add=True, axis=1)
        pairs = left.arity * (left.arity + 1) // 2
        return _reorder_columns(weight, (pairs, *units.sizes), (0, *(axis + 1 for axis in units.order)))
    num_left = len(units.left)
    sizes = (left.arity, *units.left, right.arity, *units.right)
    places = [axis + 1 if axis < num_left else axis + 2 for axis in units.order]
    return _reorder_columns(weight, sizes, (0, num_left + 1, *places))


def mixes_unit_by_unit(layer: SumLayer) -> bool:
    """Whether unit o of a sum reads unit o of each input only. A mixing weight of one unit may be any row."""
    return isinstance(layer.weight, MixingWeightParameter) and layer.num_output_units == layer.num_input_units


def repeated_weight(layer: SumLayer, width: int, units: PairUnits) -> ParameterNode:
    """The weight (O*K, H*I*K) of the product of a sum with weight (O, H*I) and a layer of K = `width` units."""
    weight = layer.weight if width == 1 else KroneckerIdentityParameter((layer.weight,), size=width)
    return _reorder_columns(weight, (layer.arity, *units.sizes), (0, *(axis + 1 for axis in units.order)))


def _reorder_columns(weight: ParameterNode, sizes: Sequence[int], order: Sequence[int]) -> ParameterNode:
    if is_ascending(order, sizes):
        return weight
    return ReorderParameter((weight,), sizes=tuple(sizes), order=tuple(order), axis=1)


MAX_HALVED_UNITS = 8
"""A layer of more units is squared with all K^2, so that its sums can be shattered.

Measured on one core with torch 2.13, the square of an 8x8 image with 8 units: 13 instead of 24 ms for 512 rows, as much
for 64, and its integral takes twice as long (1.7 instead of 0.9 ms); frozen, 7.5 instead of 22 ms. With 16 units, the
dense weight takes twice as long for 64 rows, and the integral more than three times as long.
"""

_TABLES = (EmbeddingLayer, CategoricalLayer, BinomialLayer, GaussianLayer, PolynomialLayer)


def halved_layers(circuit: Circuit) -> frozenset[int]:
    """The layers with squares of K(K+1)/2 units, as nothing needs all K^2.

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
    """An input layer of K^2 units, K = `width`, without the pairs (i, j) with i > j."""
    kept = {name: TriangleParameter((p,), size=width, axis=0) for name, p in parameters_of(layer).items()}
    return replace(layer, num_output_units=width * (width + 1) // 2, **kept)


def natural_order(units: PairUnits) -> RearrangeLayer | None:
    """The layer that puts units in the natural order; None if they are."""
    if units.is_natural:
        return None
    place = {axis: k for k, axis in enumerate(units.order)}
    return _rearranged(units.sizes, [place[axis] for axis in range(len(units.order))])


def spread(own: PairUnits, role: Role, units: PairUnits) -> RearrangeLayer | None:
    """The layer that repeats a factor with units `own` along the axes of a product that it does not have.

    `role` tells which left and right axis of `units` it has. None if it has all, in their order.
    """
    place = {axis: k for k, axis in enumerate(own.order)}
    sides = ((units.left, own.left, 0, role[0]), (units.right, own.right, len(own.left), role[1]))
    sizes: list[int] = []
    axes: list[int] = []
    for wanted, given, first, covered in sides:
        for axis, size in enumerate(wanted):
            sizes += given if axis == covered else (size,)
            axes += [place[first + k] for k in range(len(given))] if axis == covered else [-1]
    return None if axes == list(range(len(axes))) else _rearranged(sizes, axes)


def _rearranged(sizes: Sequence[int], axes: Sequence[int]) -> RearrangeLayer:
    return RearrangeLayer(
        num_input_units=prod(size for size, axis in zip(sizes, axes, strict=True) if axis >= 0),
        num_output_units=prod(sizes),
        sizes=tuple(sizes),
        axes=tuple(axes),
    )


def rearranged_pairs(layer: RearrangeLayer, width: int, *, flip: bool) -> RearrangeLayer:
    """A rearrangement of the left side of pairs, with `width` right units; with `flip`, of the right side."""
    if flip:
        return _rearranged((width, *layer.sizes), (0, *(axis + 1 if axis >= 0 else -1 for axis in layer.axes)))
    return _rearranged((*layer.sizes, width), (*layer.axes, len(layer.input_sizes)))
