"""Passes on copies: `OptimizeInserts` and `OptimizeExtracts` replace copies of parts by views."""

from collections.abc import Iterator
from functools import cache
from itertools import accumulate

import torch
from torch._ops import OpOverload

from explorer.program.editing import Edit, Insertion, Kept
from explorer.program.ir.instructions import Alloc, Call, Copy, Dealloc, Instruction, View, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.results import results_of
from explorer.program.ir.types import BufferType
from explorer.program.memory.sharing import Lives
from explorer.program.passes import program_pass
from explorer.tensor.ir.ops import Op

CAT = torch.ops.aten.cat.default


@program_pass("OptimizeInserts")
def optimize_inserts(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """The parts of a concatenation are written where they belong, so that it need not copy them.

    A part with its own memory, and with the strides of its slice of the result, becomes a view of the result; the
    others are copied one by one. It pays if at most one part is copied.
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
            reasons.append(_why_not_inserted(program, value, place, one, mine))
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
    """Return each part with its slice of the result; None if that is not a fresh buffer, or parts are promoted."""
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


def _why_not_inserted(program: Program, value: int, place: Place, one: Call, taken: set[int]) -> str:
    """Return why a part of a concatenation cannot be computed in place; empty if it can."""
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
    """Return the edit that makes parts views of the result, and copies the others.

    The result is freed after all of them; `deallocs` has the deallocation of each buffer by now.
    """
    (out,) = one.outputs
    assert out is not None
    removed, changed, placed = [one.id], list[Instruction](), list[Insertion]()
    for (value, (kind, offset)), reason in zip(places, reasons, strict=True):
        if reason:
            part = View(next(fresh), out, kind, offset, "slice")
            copy = Copy(next(fresh), value, part.id)
            placed += [Insertion(part, one.id), Insertion(copy, one.id)]
            continue
        changed.append(View(value, out, kind, offset, "insert"))
    freed = [deallocs.pop(value) for value in (out, *(view.id for view in changed))]
    last = max(freed, key=lambda dealloc: program.positions[dealloc.id])
    deallocs[out] = Dealloc(last.id, out)
    removed += [dealloc.id for dealloc in freed if dealloc is not last]
    changed += [deallocs[out]] if last.buffer != out else []
    became = tuple(found.instruction.id for found in placed if isinstance(found.instruction, Copy))
    return Edit((one.id,), tuple(removed), tuple(changed), tuple(placed), became=became)


@program_pass("OptimizeExtracts")
def optimize_extracts(program: Program, fresh: Iterator[int]) -> Iterator[Edit | Kept]:
    """A copy of a contiguous part of a buffer becomes a view of it, if nothing writes either of them afterwards.

    The buffer then lives as long as the copy did. The copy stays if that would raise the peak.
    """
    if not any(_may_extract(program, one) for one in program.instructions):
        return
    lives = Lives(program)
    live = _live_bytes(lives)
    peak = max(live, default=0)
    for position, one in enumerate(program.instructions):
        view = _as_view(lives, one)
        if view is None:
            continue
        reason = _why_not_viewed(lives, view, position) or _why_too_large(lives, view, live, peak)
        yield Kept(one.id, reason) if reason is not None else _extract(lives, one, view, live)


def _may_extract(program: Program, one: Instruction) -> bool:
    """Return whether an instruction copies elements into a buffer."""
    if isinstance(one, Copy):
        return one.dest in program.allocs
    return isinstance(one, Call) and _viewing(one.op.target) is not None


@cache
def _viewing(target: OpOverload) -> OpOverload | None:
    """Return the view overload of a copying one: `slice.Tensor` for `slice_copy.Tensor`."""
    name = target._schema.name.rpartition("::")[2]
    packet = getattr(torch.ops.aten, name.removesuffix("_copy"), None) if name.endswith("_copy") else None
    return getattr(packet, target._overloadname, None)


def _as_view(lives: Lives, one: Instruction) -> View | None:
    """Return the view with the elements of a copy; None for an instruction that copies nothing into its own buffer."""
    if isinstance(one, Copy):
        if not lives.is_buffer(one.dest) or lives.root(one.source) == one.dest:
            return None
        return View(one.dest, one.source, lives.types[one.source], 0, "extract")
    overload = _viewing(one.op.target) if isinstance(one, Call) else None
    if not isinstance(one, Call) or overload is None or len(one.outputs) != 1:
        return None
    (out,), source = one.outputs, one.inputs[0]
    if out is None or not isinstance(source, int) or not lives.is_buffer(out):
        return None
    kinds = tuple(lives.types[value] if isinstance(value, int) else value for value in one.inputs)
    result = results_of(Op(overload, one.op.arguments), kinds)[0]
    if result is None or result.source != 0:
        return None
    return View(out, source, result.type, result.offset_bytes, "extract")


def _why_not_viewed(lives: Lives, view: View, position: int) -> str | None:
    """Return why elements cannot be read without a copy; None if they can."""
    wanted = lives.types[view.id]
    later = max(lives.last_write[lives.root(view.source)], lives.last_write[view.id])
    if not view.type.is_same(wanted):
        return f"the elements are {view.type} in %{view.source}, and %{view.id} is {wanted}"
    if lives.first[view.id] != position:
        return f"%{view.id} is in use before"
    owner, border = lives.program.definitions[lives.root(view.source)], lives.program.backward
    if isinstance(owner, Weight) and position < border < lives.last[view.id]:
        return f"the backward pass reads it, and the caller may change the {owner.role.value} {owner.name} before"
    if later > position:
        return f"#{lives.program.instructions[later].id} writes %{view.source} or %{view.id} later"
    return None


def _live_bytes(lives: Lives) -> list[int]:
    """Count the bytes of the buffers that are in use at each position, from their first to their last use."""
    change = [0] * (len(lives.program) + 1)
    for buffer, alloc in lives.program.allocs.items():
        if lives.first[buffer] <= lives.last[buffer]:
            change[lives.first[buffer]] += alloc.type.size_bytes
            change[lives.last[buffer] + 1] -= alloc.type.size_bytes
    return list(accumulate(change))


def _why_too_large(lives: Lives, view: View, live: list[int], peak: int) -> str | None:
    """Return why the viewed memory cannot live as long as the copy; None if it can."""
    root = lives.root(view.source)
    owner, last = lives.program.definitions[root], lives.last[view.id]
    growth = owner.type.size_bytes - lives.types[view.id].size_bytes
    longer = live[lives.last[root] + 1 : last + 1]
    if isinstance(owner, Weight) or not longer or max(longer) + growth <= peak:
        return None
    user = lives.program.instructions[last]
    return f"%{root} would stay alive until #{user.id}: {max(longer) + growth} bytes in use, and at most {peak} now"


def _extract(lives: Lives, one: Instruction, view: View, live: list[int]) -> Edit:
    """Return the edit that replaces a copy by a view."""
    program, root = lives.program, lives.root(view.source)
    mine, kind = lives.dealloc.pop(view.id), lives.types[view.id]
    for position in range(lives.first[view.id], lives.last[view.id] + 1):
        live[position] -= kind.size_bytes
    if root in program.allocs:
        for position in range(lives.last[root] + 1, lives.last[view.id] + 1):
            live[position] += program.allocs[root].type.size_bytes
    lives.merge(view.id, root)
    made = Insertion(View(view.id, view.source, kind, view.offset_bytes, view.label), one.id)
    theirs = lives.dealloc.get(root)
    if theirs is None or program.positions[theirs] > program.positions[mine]:
        return Edit((one.id,), removed=(one.id, mine), placed=(made,))
    lives.dealloc[root] = mine
    return Edit((one.id,), removed=(one.id, theirs), changed=(Dealloc(mine, root),), placed=(made,))
