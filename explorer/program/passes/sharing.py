"""Buffers that need no memory of their own: results written over inputs, and copies that are not made."""

from collections.abc import Iterator

from explorer.program.editing.edits import Edit, Kept
from explorer.program.ir.instructions import Call, Copy, Dealloc, View
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.program.memory.lives import Lives
from explorer.program.memory.sharing import why_copied, why_not_in_place, why_not_overwritten
from explorer.program.passes.base import program_pass


@program_pass("ShareBuffers")
def share_buffers(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """A result is written over an input of equal type that nothing reads later; a copy of a buffer is not made.

    The first is possible for elementwise operators, which read each element before they write it, and for those whose
    results are computed elsewhere and then copied.
    """
    lives = Lives(program)
    for position, one in enumerate(program.instructions):
        if isinstance(one, Copy):
            yield from _without_copy(lives, one, position)
        elif isinstance(one, Call) and one.outputs:
            yield from _over_an_input(lives, one, position)


def _over_an_input(lives: Lives, one: Call, position: int) -> Iterator[Edit | Kept]:
    out = one.outputs[0]
    if out is None or not lives.is_buffer(out) or lives.first[out] != position:
        return
    unable = why_not_in_place(one)
    if unable is not None:
        yield Kept(one.id, unable)
        return
    reasons: list[str] = []
    for value in dict.fromkeys(one.values_read):
        reason = why_not_overwritten(lives, one, value, out, position)
        if reason is None:
            yield _overwrite(lives, one, value, out)
            return
        reasons.append(reason)
    if reasons:
        yield Kept(one.id, "; ".join(reasons))


def _overwrite(lives: Lives, one: Call, value: int, out: int) -> Edit:
    root = lives.root(value)
    old, new = lives.dealloc.pop(root), lives.dealloc.pop(out)
    lives.dealloc[root] = new
    view = _become_view(lives, out, root, lives.types[value])  # PyTorch wants equal strides of axes of size 1 too
    return Edit((one.id,), removed=(old,), changed=(view, Dealloc(new, root)))


def _without_copy(lives: Lives, one: Copy, position: int) -> Iterator[Edit | Kept]:
    """The source of a copy is made in the memory of its destination, if nothing else is in that until then."""
    source, dest = lives.root(one.source), lives.root(one.dest)
    if source == dest:
        return
    reason = why_copied(lives, one, position)
    if reason is not None:
        yield Kept(one.id, reason)
        return
    freed, changed = _free_later(lives, source, dest)
    view = _become_view(lives, source, dest, lives.types[source])
    yield Edit((one.id,), removed=(one.id, freed), changed=(view, *changed))


def _free_later(lives: Lives, source: int, dest: int) -> tuple[int, tuple[Dealloc, ...]]:
    """Free `dest` where the last of both was: the deallocation to remove, and the one that changes, if any."""
    mine, theirs = lives.dealloc.pop(source), lives.dealloc.get(dest)
    positions = lives.program.positions
    if theirs is None or positions[theirs] > positions[mine]:
        return mine, ()
    lives.dealloc[dest] = mine
    return theirs, (Dealloc(mine, dest),)


def _become_view(lives: Lives, buffer: int, of: int, kind: BufferType) -> View:
    """The view of `of` that a buffer becomes."""
    lives.types[buffer] = kind
    lives.merge(buffer, of)
    return View(buffer, of, kind, 0, "shared")
