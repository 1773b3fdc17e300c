"""The order of evaluation, depth first, and slots, where values and gradients are kept until they are last read.

Depth first, values are read while they are in the cache, and few are kept at a time: for a tree about its depth.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from explorer.runtime.kernel_types import Kind
from explorer.runtime.plan.kernel_calls import KernelCall, Plan, ReportSkipped, ignore_reason


def without_unused(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Remove the kernel calls that no output depends on."""
    needed = set(plan.outputs)
    for number in reversed(list(plan.calls)):
        if number in needed:
            needed.update(plan.calls[number].inputs)
    return replace(plan, calls={number: call for number, call in plan.calls.items() if number in needed})


def depth_first(plan: Plan, report_skipped: ReportSkipped = ignore_reason) -> Plan:
    """Evaluate each kernel call right before its first user; of several inputs first the one that needs most slots."""
    needs = _slots_needed(plan)
    order: dict[int, KernelCall] = {}
    waiting = [(output, False) for output in reversed(plan.outputs)]
    while waiting:
        number, ready = waiting.pop()
        if number in order:
            continue
        call = plan.calls[number]
        if ready:
            order[number] = call
            continue
        waiting.append((number, True))
        inputs = sorted(dict.fromkeys(call.inputs), key=lambda one: -needs[one])
        waiting.extend((one, False) for one in reversed(inputs) if one not in order)
    return replace(plan, calls=order)


@dataclass(frozen=True, slots=True)
class SlotStep:
    """Numbers that are written in a step, unless a step before has written them, and those that it reads.

    Steps of different shares run side by side. Steps without a share come last: each thread runs them for some rows.
    """

    writes: Sequence[int]
    reads: Sequence[int] = ()
    share: int | None = 0


def assign_slots(steps: Sequence[SlotStep], widths: Mapping[int, int], kept: Collection[int] = ()) -> dict[int, int]:
    """Give each number that has a width the first slot that is free; `kept` are read after the last step.

    Each share has slots of its own. Threads run the steps after the shares at their own pace: a slot that one of these
    has written or read is free for numbers of the same width only: their rows begin at the same addresses.
    """
    last = {number: at for at, step in enumerate(steps) for number in (*step.writes, *step.reads)}
    last.update(dict.fromkeys(kept, len(steps)))
    slots: dict[int, int] = {}
    free = defaultdict[int, list[int]](list)  # by share in which they were freed
    free_rows = defaultdict[int, list[int]](list)  # those freed after the shares, by width
    fresh = count()
    for at, step in enumerate(steps):
        for number in step.writes:
            if number in slots or number not in widths:
                continue
            places = (free[step.share],) if step.share is not None else (free_rows[widths[number]], *free.values())
            found = next((one for one in places if one), None)
            slots[number] = next(fresh) if found is None else heapq.heappop(found)
        for number in dict.fromkeys((*step.reads, *step.writes)):
            if number in slots and last[number] == at:
                place = free_rows[widths[number]] if step.share is None else free[step.share]
                heapq.heappush(place, slots[number])
    return slots


def slots_by_width(
    steps: Sequence[SlotStep], widths: Mapping[int, int], kept: Collection[int] = ()
) -> dict[int, dict[int, int]]:
    """Slots for the numbers of each width, counted from 0."""
    numbers: dict[int, dict[int, int]] = {}
    for number, width in widths.items():
        numbers.setdefault(width, {})[number] = width
    return {width: assign_slots(steps, some, kept) for width, some in numbers.items()}


def with_slots(
    plan: Plan, report_skipped: ReportSkipped = ignore_reason, shares: Sequence[Collection[int]] = ()
) -> Plan:
    """Give each computed call the first slot that is free; a slot is free after its value was last read.

    Calls of `shares`, which come first, are computed side by side.
    """
    share_of = {number: at for at, share in enumerate(shares or [plan.calls]) for number in share}
    steps = [SlotStep((number,), call.inputs, share_of.get(number)) for number, call in plan.computed()]
    widths = {number: call.width for number, call in plan.computed()}
    return replace(plan, slots=assign_slots(steps, widths, plan.outputs))


def _slots_needed(plan: Plan) -> Mapping[int, int]:
    """Return the slots that each call needs if nothing is shared (the numbers of Sethi and Ullman 1970)."""
    needs: dict[int, int] = {}
    for number, call in plan.calls.items():
        if call.kind is Kind.TABLE:
            needs[number] = 0
            continue
        inputs = sorted((needs[one] for one in dict.fromkeys(call.inputs)), reverse=True)
        needs[number] = max([1 + len([n for n in inputs if n]), *(n + i for i, n in enumerate(inputs) if n)])
    return needs
