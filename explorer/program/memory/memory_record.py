"""The memory of a program in a trace, and the reasons why two values do not share memory."""

from collections.abc import Iterator
from functools import partial

from explorer.errors import UnknownNameError
from explorer.program.ir.instructions import Begin, Call, Copy, Weight, runs
from explorer.program.ir.program import Program, instruction_text
from explorer.program.memory.planning import lifetimes, peak_bytes
from explorer.program.memory.sharing import Lives, why_copied, why_not_in_place, why_not_overwritten
from explorer.trace import BufferRecord, MemoryRecord, PairReason, SharingAnswer


def call_reasons(program: Program) -> Iterator[PairReason]:
    """Yield the reasons of each instruction, in order, for a buffer or weight that it writes and one that it reads."""
    lives = Lives(program)
    for position, one in enumerate(program.instructions):
        if isinstance(one, Copy):
            reason = why_copied(lives, one, position)
            words = f"#{one.id} copies one to the other" + (f": {reason}" if reason else ", which ShareBuffers avoids")
            yield PairReason(program.origin(one.source), program.origin(one.dest), words)
        elif isinstance(one, Call):
            yield from _reasons_of_call(lives, one, position)


def _reasons_of_call(lives: Lives, one: Call, position: int) -> Iterator[PairReason]:
    """Yield the reasons why a call does not write a new value over one that it reads."""
    for out in one.outputs:
        if out is None or lives.program.origin(out) != out or lives.first[out] != position:
            continue
        for value in dict.fromkeys(one.values_read):
            root = lives.root(value)
            if root != out:
                reason = why_not_in_place(one) or why_not_overwritten(lives, one, value, out, position)
                verdict = (
                    f"cannot write %{out} over %{value}: {reason}" if reason else f"can write %{out} over %{value}"
                )
                yield PairReason(out, root, f"#{one.id} {verdict}" + ("" if reason else ", which ShareBuffers does"))


def memory_record(program: Program) -> MemoryRecord:
    """Record the lifetime, users and offset of each buffer."""
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
    """Return the reasons of calls and copies for pairs of buffers, without weights."""
    allocs = program.allocs
    return tuple(reason for reason in call_reasons(program) if reason.one in allocs and reason.other in allocs)


def _access(program: Program, buffer: int, position: int) -> str:
    """Return the access of an instruction to the memory of a buffer: `r`, `w`, or `rw`."""
    one = program.instructions[position]
    is_read = any(program.origin(value) == buffer for value in one.values_read)
    is_written = any(program.origin(value) == buffer for value in one.values_written)
    return "r" * is_read + "w" * is_written


def why_not_shared(program: Program, one: int, other: int) -> SharingAnswer:
    """Return whether two values share memory, and if not, why: weights, lifetimes, reasons of `ShareBuffers`.

    Values are weights, buffers and views, by number. Raises: UnknownNameError.
    """
    for value in (one, other):
        if value not in program.definitions:
            raise UnknownNameError(f"the program has no value %{value}")
    first, second = program.origin(one), program.origin(other)
    views = "".join(f"%{v} is a view of %{program.origin(v)}; " for v in (one, other) if v != program.origin(v))
    if first == second:
        return SharingAnswer(True, views.removesuffix("; ") or f"%{one} is one value")
    if first in program.allocs and second in program.allocs:
        answer = memory_record(program).compare(first, second)
        return SharingAnswer(answer.shared, views + answer.why)
    reasons = [reason.why for reason in call_reasons(program) if reason.is_of(first, second)]
    return SharingAnswer(False, views + "; ".join([*_weight_reasons(program, first, second), *reasons]))


def _weight_reasons(program: Program, *origins: int) -> Iterator[str]:
    for origin in origins:
        weight = program.definitions[origin]
        if not isinstance(weight, Weight):
            continue
        if weight.is_returned:
            yield f"%{origin} is the {weight.role.value} {weight.name}: only what is copied into it can be made there"
        else:
            yield f"%{origin} is the {weight.role.value} {weight.name}, which is only read"
