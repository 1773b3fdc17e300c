"""What depends on one variable only is a table: a sum of such tables is computed for all values of the variable once.

At inference the weights of such a sum are constants, so that its matrix product becomes a look-up.
"""

from dataclasses import replace

from explorer.runtime.units.ir import Kind, Unit, Units

COMBINED = (Kind.SUM, Kind.MIXING, Kind.TENSOR_DOT)


def combine_tables(units: Units) -> Units:
    """Make tables of all units that read only tables by one variable, or constants only."""
    found: dict[int, Unit] = {}
    for number, unit in units.units.items():
        read = [found[one] for one in unit.inputs]
        combines = (
            unit.kind in COMBINED
            and len(unit.factors[0]) == 1
            and all(one.kind is Kind.TABLE for one in read)
            and len({one.variables for one in read}) == 1
        )
        found[number] = replace(unit, kind=Kind.TABLE, variables=read[0].variables) if combines else unit
    return replace(units, units=found)
