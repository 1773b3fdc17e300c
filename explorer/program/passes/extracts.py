"""Copies of contiguous parts that nothing changes: they are read where they are."""

from collections.abc import Iterator
from functools import cache
from itertools import accumulate

import torch
from torch._ops import OpOverload

from explorer.program.editing.edits import Edit, Kept, Placed
from explorer.program.ir.instructions import Call, Copy, Dealloc, Instruction, View, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.results import results_of
from explorer.program.memory.lives import Lives
from explorer.program.passes.base import program_pass
from explorer.tensor.ir.ops import Op


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
        reason = _why_copied(lives, view, position) or _why_too_large(lives, view, live, peak)
        yield Kept(one.id, reason) if reason is not None else _extract(lives, one, view, live)


def _may_extract(program: Program, one: Instruction) -> bool:
    """Whether an instruction copies elements into a buffer."""
    if isinstance(one, Copy):
        return one.dest in program.allocs
    return isinstance(one, Call) and _viewing(one.op.target) is not None


@cache
def _viewing(target: OpOverload) -> OpOverload | None:
    """The overload that views what another one copies: `slice.Tensor` for `slice_copy.Tensor`."""
    name = target._schema.name.rpartition("::")[2]
    packet = getattr(torch.ops.aten, name.removesuffix("_copy"), None) if name.endswith("_copy") else None
    return getattr(packet, target._overloadname, None)


def _as_view(lives: Lives, one: Instruction) -> View | None:
    """The view that has the elements of a copy; None for what copies nothing into a buffer of its own."""
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


def _why_copied(lives: Lives, view: View, position: int) -> str | None:
    """Why elements are not read where they are; None if they can be."""
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
    """The bytes of the buffers that are in use at each position, from their first to their last use."""
    change = [0] * (len(lives.program) + 1)
    for buffer, alloc in lives.program.allocs.items():
        if lives.first[buffer] <= lives.last[buffer]:
            change[lives.first[buffer]] += alloc.type.size_bytes
            change[lives.last[buffer] + 1] -= alloc.type.size_bytes
    return list(accumulate(change))


def _why_too_large(lives: Lives, view: View, live: list[int], peak: int) -> str | None:
    """Why the memory that is viewed cannot stay as long as the copy; None if it can."""
    root = lives.root(view.source)
    owner, last = lives.program.definitions[root], lives.last[view.id]
    growth = owner.type.size_bytes - lives.types[view.id].size_bytes
    longer = live[lives.last[root] + 1 : last + 1]
    if isinstance(owner, Weight) or not longer or max(longer) + growth <= peak:
        return None
    user = lives.program.instructions[last]
    return f"%{root} would stay alive until #{user.id}: {max(longer) + growth} bytes in use, and at most {peak} now"


def _extract(lives: Lives, one: Instruction, view: View, live: list[int]) -> Edit:
    """The edit that puts a view in the place of a copy."""
    program, root = lives.program, lives.root(view.source)
    mine, kind = lives.dealloc.pop(view.id), lives.types[view.id]
    for position in range(lives.first[view.id], lives.last[view.id] + 1):
        live[position] -= kind.size_bytes
    if root in program.allocs:
        for position in range(lives.last[root] + 1, lives.last[view.id] + 1):
            live[position] += program.allocs[root].type.size_bytes
    lives.merge(view.id, root)
    made = Placed(View(view.id, view.source, kind, view.offset_bytes, view.label), one.id)
    theirs = lives.dealloc.get(root)
    if theirs is None or program.positions[theirs] > program.positions[mine]:
        return Edit((one.id,), removed=(one.id, mine), placed=(made,))
    lives.dealloc[root] = mine
    return Edit((one.id,), removed=(one.id, theirs), changed=(Dealloc(mine, root),), placed=(made,))
