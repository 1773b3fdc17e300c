"""The order of evaluation, depth first, and the slots that values are kept in until they are last read.

Depth first, values are read while they are in the cache, and few are kept at a time: for a tree about its depth.
"""

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from explorer.runtime.kernel_types import Kind
from explorer.runtime.units.ir import Unit, Units
from explorer.runtime.units.observing import Leave, nobody


def without_unused(units: Units, leave: Leave = nobody) -> Units:
    """Remove the units that no output depends on."""
    needed = set(units.outputs)
    for number in reversed(list(units.units)):
        if number in needed:
            needed.update(units.units[number].inputs)
    return replace(units, units={number: unit for number, unit in units.units.items() if number in needed})


def depth_first(units: Units, leave: Leave = nobody) -> Units:
    """Evaluate each unit right before the first one that reads it; of several inputs first what needs most slots."""
    needs = _slots_needed(units)
    order: dict[int, Unit] = {}
    waiting = [(output, False) for output in reversed(units.outputs)]
    while waiting:
        number, ready = waiting.pop()
        if number in order:
            continue
        unit = units.units[number]
        if ready:
            order[number] = unit
            continue
        waiting.append((number, True))
        inputs = sorted(dict.fromkeys(unit.inputs), key=lambda one: -needs[one])
        waiting.extend((one, False) for one in reversed(inputs) if one not in order)
    return replace(units, units=order)


def with_slots(units: Units, leave: Leave = nobody, shares: Sequence[Collection[int]] = ()) -> Units:
    """Give each computed unit the first slot that is free; a slot is free after its value was last read.

    Units of `shares`, which come first, are computed side by side, so each share has slots of its own. The units after
    them begin when all shares are done, and each thread computes some rows of these at its own pace: a slot that one of
    them has written or read is free for values of the same width only, whose rows begin at the same addresses.
    """
    last: dict[int, int] = {}
    for number, unit in units.computed():
        last[number] = number
        last.update(dict.fromkeys(unit.inputs, number))
    for output in units.outputs:
        last[output] = -1
    share_of = {number: at for at, share in enumerate(shares or [units.units]) for number in share}
    slots: dict[int, int] = {}
    free = defaultdict[int, list[int]](list)  # by share in which they were freed
    free_rows = defaultdict[int, list[int]](list)  # those freed after the shares, by width
    fresh = count()
    for number, unit in units.computed():
        share = share_of.get(number)
        places = (free[share],) if share is not None else (free_rows[unit.width], *free.values())
        found = next((one for one in places if one), None)
        slots[number] = next(fresh) if found is None else heapq.heappop(found)
        for read in dict.fromkeys((*unit.inputs, number)):
            if last[read] == number and units.units[read].kind is not Kind.TABLE:
                heapq.heappush(free_rows[units.units[read].width] if share is None else free[share], slots[read])
    return replace(units, slots=slots)


def _slots_needed(units: Units) -> Mapping[int, int]:
    """How many slots the evaluation of a unit needs if nothing is shared (the numbers of Sethi and Ullman 1970)."""
    needs: dict[int, int] = {}
    for number, unit in units.units.items():
        if unit.kind is Kind.TABLE:
            needs[number] = 0
            continue
        inputs = sorted((needs[one] for one in dict.fromkeys(unit.inputs)), reverse=True)
        needs[number] = max([1 + len([n for n in inputs if n]), *(n + i for i, n in enumerate(inputs) if n)])
    return needs
