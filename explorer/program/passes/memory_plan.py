"""A place for each buffer."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit
from explorer.program.ir.program import Program
from explorer.program.memory.planning import plan_memory
from explorer.program.passes.base import program_pass


@program_pass("PlanMemory")
def plan(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """Each buffer gets a place in one block of memory; buffers that are never alive together may share bytes."""
    if program.allocs and not program.offsets:
        yield Edit((), offsets=plan_memory(program).offsets)
