"""Whether two values may share memory: a result with an input, the source of a copy with its destination."""

from dataclasses import dataclass

from explorer.program.ir.instructions import Call, Copy, Role, Way, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.results import may_overwrite
from explorer.program.ir.types import BufferType


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
