"""The passes on kernel calls, and the one that makes tables. `explorer/passes.py` has their order.

What depends on one variable only is a table: a sum of such tables is computed for all values of the variable once. At
inference the weights of such a sum are constants, so that its matrix product becomes a look-up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from explorer.passes import CALLS
from explorer.runtime.kernel_types import Kind
from explorer.runtime.plan.kernel_calls import KernelCall, Plan, ReportSkipped, ignore_reason
from explorer.runtime.plan.order import depth_first, with_slots, without_unused
from explorer.runtime.plan.products import SUMS, multiply_densities, multiply_within_sums, split_products

COMBINED = (Kind.SUM, Kind.MIXING, Kind.TENSOR_DOT, Kind.REARRANGE)


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
