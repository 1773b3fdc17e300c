"""The layers that put the units of a product in another order, or repeat them, where no weight can do it."""

from collections.abc import Sequence
from math import prod

from explorer.symbolic.layers import RearrangeLayer
from explorer.symbolic.operators.factors import Role
from explorer.symbolic.operators.units import PairUnits


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
