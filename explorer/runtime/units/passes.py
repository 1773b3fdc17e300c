"""The passes on units in their order, and the one that makes tables.

What depends on one variable only is a table: a sum of such tables is computed for all values of the variable once. At
inference the weights of such a sum are constants, so that its matrix product becomes a look-up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import getdoc
from types import MappingProxyType

from explorer.runtime.kernel_types import Kind
from explorer.runtime.units.ir import KernelCall, Plan
from explorer.runtime.units.observing import Leave, nobody
from explorer.runtime.units.order import depth_first, with_slots, without_unused
from explorer.runtime.units.products import SUMS, multiply_densities, multiply_within_sums, split_products

COMBINED = (Kind.SUM, Kind.MIXING, Kind.TENSOR_DOT, Kind.REARRANGE)


def combine_tables(units: Plan, leave: Leave = nobody) -> Plan:
    """Make tables of all units that read only tables by one variable, or constants only."""
    found: dict[int, KernelCall] = {}
    for number, unit in units.calls.items():
        found[number] = unit
        if unit.kind not in COMBINED:
            continue
        read = [found[one] for one in unit.inputs]
        reason = _why_computed(unit, read)
        if reason:
            leave(number, reason)
        else:
            found[number] = replace(unit, kind=Kind.TABLE, variables=read[0].variables)
    return replace(units, calls=found)


def _why_computed(unit: KernelCall, read: Sequence[KernelCall]) -> str:
    """Return why a unit cannot be a table; empty if it can."""
    for one in read:
        if one.kind is not Kind.TABLE:
            return f"it reads a {one.kind.value}, which is computed for each row"
    if len(unit.factors[0]) > 1:
        return f"it multiplies {len(unit.factors[0])} tables, and a table has one variable"
    for one in read:
        if one.variables != read[0].variables:
            return f"it reads tables of different variables: {_variable(read[0])} and {_variable(one)}"
    return ""


def _variable(table: KernelCall) -> str:
    return f"x{table.variables[0]}" if table.variables else "none"


@dataclass(frozen=True, slots=True)
class UnitsPass:
    """A pass on units, and the kinds of units that it looks at; none: all of them."""

    change: Callable[[Plan, Leave], Plan]
    looks_at: tuple[Kind, ...] = ()

    @property
    def doc(self) -> str:
        """Return what it does, in one sentence."""
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


def plan_units(units: Plan, leave: Leave = nobody) -> Plan:
    """Units ready to be evaluated; `leave` receives why each pass left what it looked at."""
    for one in PASSES.values():
        units = one.change(units, leave)
    return units


def plan_training_units(units: Plan) -> Plan:
    """Units ready for training: tables are not combined, as the sums that would be part of them are trained."""
    for name, one in PASSES.items():
        if name not in ("combine-tables", "slots"):
            units = one.change(units, nobody)
    return units
