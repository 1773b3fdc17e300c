"""Where products are computed: within the sum that reads them, in the logarithmic domain, or in parts.

A product that one sum reads is computed row by row in that sum. A product of normal densities is computed from their
logarithms: densities of narrow distributions, each divided by its largest one, would underflow. A product of many
factors is computed in parts that are rescaled, so that none of them underflows.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from explorer.runtime.units.ir import Kind, Unit, Units

MAX_FACTORS = 4
"""The product of more values below 2, none of which is far below 1, could leave the range of a float."""

WEIGHTED = (Kind.SUM, Kind.MIXING)


def multiply_densities(units: Units) -> Units:
    """Make one unit of all normal densities that are factors of one term."""
    fresh = count(max(units.units, default=-1) + 1)
    found: dict[int, Unit] = {}
    for number, unit in units.units.items():
        if unit.kind is Kind.PRODUCT or (unit.kind is Kind.SUM and unit.terms == 1):
            densities = tuple(one for one in unit.inputs if units.units[one].kind is Kind.GAUSSIAN)
            rest = tuple(one for one in unit.inputs if one not in densities)
            if len(densities) > 1:
                sources = tuple(source for one in densities for source in units.units[one].sources)
                variables = tuple(variable for one in densities for variable in units.units[one].variables)
                joint = Unit(Kind.GAUSSIAN, units.units[densities[0]].width, sources, variables=variables)
                if unit.kind is Kind.PRODUCT and not rest:
                    found[number] = joint
                    continue
                place = next(fresh)
                found[place] = joint
                unit = replace(unit, inputs=(place, *rest))
        found[number] = unit
    return replace(units, units=found)


def multiply_within_sums(units: Units) -> Units:
    """Compute products within the sum that reads them: no other unit may, and all terms need equally many factors."""
    found = dict(units.units)
    outputs = set(units.outputs)

    def factors(one: int) -> tuple[int, ...]:
        unit = found[one]
        alone = unit.kind is Kind.PRODUCT and len(units.users[one]) == 1 and one not in outputs
        return unit.inputs if alone and len(unit.inputs) <= MAX_FACTORS else (one,)

    for number, unit in units.units.items():
        if unit.kind in WEIGHTED and len(unit.inputs) == unit.terms:
            terms = [factors(one) for one in unit.inputs]
            counts = {len(term) for term in terms}
            if len(counts) == 1 and counts != {1}:
                found[number] = replace(unit, inputs=tuple(one for term in terms for one in term))
    return replace(units, units=found)


def split_products(units: Units) -> Units:
    """Compute a product of many factors in parts of at most `MAX_FACTORS`, and parts of these."""
    fresh = count(max(units.units, default=-1) + 1)
    found: dict[int, Unit] = {}
    for number, unit in units.units.items():
        if unit.kind is Kind.PRODUCT:
            unit = replace(unit, inputs=_in_parts(unit, unit.inputs, found, fresh.__next__))
        elif unit.kind is Kind.SUM and unit.terms == 1 and len(unit.inputs) > MAX_FACTORS:
            width = units.units[unit.inputs[0]].width
            part = Unit(Kind.PRODUCT, width, unit.sources)
            unit = replace(unit, inputs=_in_parts(part, unit.inputs, found, fresh.__next__))
        found[number] = unit
    return replace(units, units=found)


def _in_parts(part: Unit, inputs: tuple[int, ...], found: dict[int, Unit], fresh: Callable[[], int]) -> tuple[int, ...]:
    """At most `MAX_FACTORS` numbers that have the product of `inputs`; new units like `part` are added to `found`."""
    while len(inputs) > MAX_FACTORS:
        parts: list[int] = []
        for start in range(0, len(inputs), MAX_FACTORS):
            some = inputs[start : start + MAX_FACTORS]
            if len(some) == 1:
                parts.extend(some)
                continue
            parts.append(fresh())
            found[parts[-1]] = replace(part, inputs=some)
        inputs = tuple(parts)
    return inputs
