"""Elementwise calls that run as one kernel."""

from collections.abc import Iterator, Sequence

from explorer.program.editing.edits import Edit, Kept, Placed
from explorer.program.ir.instructions import Alloc, Call, Dealloc, Stack, View
from explorer.program.ir.program import Program
from explorer.program.ir.spans import Bundle, why_not_elementwise
from explorer.program.passes.base import program_pass


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
    """Whether a buffer is planned where one of these buffers was, which a stack would still use."""
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
    """The edit that makes a bundle a stack, in the place of its last call; none for a single call."""
    if len(bundle.calls) < 2:
        return
    numbers = tuple(one.id for one in bundle.calls)
    last = numbers[-1]
    stack = Placed(Stack(next(fresh), tuple(bundle.calls)), last)
    later = (Placed(one, last) for one in freed if program.positions[one.id] < program.positions[last])
    yield Edit(numbers, removed=numbers, placed=(stack, *later), offsets=program.offsets or None)
