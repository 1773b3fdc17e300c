"""Shorter lives of buffers: freed right after the last use, allocated right before the first one, or not at all."""

from collections.abc import Iterable, Iterator
from itertools import islice

from explorer.program.editing.edits import Edit, Placed
from explorer.program.ir.instructions import Alloc, View, runs
from explorer.program.ir.program import Program
from explorer.program.passes.base import program_pass


@program_pass("HoistDealloc")
def hoist_deallocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A buffer is freed right after its last use, so that others may have its memory."""
    for buffer, dealloc in program.deallocs.items():
        uses = program.touches[buffer]
        if uses and program.moments[program.positions[dealloc.id]] > program.moments[uses[-1] + 1]:
            before = program.instructions[uses[-1] + 1].id
            yield Edit(_first_user(program, reversed(uses)), placed=(Placed(dealloc, before),))


@program_pass("SinkAllocas")
def sink_allocs(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A buffer is allocated right before its first use, so that others may have its memory until then."""
    for buffer, alloc in program.allocs.items():
        uses = program.touches[buffer]
        if uses and program.moments[program.positions[buffer]] < program.moments[uses[0]]:
            before = program.instructions[uses[0]].id
            yield Edit(_first_user(program, uses), placed=(Placed(alloc, before),))


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
    """The number of the first call or copy at some positions; none if there are only views."""
    ones = (program.instructions[position] for position in positions)
    return tuple(one.id for one in islice(filter(runs, ones), 1))
