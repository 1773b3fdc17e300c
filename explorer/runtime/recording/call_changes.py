"""The changes by a pass: kernel calls and their replacements, derived from the calls before and after it."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

from explorer.runtime.plan import KernelCall, Plan


@dataclass(frozen=True, slots=True)
class Replacement:
    """Kernel calls that were replaced, the root first, by others; the last of these has the value of the root."""

    removed: tuple[int, ...]
    added: tuple[int, ...]
    about: tuple[int, ...] = ()
    """The calls concerned if nothing was removed: a change of order, or of slots."""

    @property
    def matched(self) -> tuple[int, ...]:
        """The calls that a pass has found, the root first."""
        return self.removed or self.about


def shown(plan: Plan) -> Mapping[int, tuple[int, ...]]:
    """The calls of the graph of a step, each with those that it reads: what is computed, and the tables that are read.

    A table that other tables were made of is a part of these.
    """
    tables: dict[int, tuple[int, ...]] = dict.fromkeys(plan.read_tables, ())
    return tables | {number: call.inputs for number, call in plan.computed()}


def fresh_numbers(before: Plan, after: Plan, fresh: Callable[[], int]) -> Mapping[int, int]:
    """For each call after a pass its number, or, if it computes something else than before, one that nothing had.

    A pass replaces a call under its number; in a trace, a number means one call.
    """
    return {
        number: number if _computes_the_same(before.calls.get(number), call) else fresh()
        for number, call in after.calls.items()
    }


def renumbered(plan: Plan, names: Mapping[int, int]) -> Plan:
    """The same calls under other numbers."""
    return Plan(
        {names[number]: _renamed(call, names) for number, call in plan.calls.items()},
        tuple(names[one] for one in plan.outputs),
        {names[number]: slot for number, slot in plan.slots.items()},
    )


def replacements(before: Plan, after: Plan, names: Mapping[int, int]) -> Iterator[Replacement]:
    """Return the replacements; `names` has the number after the pass of calls that existed before it."""
    old, new = shown(before), shown(after)
    old_number = {name: number for number, name in names.items() if number in old}
    rooted = {old_number[name] for name in new if name in old_number}
    absorbed = {number for number in old if number not in new and number not in rooted}
    parts = {name for name in new if name not in old_number}
    left = dict.fromkeys(absorbed)
    for name in new:
        if name in old or name in parts:
            continue
        root = old_number[name]
        added = (*_reached(new, name, parts), name)
        parts.difference_update(added)
        taken = _reached(old, root, absorbed)
        for one in taken:
            left.pop(one, None)
        yield Replacement((root, *taken), added)
    for number in left:
        yield Replacement((number,), ())


def _reached(reads: Mapping[int, tuple[int, ...]], number: int, among: Set[int]) -> list[int]:
    """The calls among some that a call reads, directly or through others of them, each after those that it reads."""
    found: dict[int, None] = {}
    waiting = [(one, False) for one in reversed(reads[number])]
    while waiting:
        one, is_ready = waiting.pop()
        if one not in among or one in found:
            continue
        if is_ready:
            found[one] = None
        else:
            waiting.append((one, True))
            waiting.extend((below, False) for below in reversed(reads[one]))
    return list(found)


def _computes_the_same(one: KernelCall | None, other: KernelCall) -> bool:
    """Whether two calls differ in what they read at most, not in how much."""
    if one is None or one is other:
        return one is other
    return len(one.inputs) == len(other.inputs) and replace(one, inputs=()) == replace(other, inputs=())


def _renamed(call: KernelCall, names: Mapping[int, int]) -> KernelCall:
    inputs = tuple(names[one] for one in call.inputs)
    return call if inputs == call.inputs else replace(call, inputs=inputs)
