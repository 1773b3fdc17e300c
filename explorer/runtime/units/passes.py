"""The passes on units in their order."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from explorer.runtime.units.ir import Units
from explorer.runtime.units.order import depth_first, with_slots, without_unused
from explorer.runtime.units.products import multiply_densities, multiply_within_sums, split_products
from explorer.runtime.units.tables import combine_tables

PASSES: Mapping[str, Callable[[Units], Units]] = MappingProxyType(
    {
        "combine-tables": combine_tables,
        "multiply-densities": multiply_densities,
        "split-products": split_products,
        "multiply-within-sums": multiply_within_sums,
        "without-unused": without_unused,
        "depth-first": depth_first,
        "slots": with_slots,
    }
)


def plan_units(units: Units) -> Units:
    """Units ready to be evaluated."""
    for change in PASSES.values():
        units = change(units)
    return units
