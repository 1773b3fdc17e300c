"""Effects of a pass on the memory of a program: counts as fields, and the words for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from explorer.trace import MemoryRecord, Step
from explorer.views.index import TraceIndex
from explorer.views.words import bytes_text, list_text, plural


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """Changes of a step to a program: its edits, how many of them removed an instruction that runs, and memory."""

    rule: str
    edits: int
    removing: int
    before: MemoryRecord
    after: MemoryRecord

    @property
    def text(self) -> str:
        """Describe the edits in a phrase."""
        return WORDS[self.rule](self)

    @property
    def sentence(self) -> str:
        """Describe the edits and the savings in calls and memory."""
        calls = len(self.before.order), len(self.after.order)
        bought = [f"{plural(calls[0], 'call')} → {calls[1]:,}"] if calls[0] != calls[1] else []
        peak = peak_text(self.before, self.after)
        bought += [peak] if peak else []
        return f"{self.rule}: {self.text}{': ' if bought else ''}{', '.join(bought)}."


def before_memory(index: TraceIndex, step: int) -> MemoryRecord | None:
    """Return the buffers before a step; None at levels without buffers."""
    return index.trace.steps[max(step - 1, 0)].snapshot.memory


def memory_change_of(step: Step, before: MemoryRecord | None) -> MemoryChange | None:
    """Return what a memory pass did in a step; None if it changed nothing, and for all other rules."""
    after = step.snapshot.memory
    if before is None or after is None or not step.applied or step.applied[0].rule not in WORDS:
        return None
    removing = sum(bool(rewrite.removed) for rewrite in step.applied)
    return MemoryChange(step.applied[0].rule, len(step.applied), removing, before, after)


def peak_text(before: MemoryRecord | None, after: MemoryRecord | None) -> str:
    """Say what a step bought in memory; empty if nothing."""
    old, new = (bytes_text(memory.size_bytes) if memory is not None else "" for memory in (before, after))
    return f"peak memory {old} → {new}" if old and new and old != new else ""


def _agree(count: int, one: str, many: str, rest: str) -> str:
    """A count with its noun and its verb: `1 buffer is freed`, `2 buffers are freed`."""
    return f"{count:,} {one if count == 1 else many} {rest}"


def _constants(change: MemoryChange) -> str:
    constant = "becomes a constant" if change.edits == 1 else "become constants"
    return _agree(change.edits, "weight that is", "weights that are", f"only read {constant}")


def _dead_stores(change: MemoryChange) -> str:
    return _agree(change.edits, "instruction is", "instructions are", "removed, as nothing reads the results")


def _inserts(change: MemoryChange) -> str:
    made = len(change.before.buffers) - len(change.after.buffers)
    done = _agree(change.edits, "concatenation is", "concatenations are", "not computed")
    return f"{done}, as {_agree(made, 'part is', 'parts are', 'written where the result is')}"


def _sharing(change: MemoryChange) -> str:
    over = change.edits - change.removing
    parts = [
        _agree(over, "result is", "results are", "written over an input that nothing reads later") if over else "",
        _agree(change.removing, "copy is", "copies are", "not made") if change.removing else "",
    ]
    return list_text([part for part in parts if part])


def _peephole(change: MemoryChange) -> str:
    copies = len(change.before.order) - len(change.after.order)
    views = change.edits - copies
    parts = [
        _agree(views, "view is", "views are", "replaced by what is viewed") if views else "",
        _agree(copies, "copy is", "copies are", "removed, as source and destination are the same memory")
        if copies
        else "",
    ]
    return list_text([part for part in parts if part])


def _extracts(change: MemoryChange) -> str:
    return _agree(change.edits, "copy of a part becomes a view", "copies of parts become views", "of the whole")


def _stacking(change: MemoryChange) -> str:
    calls = len(change.before.order) - len(change.after.order) + change.edits
    return f"{plural(calls, 'elementwise call')} become {plural(change.edits, 'stack')}"


def _dead_allocs(change: MemoryChange) -> str:
    buffers = len(change.before.buffers) - len(change.after.buffers)
    views = change.edits - buffers
    counts = [(buffers, "buffer", "buffers"), (views, "view", "views")]
    found = " and ".join(plural(count, one, many) for count, one, many in counts if count)
    return f"{found} that nothing uses {'is' if change.edits == 1 else 'are'} removed"


def _hoisting(change: MemoryChange) -> str:
    return _agree(change.edits, "buffer is", "buffers are", f"freed right after {_its(change)} last use")


def _sinking(change: MemoryChange) -> str:
    return _agree(change.edits, "buffer is", "buffers are", f"allocated right before {_its(change)} first use")


def _its(change: MemoryChange) -> str:
    return "its" if change.edits == 1 else "their"


def _planning(change: MemoryChange) -> str:
    memory = change.after
    size, bound = bytes_text(memory.size_bytes), bytes_text(memory.lower_bound_bytes)
    least = "the least possible" if memory.size_bytes == memory.lower_bound_bytes else f"at least {bound} are necessary"
    return _agree(len(memory.buffers), "buffer gets", "buffers get", f"a place in one block of {size}, {least}")


def _depth_first(change: MemoryChange) -> str:
    before, after = (bytes_text(memory.lower_bound_bytes) for memory in (change.before, change.after))
    alive = f"at most {after} are alive at once"
    bought = f"{alive} instead of {before}" if before != after else f"this saves nothing here, {alive} as before"
    return f"each kernel call runs right before the first one that reads its value; {bought}"


def _slots(change: MemoryChange) -> str:
    memory = change.after
    slots = len({buffer.offset for buffer in memory.buffers})
    each = f" of {bytes_text(memory.size_bytes // slots)} each" if slots > 1 else ""
    if slots == len(memory.buffers):
        done = (
            f"{_agree(slots, 'value has a slot', 'values have slots', 'of its own' if slots == 1 else 'of their own')}"
        )
    else:
        done = _agree(len(memory.buffers), "value shares", "values share", plural(slots, "slot"))
    if memory.size_bytes > change.before.size_bytes:
        return f"{done}{each}; this costs memory, as each slot is as wide as the widest value"
    if memory.size_bytes == change.before.size_bytes:
        return f"{done}{each}; this saves nothing here"
    return f"{done}{each}; {bytes_text(memory.lower_bound_bytes)} are alive at once"


WORDS: Mapping[str, Callable[[MemoryChange], str]] = {
    "MakeWeightsConst": _constants,
    "DSE": _dead_stores,
    "OptimizeInserts": _inserts,
    "OptimizeExtracts": _extracts,
    "ShareBuffers": _sharing,
    "Peephole": _peephole,
    "DeleteDeadAllocs": _dead_allocs,
    "HoistDealloc": _hoisting,
    "SinkAllocas": _sinking,
    "PlanMemory": _planning,
    "StackDataParallel": _stacking,
    "depth-first": _depth_first,
    "slots": _slots,
}
"""Descriptions of the passes on programs."""
