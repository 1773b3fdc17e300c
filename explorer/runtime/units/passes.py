"""The passes on units in their order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from types import MappingProxyType

from explorer.runtime.kernel_types import Kind
from explorer.runtime.units.ir import Units
from explorer.runtime.units.observing import Leave, nobody
from explorer.runtime.units.order import depth_first, with_slots, without_unused
from explorer.runtime.units.products import SUMS, multiply_densities, multiply_within_sums, split_products
from explorer.runtime.units.tables import COMBINED, combine_tables


@dataclass(frozen=True, slots=True)
class UnitsPass:
    """What a pass does to units, and the kinds of units that it looks at; none: all of them."""

    change: Callable[[Units, Leave], Units]
    looks_at: tuple[Kind, ...] = ()

    @property
    def doc(self) -> str:
        """What it does, in one sentence."""
        return (getdoc(self.change) or "").partition("\n")[0]


PASSES: Mapping[str, UnitsPass] = MappingProxyType(
    {
        "without-unused": UnitsPass(without_unused),
        "combine-tables": UnitsPass(combine_tables, COMBINED),
        "multiply-densities": UnitsPass(multiply_densities, (Kind.PRODUCT, Kind.SUM)),
        "split-products": UnitsPass(split_products, (Kind.PRODUCT, Kind.SUM)),
        "multiply-within-sums": UnitsPass(multiply_within_sums, SUMS),
        "depth-first": UnitsPass(depth_first),
        "slots": UnitsPass(with_slots),
    }
)


def plan_units(units: Units, leave: Leave = nobody) -> Units:
    """Units ready to be evaluated; `leave` receives why each pass left what it looked at."""
    for one in PASSES.values():
        units = one.change(units, leave)
    return units


def plan_training_units(units: Units) -> Units:
    """Units ready for training: tables are not combined, as the sums that would be part of them are trained."""
    for name, one in PASSES.items():
        if name not in ("combine-tables", "slots"):
            units = one.change(units, nobody)
    return units
