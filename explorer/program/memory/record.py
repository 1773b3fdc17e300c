"""The memory of a program as a trace holds it."""

from functools import partial

from explorer.program.ir.instructions import Begin, runs
from explorer.program.ir.program import Program, instruction_text
from explorer.program.memory.call_reasons import call_reasons
from explorer.program.memory.liveness import lifetimes, peak_bytes
from explorer.trace import BufferRecord, MemoryRecord, PairReason


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
            tuple(_access(program, one.buffer, position) for position in program.uses[one.buffer]),
        )
        for one in lifetimes(program)
    )
    bound = peak_bytes(program)
    ends = [buffer.offset + buffer.size_bytes for buffer in buffers if buffer.offset is not None]
    listing = tuple((one.id, instruction_text(one, program.offsets.get(one.id))) for one in program.instructions)
    parts = tuple(
        (program.moments[position], one.part.value)
        for position, one in enumerate(program.instructions)
        if isinstance(one, Begin)
    )
    reasons = partial(_reasons_of_buffers, program)
    return MemoryRecord(order, buffers, max(ends, default=bound), bound, listing, parts, reasons)


def _reasons_of_buffers(program: Program) -> tuple[PairReason, ...]:
    """What calls and copies say of pairs of buffers, without weights."""
    allocs = program.allocs
    return tuple(reason for reason in call_reasons(program) if reason.one in allocs and reason.other in allocs)


def _access(program: Program, buffer: int, position: int) -> str:
    """What an instruction does with the memory of a buffer: `r`, `w`, or `rw`."""
    one = program.instructions[position]
    is_read = any(program.origin(value) == buffer for value in one.values_read)
    is_written = any(program.origin(value) == buffer for value in one.values_written)
    return "r" * is_read + "w" * is_written
