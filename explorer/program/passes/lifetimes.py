"""Shorter lives of buffers: freed right after the last use, allocated right before the first one, or not at all."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit, Placed
from explorer.program.ir.instructions import Alloc, View, reads, writes
from explorer.program.ir.program import Program
from explorer.program.passes.base import program_pass


@program_pass("HoistDealloc")
def hoist_deallocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A buffer is freed right after its last use, so that others may have its memory."""
    for buffer, dealloc in program.deallocs.items():
        uses = program.touches[buffer]
        if uses and program.moments[program.positions[dealloc.id]] > program.moments[uses[-1] + 1]:
            before = program.instructions[uses[-1] + 1].id
            yield Edit(_users(program, buffer)[-1:], placed=(Placed(dealloc, before),))


@program_pass("SinkAllocas")
def sink_allocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A buffer is allocated right before its first use, so that others may have its memory until then."""
    for buffer, alloc in program.allocs.items():
        uses = program.touches[buffer]
        if uses and program.moments[program.positions[buffer]] < program.moments[uses[0]]:
            before = program.instructions[uses[0]].id
            yield Edit(_users(program, buffer)[:1], placed=(Placed(alloc, before),))


@program_pass("DeleteDeadAllocs")
def delete_dead_allocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """Buffers and views that no call or copy uses are removed."""
    needed = {value for one in program.instructions for value in (*reads(one), *writes(one))}
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


def _users(program: Program, buffer: int) -> tuple[int, ...]:
    """The numbers of the calls and copies that use a buffer."""
    return tuple(program.instructions[position].id for position in program.uses[buffer])
