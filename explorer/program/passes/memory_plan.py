"""A place for each buffer."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit, Limit
from explorer.program.ir.program import Program
from explorer.program.memory.planning import MAX_LIVE_PAIRS, MemoryPlan, plan_memory
from explorer.program.passes.base import program_pass


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
