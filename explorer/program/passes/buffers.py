"""Passes that need fewer buffers and instructions: `MakeWeightsConst`, `DSE`, `ShareBuffers`, `Peephole`."""

from collections.abc import Iterator
from dataclasses import replace

from explorer.program.editing import Edit, Kept
from explorer.program.ir.instructions import Call, Copy, Dealloc, Role, View
from explorer.program.ir.program import Program
from explorer.program.ir.spans import are_same_elements, fills
from explorer.program.ir.types import BufferType
from explorer.program.memory.sharing import Lives, why_copied, why_not_in_place, why_not_overwritten
from explorer.program.passes import program_pass


@program_pass("MakeWeightsConst")
def make_weights_const(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A weight that no instruction writes becomes a constant, which several runs may share."""
    written = {program.origin(value) for one in program.instructions for value in one.values_written}
    for weight in program.with_role(Role.WEIGHT):
        if weight.id not in written:
            yield Edit((weight.id,), weights=(replace(weight, role=Role.CONSTANT),))


@program_pass("DSE")
def eliminate_dead_stores(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A call or copy is removed if nothing reads what it writes before that is overwritten or freed.

    It goes backwards and keeps the memory that is read later. A write of a whole buffer ends the need for what was in
    it before; a write of a part does not. Weights other than inputs are read after the program. Random operators stay:
    those after them would draw other numbers.
    """
    locations = program.locations
    wanted = {weight.id for weight in program.weights if weight.is_returned or weight.role is Role.WEIGHT}
    for one in reversed(program.instructions):
        if isinstance(one, Call | Copy):
            is_random = isinstance(one, Call) and one.op.is_random
            if not is_random and not any(locations[value][0] in wanted for value in one.values_written):
                yield Edit((one.id,), removed=(one.id,))
                continue
            for value in one.values_written:
                if fills(program, value):
                    wanted.discard(locations[value][0])
        for value in one.values_read:
            wanted.add(locations[value][0])


@program_pass("ShareBuffers")
def share_buffers(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """A result is written over an input of equal type that nothing reads later; a copy of a buffer is not made.

    The former is possible for elementwise operators, which read each element before they write it, and for operators
    that compute their results elsewhere and copy them.
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
    """Compute the source of a copy in the memory of its destination, if that is unused until then."""
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
    """Free `dest` after both; return the deallocation to remove, and the changed one, if any."""
    mine, theirs = lives.dealloc.pop(source), lives.dealloc.get(dest)
    positions = lives.program.positions
    if theirs is None or positions[theirs] > positions[mine]:
        return mine, ()
    lives.dealloc[dest] = mine
    return theirs, (Dealloc(mine, dest),)


def _become_view(lives: Lives, buffer: int, of: int, kind: BufferType) -> View:
    """Make a buffer a view of `of`."""
    lives.types[buffer] = kind
    lives.merge(buffer, of)
    return View(buffer, of, kind, 0, "shared")


@program_pass("Peephole")
def peephole(program: Program, fresh: Iterator[int]) -> Iterator[Edit]:
    """A view of the type of its source is replaced by its source; a copy of elements onto themselves is removed.

    Strides of axes of size 1 have to agree as well: operators may choose a kernel by them.
    """
    for one in program.instructions:
        if isinstance(one, Copy) and are_same_elements(program, one.source, one.dest):
            yield Edit((one.id,), removed=(one.id,))
        elif isinstance(one, View) and not one.offset_bytes and program.definitions[one.source].type == one.type:
            yield Edit((one.id,), removed=(one.id,), renamed={one.id: one.source})
