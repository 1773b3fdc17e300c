"""The weights of products of sums, with the columns in the order of the units below."""

from collections.abc import Sequence

from explorer.symbolic.arrangement_operators import (
    KroneckerIdentityParameter,
    MixingWeightParameter,
    ReorderParameter,
    TriangleParameter,
)
from explorer.symbolic.layers import SumLayer
from explorer.symbolic.operators.units import PairUnits, is_ascending
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
