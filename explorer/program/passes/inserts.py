"""Concatenations whose parts are made in their places, and slices that are read where they are."""

from collections.abc import Iterator

import torch

from explorer.program.editing.edits import Edit, Kept, Placed
from explorer.program.ir.instructions import Alloc, Call, Copy, Dealloc, Instruction, View, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.program.passes.base import program_pass

CAT = torch.ops.aten.cat.default


@program_pass("OptimizeInserts")
def optimize_inserts(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """The parts of a concatenation are written where they belong, so that it need not copy them.

    A part that has memory of its own, and whose place has its strides, becomes a view of the result; the others are
    copied one by one. It pays if at most one part is copied.
    """
    taken: set[int] = set()
    deallocs = dict(program.deallocs)
    for one in program.instructions:
        if not isinstance(one, Call) or one.op.target is not CAT:
            continue
        places = _places(program, one)
        if places is None:
            continue
        reasons: list[str] = []
        mine = set(taken)
        for value, place in places:
            reasons.append(_why_copied(program, value, place, one, mine))
            if not reasons[-1]:
                mine.add(value)
        copied = [reason for reason in reasons if reason]
        if len(copied) > 1 or len(copied) == len(places):
            yield Kept(one.id, "; ".join(copied))
            continue
        taken = mine
        yield _insert(program, one, places, reasons, deallocs, fresh)


Place = tuple[BufferType, int]
"""The type of a part of the result, and its offset in bytes."""


def _places(program: Program, one: Call) -> list[tuple[int, Place]] | None:
    """Each part with its place in the result; None if the result is not a fresh buffer, or parts are promoted."""
    (out,) = one.outputs
    if out is None or out not in program.allocs or program.uses[out][0] != program.positions[one.id]:
        return None
    whole = program.allocs[out].type
    dim = int(one.op["dim"]) % max(len(whole.shape), 1)
    found: list[tuple[int, Place]] = []
    start = 0
    for value in one.inputs:
        if not isinstance(value, int):
            return None
        kind = program.definitions[value].type
        if kind.dtype != whole.dtype or len(kind.shape) != len(whole.shape):
            return None  # an empty part of any shape, or one of another dtype
        place = BufferType(kind.dtype, kind.shape, whole.strides, kind.device)
        found.append((value, (place, start * whole.strides[dim] * whole.dtype.itemsize)))
        start += kind.shape[dim]
    return found


def _why_copied(program: Program, value: int, place: Place, one: Call, taken: set[int]) -> str:
    """Why a part of a concatenation cannot be made in its place; empty if it can."""
    position = program.positions[one.id]
    owner = program.definitions[program.origin(value)]
    if isinstance(owner, Weight):
        return f"%{value} is the {owner.role.value} {owner.name}"
    if not isinstance(program.definitions[value], Alloc):
        return f"%{value} is a view"
    if value in taken:
        return f"%{value} is a part twice, or of two concatenations"
    if not owner.type.is_same(place[0]):
        return f"%{value} is {owner.type}, and its place is {place[0]}"
    if program.last_writes.get(value, -1) > position:
        return f"%{value} is written later"
    (out,) = one.outputs
    if out is not None and program.last_writes[out] > position and program.uses[value][-1] > position:
        return f"%{value} is read later, and %{out} is written later"
    return ""


def _insert(
    program: Program,
    one: Call,
    places: list[tuple[int, Place]],
    reasons: list[str],
    deallocs: dict[int, Dealloc],
    fresh: Iterator[int],
) -> Edit:
    """The edit that makes parts views of the result, and copies the others.

    The result is freed where the last of them was; `deallocs` has the deallocation of each buffer by now.
    """
    (out,) = one.outputs
    assert out is not None
    removed, changed, placed = [one.id], list[Instruction](), list[Placed]()
    for (value, (kind, offset)), reason in zip(places, reasons, strict=True):
        if reason:
            part = View(next(fresh), out, kind, offset, "slice")
            copy = Copy(next(fresh), value, part.id)
            placed += [Placed(part, one.id), Placed(copy, one.id)]
            continue
        changed.append(View(value, out, kind, offset, "insert"))
    freed = [deallocs.pop(value) for value in (out, *(view.id for view in changed))]
    last = max(freed, key=lambda dealloc: program.positions[dealloc.id])
    deallocs[out] = Dealloc(last.id, out)
    removed += [dealloc.id for dealloc in freed if dealloc is not last]
    changed += [deallocs[out]] if last.buffer != out else []
    became = tuple(found.instruction.id for found in placed if isinstance(found.instruction, Copy))
    return Edit((one.id,), tuple(removed), tuple(changed), tuple(placed), became=became)
