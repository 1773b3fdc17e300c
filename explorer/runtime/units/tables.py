"""What depends on one variable only is a table: a sum of such tables is computed for all values of the variable once.

At inference the weights of such a sum are constants, so that its matrix product becomes a look-up.
"""

from collections.abc import Sequence
from dataclasses import replace

from explorer.runtime.kernel_types import Kind
from explorer.runtime.units.ir import Unit, Units
from explorer.runtime.units.observing import Leave, nobody

COMBINED = (Kind.SUM, Kind.MIXING, Kind.TENSOR_DOT, Kind.REARRANGE)


def combine_tables(units: Units, leave: Leave = nobody) -> Units:
    """Make tables of all units that read only tables by one variable, or constants only."""
    found: dict[int, Unit] = {}
    for number, unit in units.units.items():
        found[number] = unit
        if unit.kind not in COMBINED:
            continue
        read = [found[one] for one in unit.inputs]
        reason = _why_computed(unit, read)
        if reason:
            leave(number, reason)
        else:
            found[number] = replace(unit, kind=Kind.TABLE, variables=read[0].variables)
    return replace(units, units=found)


def _why_computed(unit: Unit, read: Sequence[Unit]) -> str:
    """Why a unit cannot be a table; empty if it can."""
    for one in read:
        if one.kind is not Kind.TABLE:
            return f"it reads a {one.kind.value}, which is computed for each row"
    if len(unit.factors[0]) > 1:
        return f"it multiplies {len(unit.factors[0])} tables, and a table has one variable"
    for one in read:
        if one.variables != read[0].variables:
            return f"it reads tables of different variables: {_variable(read[0])} and {_variable(one)}"
    return ""


def _variable(table: Unit) -> str:
    return f"x{table.variables[0]}" if table.variables else "none"
