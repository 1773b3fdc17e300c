"""Passes on products: they are computed within the sum that reads them, in the logarithmic domain, or in parts.

A product that one sum reads is computed row by row in that sum. A product of normal densities is computed from their
logarithms: densities of narrow distributions, each divided by its largest one, would underflow. A product of many
factors is computed in parts that are rescaled, so that none of them underflows.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from itertools import count

from explorer.runtime.kernel_types import MAX_FACTORS, Kind
from explorer.runtime.units.ir import KernelCall, Plan
from explorer.runtime.units.observing import Leave, nobody
from explorer.runtime.units.order import without_unused

SUMS = (Kind.SUM, Kind.MIXING)


def multiply_densities(units: Plan, leave: Leave = nobody) -> Plan:
    """Make one unit of all normal densities that are factors of one term."""
    fresh = count(max(units.calls, default=-1) + 1)
    found: dict[int, KernelCall] = {}
    for number, unit in units.calls.items():
        densities = [one for one in unit.inputs if units.calls[one].kind is Kind.GAUSSIAN] if _multiplies(unit) else []
        if len(densities) > 1:
            rest = tuple(one for one in unit.inputs if one not in densities)
            joint = _joint_density(units, densities)
            if unit.kind is Kind.PRODUCT and not rest:
                unit = joint
            else:
                place = next(fresh)
                found[place] = joint
                unit = replace(unit, inputs=(place, *rest))
        elif _multiplies(unit):
            leave(number, "one factor is a normal density" if densities else "no factor is a normal density")
        found[number] = unit
    return _without_combined(units, found)


def _multiplies(unit: KernelCall) -> bool:
    """Return whether a unit has one product to compute, of several factors."""
    return (unit.kind is Kind.PRODUCT or unit.kind is Kind.SUM) and len(unit.inputs) > unit.terms == 1


def _joint_density(units: Plan, densities: Sequence[int]) -> KernelCall:
    parts = [units.calls[one] for one in densities]
    sources = tuple(source for one in parts for source in one.sources)
    variables = tuple(variable for one in parts for variable in one.variables)
    return KernelCall(Kind.GAUSSIAN, parts[0].width, sources, variables=variables)


def multiply_within_sums(units: Plan, leave: Leave = nobody) -> Plan:
    """Compute products within the sum that reads them: no other unit may, and all terms need equally many factors."""
    found = dict(units.calls)
    outputs = frozenset(units.outputs)
    for number, unit in units.calls.items():
        if unit.kind not in SUMS:
            continue
        if len(unit.inputs) != unit.terms:
            leave(number, "it computes the products of its terms already")
            continue
        reasons = [_why_separate(units, one, outputs) for one in unit.inputs]
        terms = [(one,) if why else units.calls[one].inputs for one, why in zip(unit.inputs, reasons, strict=True)]
        counts = sorted({len(term) for term in terms})
        if len(counts) > 1:
            leave(number, f"its terms have {counts[0]} to {counts[-1]} factors, and need equally many")
        elif counts == [1]:
            leave(number, reasons[0])
        else:
            found[number] = replace(unit, inputs=tuple(one for term in terms for one in term))
    return _without_combined(units, found)


def _why_separate(units: Plan, number: int, outputs: Container[int]) -> str:
    """Return why what a sum reads is not computed within the sum; empty if it is."""
    unit = units.calls[number]
    if unit.kind is not Kind.PRODUCT:
        return f"it reads a {unit.kind.value}, not a product"
    if number in outputs:
        return "the product that it reads is an output"
    if len(units.users[number]) > 1:
        return f"the product that it reads has {len(units.users[number])} users"
    if len(unit.inputs) > MAX_FACTORS:
        return f"the product that it reads has {len(unit.inputs)} factors; more than {MAX_FACTORS} are split first"
    return ""


def split_products(units: Plan, leave: Leave = nobody) -> Plan:
    """Compute a product of many factors in parts of at most `MAX_FACTORS`, and parts of these."""
    fresh = count(max(units.calls, default=-1) + 1)
    found: dict[int, KernelCall] = {}
    for number, unit in units.calls.items():
        if _multiplies(unit) and len(unit.inputs) <= MAX_FACTORS:
            leave(number, f"it has {len(unit.inputs)} factors; up to {MAX_FACTORS} stay in the range of a float")
        elif _multiplies(unit):
            part = KernelCall(Kind.PRODUCT, units.calls[unit.inputs[0]].width, unit.sources)
            unit = replace(unit, inputs=_in_parts(part, unit.inputs, found, fresh.__next__))
        found[number] = unit
    return replace(units, calls=found)


def _without_combined(units: Plan, found: dict[int, KernelCall]) -> Plan:
    """The units after a pass, without those that nothing reads any more because others compute them."""
    return without_unused(replace(units, calls=found)) if found != units.calls else units


def _in_parts(
    part: KernelCall, inputs: tuple[int, ...], found: dict[int, KernelCall], fresh: Callable[[], int]
) -> tuple[int, ...]:
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
