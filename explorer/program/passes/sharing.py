"""Buffers that need no memory of their own: results written over inputs, and copies that are not made."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from explorer.program.editing.edits import Edit, Kept, Placed
from explorer.program.ir.instructions import Alloc, Call, Copy, Dealloc, View, Way, Weight, reads
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.program.passes.base import program_pass


@program_pass("ShareBuffers")
def share_buffers(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """A result is written over an input of equal type that nothing reads later; a copy of a buffer is not made.

    The first is possible for elementwise operators, which read each element before they write it, and for those whose
    results are computed elsewhere and then copied.
    """
    lives = _Lives(program)
    for position, one in enumerate(program.instructions):
        if isinstance(one, Copy):
            yield from _without_copy(lives, one, position)
        elif isinstance(one, Call) and one.way is not Way.ITSELF and len(one.outputs) == 1:
            yield from _over_an_input(lives, one, position)


@dataclass
class _Lives:
    """First and last uses of buffers while some become views of others."""

    program: Program

    def __post_init__(self) -> None:
        self._root: dict[int, int] = {}
        touches = self.program.touches
        self.first = {origin: found[0] if found else len(self.program) for origin, found in touches.items()}
        self.last = {origin: found[-1] if found else -1 for origin, found in touches.items()}
        self.last_write = {**dict.fromkeys(touches, -1), **self.program.last_writes}
        self.types = {value: found.type for value, found in self.program.definitions.items()}
        self.dealloc = {buffer: dealloc.id for buffer, dealloc in self.program.deallocs.items()}

    def root(self, value: int) -> int:
        """The weight or allocation whose memory a value is in by now."""
        found = self.program.origin(value)
        while found in self._root:
            found = self._root[found]
        return found

    def is_buffer(self, value: int) -> bool:
        """Whether a value is a whole buffer, and not a weight."""
        return value in self.program.allocs and isinstance(self.program.definitions[self.root(value)], Alloc)

    def is_same_memory(self, value: int) -> bool:
        """Whether a value begins where its buffer begins and has its type."""
        root = self.program.definitions[self.root(value)]
        return self.program.offset_in_origin(value) == 0 and self.program.definitions[value].type.is_same(root.type)

    def become_view(self, buffer: int, of: int, kind: BufferType) -> Edit:
        """Make a buffer a view of the memory of another one, which then lives as long as both did."""
        mine, other = self.root(buffer), self.root(of)
        self.types[mine] = kind
        self._root[mine] = other
        for known, better in ((self.first, min), (self.last, max), (self.last_write, max)):
            known[other] = better(known[other], known[mine])
        return Edit((), changed=(View(mine, other, kind, 0, "shared"),))


def _over_an_input(lives: _Lives, one: Call, position: int) -> Iterator[Edit | Kept]:
    out = one.outputs[0]
    if out is None or not lives.is_buffer(out) or lives.root(out) != out or lives.first[out] != position:
        return
    if one.way is Way.OUT and torch.Tag.pointwise not in one.op.target.tags:
        return
    reasons: list[str] = []
    for value in dict.fromkeys(reads(one)):
        reason = _cannot_be_overwritten(lives, one, value, out, position)
        if reason is None:
            yield _overwrite(lives, one, value, out)
            return
        reasons.append(reason)
    if reasons:
        yield Kept(one.id, "; ".join(reasons))


def _cannot_be_overwritten(lives: _Lives, one: Call, value: int, out: int, position: int) -> str | None:
    """Why a result cannot be written over an input; None if it can."""
    program, root = lives.program, lives.root(value)
    owner = program.definitions[root]
    if isinstance(owner, Weight):
        return f"%{value} is the {owner.role.value} {owner.name}"
    wanted, found = lives.types[out], lives.types[value]
    if not found.is_same(wanted):
        return f"%{value} is {found}, and the result is {wanted}"
    if not lives.is_same_memory(value):
        return f"%{value} is a part of %{root}"
    if lives.last[root] > position:
        later = program.instructions[lives.last[root]]
        return f"%{value} is used later, by #{later.id}"
    if any(other != value and lives.root(other) == root for other in reads(one)):
        return f"another input is in the memory of %{value}"
    return None


def _overwrite(lives: _Lives, one: Call, value: int, out: int) -> Edit:
    root = lives.root(value)
    old, new = lives.dealloc.pop(root), lives.dealloc.pop(out)
    lives.dealloc[root] = new
    edit = lives.become_view(out, root, lives.types[value])  # PyTorch wants equal strides of axes of size 1 too
    return Edit((one.id,), removed=(old,), changed=(*edit.changed, Dealloc(new, root)))


def _without_copy(lives: _Lives, one: Copy, position: int) -> Iterator[Edit | Kept]:
    """The source of a copy is made in the memory of its destination, if nothing else is in that until then."""
    program, source, dest = lives.program, lives.root(one.source), lives.root(one.dest)
    first, second = lives.types[one.source], lives.types[one.dest]
    if source == dest:
        return
    owner, target = program.definitions[source], program.definitions[dest]
    reason = ""
    if isinstance(owner, Weight):
        reason = f"%{one.source} is the {owner.role.value} {owner.name}"
    elif not first.is_same(second):
        reason = f"%{one.source} is {first}, and %{one.dest} is {second}"
    elif not (_is_whole(lives, one.source) and _is_whole(lives, one.dest)):
        reason = f"%{one.source} or %{one.dest} is a part of a buffer"
    elif lives.first[dest] != position:
        reason = f"%{one.dest} is in use before"
    elif lives.last_write[source] > position or lives.last_write[dest] > position:
        reason = f"%{one.source} or %{one.dest} is written later"
    if reason:
        yield Kept(one.id, reason)
        return
    removed = (one.id, lives.dealloc.pop(source))
    edit = lives.become_view(source, dest, lives.types[source])
    placed: tuple[Placed, ...] = ()
    if isinstance(target, Alloc):
        placed = (Placed(target, source),)
    yield Edit((one.id,), removed=removed, changed=edit.changed, placed=placed)


def _is_whole(lives: _Lives, value: int) -> bool:
    """Whether a value begins where its memory begins, and both have all elements of one another."""
    owner, kind = lives.program.definitions[lives.root(value)].type, lives.types[value]
    same = owner.size_bytes == kind.size_bytes and owner.is_dense and kind.is_dense
    return same and not lives.program.offset_in_origin(value)
