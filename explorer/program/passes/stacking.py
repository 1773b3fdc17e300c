"""Elementwise calls that run as one kernel."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit, Kept, Placed
from explorer.program.ir.instructions import Alloc, Call, Dealloc, Stack, View
from explorer.program.ir.program import Program
from explorer.program.ir.stacks import Bundle, why_not_elementwise
from explorer.program.passes.base import program_pass


@program_pass("StackDataParallel")
def stack_data_parallel(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """Consecutive elementwise calls on equally many elements become one stack, which may be one loop over elements.

    Allocations and views between them move before the stack, deallocations behind it; the memory plan stays.
    """
    start, bundle = 0, Bundle(program)
    for position, one in enumerate(program.instructions):
        if isinstance(one, View | Dealloc):
            continue
        reason: str | None = None
        if isinstance(one, Alloc):
            if not bundle.calls or not _takes_freed_memory(program, one, start, position):
                continue
        elif isinstance(one, Call) and why_not_elementwise(one) is None:
            reason = bundle.why_not(one)
            if reason is None:
                start = start if bundle.calls else position
                bundle.add(one)
                continue
            yield Kept(one.id, reason)
        yield from _stacked(program, bundle, start, fresh)
        bundle = Bundle(program)
        if reason is not None and isinstance(one, Call):
            start = position
            bundle.add(one)
    yield from _stacked(program, bundle, start, fresh)


def _takes_freed_memory(program: Program, one: Alloc, start: int, position: int) -> bool:
    """Whether a buffer has bytes of one that was freed since `start`, which a stack would still use."""
    if not program.offsets:
        return False
    first = program.offsets[one.id]
    for freed in program.instructions[start:position]:
        if not isinstance(freed, Dealloc):
            continue
        other = program.offsets[freed.buffer]
        if first < other + program.allocs[freed.buffer].type.size_bytes and other < first + one.type.size_bytes:
            return True
    return False


def _stacked(program: Program, bundle: Bundle, start: int, fresh: Iterator[int]) -> Iterator[Edit]:
    """The edit that makes a bundle a stack, in the place of its last call; none for a single call."""
    if len(bundle.calls) < 2:
        return
    numbers = tuple(one.id for one in bundle.calls)
    last = numbers[-1]
    between = program.instructions[start : program.positions[last]]
    placed = [Placed(one, last) for one in between if isinstance(one, Dealloc)]
    stack = Placed(Stack(next(fresh), tuple(bundle.calls)), last)
    yield Edit(numbers, removed=numbers, placed=(stack, *placed), offsets=program.offsets or None)
