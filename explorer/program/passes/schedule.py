"""Passes on the order and the memory of instructions.

`DeleteDeadAllocs`, `HoistDealloc` and `SinkAllocas` shorten the lives of buffers, `PlanMemory` places them, and
`StackDataParallel` makes elementwise calls one kernel.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from explorer.program.editing import Edit, Insertion, Kept, Limit
from explorer.program.ir.instructions import Alloc, Call, Dealloc, Stack, View, runs
from explorer.program.ir.program import Program
from explorer.program.ir.spans import Bundle, why_not_elementwise
from explorer.program.memory.planning import MAX_LIVE_PAIRS, MemoryPlan, plan_memory
from explorer.program.passes import program_pass


@program_pass("HoistDealloc")
def hoist_deallocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A buffer is freed right after its last use, so that others may have its memory."""
    for buffer, dealloc in program.deallocs.items():
        uses = program.touches[buffer]
        if uses and program.moments[program.positions[dealloc.id]] > program.moments[uses[-1] + 1]:
            before = program.instructions[uses[-1] + 1].id
            yield Edit(_first_user(program, reversed(uses)), placed=(Insertion(dealloc, before),))


@program_pass("SinkAllocas")
def sink_allocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A buffer is allocated right before its first use, so that others may have its memory until then."""
    for buffer, alloc in program.allocs.items():
        uses = program.touches[buffer]
        if uses and program.moments[program.positions[buffer]] < program.moments[uses[0]]:
            before = program.instructions[uses[0]].id
            yield Edit(_first_user(program, uses), placed=(Insertion(alloc, before),))


@program_pass("DeleteDeadAllocs")
def delete_dead_allocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """Buffers and views that no call or copy uses are removed."""
    needed = {value for one in program.instructions for value in (*one.values_read, *one.values_written)}
    for one in reversed(program.instructions):
        if isinstance(one, View) and one.id in needed:
            needed.add(one.source)
    origins = {program.origin(value) for value in needed}
    for one in program.instructions:
        if isinstance(one, View) and one.id not in needed:
            yield Edit((one.id,), removed=(one.id,))
        elif isinstance(one, Alloc) and one.id not in origins:
            dealloc = program.deallocs.get(one.id)
            yield Edit((), removed=(one.id, *((dealloc.id,) if dealloc is not None else ())))


def _first_user(program: Program, positions: Iterable[int]) -> tuple[int, ...]:
    """Return the number of the first call or copy at some positions; empty if there are only views."""
    ones = (program.instructions[position] for position in positions)
    return tuple(one.id for one in islice(filter(runs, ones), 1))


@program_pass("PlanMemory")
def plan(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Limit]:
    """Each buffer gets a place in one block of memory; buffers that are never alive together may share bytes."""
    if program.allocs and not program.offsets:
        found = plan_memory(program)
        yield Edit((), offsets=found.offsets)
        if not found.is_searched:
            yield Limit("pairs", MAX_LIVE_PAIRS, _limit_message(found))


def _limit_message(found: MemoryPlan) -> str:
    return (
        f"Placed {len(found.offsets):,} buffers in the order of their allocations and tried no other order: more than "
        f"{MAX_LIVE_PAIRS:,} pairs of them are alive together. The plan needs {found.size_bytes:,} bytes, "
        f"{found.size_bytes / found.lower_bound_bytes:.2f} times the lower bound."
    )


@program_pass("StackDataParallel")
def stack_data_parallel(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """Consecutive elementwise calls on equally many elements become one stack, which may be one loop over elements.

    Allocations and views between them move before the stack, deallocations behind it; the memory plan stays.
    """
    bundle, freed = Bundle(program), list[Dealloc]()
    for one in program.instructions:
        reason: str | None = None
        match one:
            case View():
                continue
            case Dealloc():
                freed.append(one)
                continue
            case Alloc() if not _takes_freed_memory(program, one, freed):
                continue
            case Call() if why_not_elementwise(one) is None:
                reason = bundle.why_not(one)
                if reason is None:
                    freed = freed if bundle.calls else []
                    bundle.add(one)
                    continue
                yield Kept(one.id, reason)
            case _:
                pass
        yield from _stacked(program, bundle, freed, fresh)
        bundle, freed = Bundle(program), []
        if reason is not None and isinstance(one, Call):
            bundle.add(one)
    yield from _stacked(program, bundle, freed, fresh)


def _takes_freed_memory(program: Program, one: Alloc, freed: Sequence[Dealloc]) -> bool:
    """Return whether a buffer shares planned memory with a freed one, which a stack would still use."""
    if not program.offsets:
        return False
    start = program.offsets[one.id]
    end = start + one.type.size_bytes
    for dealloc in freed:
        other = program.allocs[dealloc.buffer]
        first = program.offsets[other.id]
        if one.type.device == other.type.device and start < first + other.type.size_bytes and first < end:
            return True
    return False


def _stacked(program: Program, bundle: Bundle, freed: Sequence[Dealloc], fresh: Iterator[int]) -> Iterator[Edit]:
    """Yield the edit that replaces a bundle by a stack, at its last call; nothing for a single call."""
    if len(bundle.calls) < 2:
        return
    numbers = tuple(one.id for one in bundle.calls)
    last = numbers[-1]
    stack = Insertion(Stack(next(fresh), tuple(bundle.calls)), last)
    later = (Insertion(one, last) for one in freed if program.positions[one.id] < program.positions[last])
    yield Edit(numbers, removed=numbers, placed=(stack, *later), offsets=program.offsets or None)
