"""The passes on kernel calls: tables and products. `explorer/passes.py` has their order.

What depends on one variable only is a table: a sum of such tables is computed for all values of the variable once. At
inference the weights of such a sum are constants, so that its matrix product becomes a look-up.

A product that one sum reads is computed row by row in that sum. A product of normal densities is computed from their
logarithms: densities of narrow distributions, each divided by its largest one, would underflow. A product of many
factors is computed in parts that are rescaled, so that none of them underflows.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType

from explorer.passes import CALLS
from explorer.runtime.kernel_types import MAX_FACTORS, Kind
from explorer.runtime.plan.kernel_calls import KernelCall, Plan, ReportSkipped, ignore_reason
from explorer.runtime.plan.order import depth_first, with_slots, without_unused

COMBINED = (Kind.SUM, Kind.MIXING, Kind.TENSOR_DOT, Kind.REARRANGE)

SUMS = (Kind.SUM, Kind.MIXING)


def combine_tables(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Make tables of all kernel calls that read only tables by one variable, or constants only."""
    found: dict[int, KernelCall] = {}
    for number, call in plan.calls.items():
        found[number] = call
        if call.kind not in COMBINED:
            continue
        read = [found[one] for one in call.inputs]
        reason = _why_computed(call, read)
        if reason:
            report_skipped(number, reason)
        else:
            found[number] = replace(call, kind=Kind.TABLE, variables=read[0].variables)
    return replace(plan, calls=found)


def _why_computed(call: KernelCall, read: Sequence[KernelCall]) -> str:
    """Return why a call cannot be a table; empty if it can."""
    for one in read:
        if one.kind is not Kind.TABLE:
            return f"it reads a {one.kind.value}, which is computed for each row"
    if len(call.factors[0]) > 1:
        return f"it multiplies {len(call.factors[0])} tables, and a table has one variable"
    for one in read:
        if one.variables != read[0].variables:
            return f"it reads tables of different variables: {_variable(read[0])} and {_variable(one)}"
    return ""


def _variable(table: KernelCall) -> str:
    return f"x{table.variables[0]}" if table.variables else "none"


@dataclass(frozen=True, slots=True)
class PlanPass:
    """A pass on kernel calls, and the kinds of calls that it looks at; none: all of them."""

    change: Callable[[Plan, ReportSkipped], Plan]
    looks_at: tuple[Kind, ...] = ()


def multiply_densities(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Make one kernel call of all normal densities that are factors of one term."""
    fresh = count(max(plan.calls, default=-1) + 1)
    found: dict[int, KernelCall] = {}
    for number, call in plan.calls.items():
        densities = [one for one in call.inputs if plan.calls[one].kind is Kind.GAUSSIAN] if _multiplies(call) else []
        if len(densities) > 1:
            rest = tuple(one for one in call.inputs if one not in densities)
            joint = _joint_density(plan, densities)
            if call.kind is Kind.PRODUCT and not rest:
                call = joint
            else:
                place = next(fresh)
                found[place] = joint
                call = replace(call, inputs=(place, *rest))
        elif _multiplies(call):
            report_skipped(number, "one factor is a normal density" if densities else "no factor is a normal density")
        found[number] = call
    return _without_combined(plan, found)


def _multiplies(call: KernelCall) -> bool:
    """Return whether a call has one product to compute, of several factors."""
    return (call.kind is Kind.PRODUCT or call.kind is Kind.SUM) and len(call.inputs) > call.terms == 1


def _joint_density(plan: Plan, densities: Sequence[int]) -> KernelCall:
    parts = [plan.calls[one] for one in densities]
    sources = tuple(source for one in parts for source in one.sources)
    variables = tuple(variable for one in parts for variable in one.variables)
    return KernelCall(Kind.GAUSSIAN, parts[0].width, sources, variables=variables)


def multiply_within_sums(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Compute products within the sum that reads them: no other call may, and all terms need equally many factors."""
    found = dict(plan.calls)
    outputs = frozenset(plan.outputs)
    for number, call in plan.calls.items():
        if call.kind not in SUMS:
            continue
        if len(call.inputs) != call.terms:
            report_skipped(number, "it computes the products of its terms already")
            continue
        reasons = [_why_separate(plan, one, outputs) for one in call.inputs]
        terms = [(one,) if why else plan.calls[one].inputs for one, why in zip(call.inputs, reasons, strict=True)]
        counts = sorted({len(term) for term in terms})
        if len(counts) > 1:
            report_skipped(number, f"its terms have {counts[0]} to {counts[-1]} factors, and need equally many")
        elif counts == [1]:
            report_skipped(number, reasons[0])
        else:
            found[number] = replace(call, inputs=tuple(one for term in terms for one in term))
    return _without_combined(plan, found)


def _why_separate(plan: Plan, number: int, outputs: Container[int]) -> str:
    """Return why what a sum reads is not computed within the sum; empty if it is."""
    call = plan.calls[number]
    if call.kind is not Kind.PRODUCT:
        return f"it reads a {call.kind.value}, not a product"
    if number in outputs:
        return "the product that it reads is an output"
    if len(plan.users[number]) > 1:
        return f"the product that it reads has {len(plan.users[number])} users"
    if len(call.inputs) > MAX_FACTORS:
        return f"the product that it reads has {len(call.inputs)} factors; more than {MAX_FACTORS} are split first"
    return ""


def split_products(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Compute a product of many factors in parts of at most `MAX_FACTORS`, and parts of these."""
    fresh = count(max(plan.calls, default=-1) + 1)
    found: dict[int, KernelCall] = {}
    for number, call in plan.calls.items():
        if _multiplies(call) and len(call.inputs) <= MAX_FACTORS:
            report_skipped(
                number, f"it has {len(call.inputs)} factors; up to {MAX_FACTORS} stay in the range of a float"
            )
        elif _multiplies(call):
            part = KernelCall(Kind.PRODUCT, plan.calls[call.inputs[0]].width, call.sources)
            call = replace(call, inputs=_in_parts(part, call.inputs, found, fresh.__next__))
        found[number] = call
    return replace(plan, calls=found)


def _without_combined(plan: Plan, found: dict[int, KernelCall]) -> Plan:
    """The calls after a pass, without those that nothing reads any more because others compute them."""
    return without_unused(replace(plan, calls=found)) if found != plan.calls else plan


def _in_parts(
    part: KernelCall, inputs: tuple[int, ...], found: dict[int, KernelCall], fresh: Callable[[], int]
) -> tuple[int, ...]:
    """At most `MAX_FACTORS` numbers that have the product of `inputs`; new calls like `part` are added to `found`."""
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


PASSES: Mapping[str, PlanPass] = MappingProxyType(
    {
        "without-unused": PlanPass(without_unused),
        "combine-tables": PlanPass(combine_tables, COMBINED),
        "multiply-densities": PlanPass(multiply_densities, (Kind.PRODUCT, Kind.SUM)),
        "split-products": PlanPass(split_products, (Kind.PRODUCT, Kind.SUM)),
        "multiply-within-sums": PlanPass(multiply_within_sums, SUMS),
        "depth-first": PlanPass(depth_first),
        "slots": PlanPass(with_slots),
    }
)


def run_passes(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Run all passes, so that the calls can be evaluated."""
    for entry in CALLS:
        plan = PASSES[entry.name].change(plan, report_skipped)
    return plan


def run_training_passes(plan: Plan) -> Plan:
    """Run the passes of training: tables are not combined, as the sums that would be part of them are trained."""
    for entry in CALLS:
        if entry.name not in ("combine-tables", "slots"):
            plan = PASSES[entry.name].change(plan, ignore_reason)
    return plan
