"""The memory of a program as a trace holds it."""

from explorer.program.ir.instructions import runs
from explorer.program.ir.program import Program
from explorer.program.memory.liveness import lifetimes, peak_bytes
from explorer.trace import BufferRecord, MemoryRecord


def memory_record(program: Program) -> MemoryRecord:
    """The buffers: when each is alive, who uses it, and where it is."""
    order = tuple(one.id for one in program.instructions if runs(one))
    buffers = tuple(
        BufferRecord(
            one.buffer,
            str(program.allocs[one.buffer].type),
            one.start,
            min(one.end, max(len(order), 1)),
            one.size_bytes,
            program.offsets.get(one.buffer),
            tuple(program.instructions[position].id for position in program.uses[one.buffer]),
        )
        for one in lifetimes(program)
    )
    bound = peak_bytes(program)
    ends = [buffer.offset + buffer.size_bytes for buffer in buffers if buffer.offset is not None]
    return MemoryRecord(order, buffers, max(ends, default=bound), bound)
