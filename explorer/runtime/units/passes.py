"""The passes on units in their order."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from explorer.runtime.units.ir import Units
from explorer.runtime.units.observing import Leave
from explorer.runtime.units.order import depth_first, with_slots, without_unused
from explorer.runtime.units.products import multiply_densities, multiply_within_sums, split_products
from explorer.runtime.units.tables import combine_tables


class Change(Protocol):
    """What a pass does to units; `leave` hears of those that it has looked at and left, and why."""

    __doc__: str | None

    def __call__(self, units: Units, leave: Leave = ...) -> Units: ...


PASSES: Mapping[str, Change] = MappingProxyType(
    {
        "without-unused": without_unused,
        "combine-tables": combine_tables,
        "multiply-densities": multiply_densities,
        "split-products": split_products,
        "multiply-within-sums": multiply_within_sums,
        "depth-first": depth_first,
        "slots": with_slots,
    }
)


def plan_units(units: Units) -> Units:
    """Units ready to be evaluated."""
    for change in PASSES.values():
        units = change(units)
    return units


def plan_training_units(units: Units) -> Units:
    """Units ready for training: tables are not combined, as the sums that would be part of them are trained."""
    for name, change in PASSES.items():
        if name not in ("combine-tables", "slots"):
            units = change(units)
    return units
