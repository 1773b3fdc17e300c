"""Whether two values may share memory: a result with an input, the source of a copy with its destination.

The memory of a program in a trace has the reasons why two values do not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from explorer.errors import UnknownNameError
from explorer.program.ir.instructions import Begin, Call, Copy, Role, Way, Weight, runs
from explorer.program.ir.program import Program, instruction_text
from explorer.program.ir.results import may_overwrite
from explorer.program.ir.types import BufferType
from explorer.program.memory.planning import lifetimes, peak_bytes
from explorer.trace import BufferRecord, MemoryRecord, PairReason, SharingAnswer


@dataclass
class Lives:
    """The lifetimes in a program while a rule makes buffers views of others.

    `first`, `last` and `last_write` map weights and allocations to positions in the program; `types` has the type of
    each value, and `dealloc` the number of the instruction that frees a buffer.
    """

    program: Program

    def __post_init__(self) -> None:
        self._root: dict[int, int] = {}
        touches = self.program.touches
        self.first = {origin: found[0] if found else len(self.program) for origin, found in touches.items()}
        self.last = {origin: found[-1] if found else -1 for origin, found in touches.items()}
        self.last_write = {**dict.fromkeys(touches, -1), **self.program.last_writes}
        self.types: dict[int, BufferType] = {value: found.type for value, found in self.program.definitions.items()}
        self.dealloc = {buffer: dealloc.id for buffer, dealloc in self.program.deallocs.items()}

    def root(self, value: int) -> int:
        """Return the weight or allocation that holds a value by now."""
        found = self.program.origin(value)
        while found in self._root:
            found = self._root[found]
        return found

    def is_buffer(self, value: int) -> bool:
        """Return whether a value is an allocation that has not become a view."""
        return value in self.program.allocs and self.root(value) == value

    def is_same_memory(self, value: int) -> bool:
        """Return whether a value begins where its buffer begins and has its type."""
        root = self.program.definitions[self.root(value)]
        return self.program.offset_in_origin(value) == 0 and self.program.definitions[value].type.is_same(root.type)

    def is_whole(self, value: int) -> bool:
        """Return whether a value begins where its buffer begins, and both have the same dense bytes."""
        owner, kind = self.program.definitions[self.root(value)].type, self.types[value]
        same = owner.size_bytes == kind.size_bytes and owner.is_dense and kind.is_dense
        return same and not self.program.offset_in_origin(value)

    def merge(self, buffer: int, into: int) -> None:
        """Note that a buffer shares the memory of another value, which is then in use as long as both were."""
        other = self.root(into)
        self._root[buffer] = other
        self.first[other] = min(self.first[other], self.first[buffer])
        self.last[other] = max(self.last[other], self.last[buffer])
        self.last_write[other] = max(self.last_write[other], self.last_write[buffer])


def why_not_in_place(one: Call) -> str | None:
    """Return why the result of a call cannot be written over any of its inputs; None if it can."""
    if one.way is Way.ITSELF:
        return f"{one.op.name} overwrites its input already"
    if len(one.outputs) != 1:
        return f"{one.op.name} has {len(one.outputs)} results"
    if one.way is Way.OUT and not may_overwrite(one.op.target, 0):
        return f"{one.op.name} is not elementwise: it may read elements after it has written others"
    return None


def why_not_overwritten(lives: Lives, one: Call, value: int, out: int, position: int) -> str | None:
    """Return why the result of a call cannot be written over an input; None if it can."""
    program, root = lives.program, lives.root(value)
    owner = program.definitions[root]
    if isinstance(owner, Weight):
        return f"%{value} is the {owner.role.value} {owner.name}"
    wanted, found = lives.types[out], lives.types[value]
    if not found.is_same(wanted):
        return f"%{value} is {found}, and the result is {wanted}"
    if not lives.is_same_memory(value):
        return f"%{value} is a part of %{root}"
    if one.way is Way.OUT and not may_overwrite(one.op.target, one.inputs.index(value)):
        return f"{one.op.name} reads %{value} after it has written other elements"
    if lives.last[root] > position:
        later = program.instructions[lives.last[root]]
        return f"%{value} is used later, by #{later.id}"
    if any(other != value and lives.root(other) == root for other in one.values_read):
        return f"another input is in the memory of %{value}"
    return None


def why_copied(lives: Lives, one: Copy, position: int) -> str | None:
    """Return why the source of a copy cannot be computed in its destination; None if it can."""
    program, source, dest = lives.program, lives.root(one.source), lives.root(one.dest)
    owner = program.definitions[source]
    first, second = lives.types[one.source], lives.types[one.dest]
    if isinstance(owner, Weight):
        return f"%{one.source} is the {owner.role.value} {owner.name}"
    found = _why_not_in_time(lives, source, dest)
    if found is not None:
        return found
    if not first.is_same(second):
        return f"%{one.source} is {first}, and %{one.dest} is {second}"
    if not (lives.is_whole(one.source) and lives.is_whole(one.dest)):
        return f"%{one.source} or %{one.dest} is a part of a buffer"
    if lives.first[dest] != position:
        return f"%{one.dest} is in use before"
    if lives.last_write[source] > position or lives.last_write[dest] > position:
        return f"%{one.source} or %{one.dest} is written later"
    return None


def _why_not_in_time(lives: Lives, source: int, dest: int) -> str | None:
    """Return why a weight is not available as long as a buffer is in use; None if it is."""
    owner, border = lives.program.definitions[dest], lives.program.backward
    if not isinstance(owner, Weight):
        return None
    if owner.is_for_backward and lives.first[source] < border:
        return f"only the backward pass has the {owner.role.value} {owner.name}"
    if owner.role is Role.OUTPUT and lives.last[source] > border:
        return f"the backward pass reads %{source}, and the caller may change the output {owner.name} before"
    return None


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
