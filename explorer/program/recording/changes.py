"""Edits of a program as changes of the graph of a trace, which has no allocations and deallocations."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from explorer.levels import Change
from explorer.program.editing import Edit
from explorer.program.ir.program import Program
from explorer.program.recording.records import Links


class Linked(NamedTuple):
    """A program and the links of its graph."""

    program: Program
    links: Links


def changes_of(rule: str, edits: Sequence[Edit], before: Linked, after: Linked, seconds: float) -> list[Change]:
    """The changes of the graph by edits that were done together, each of which took so many seconds."""
    readers = _first_readers(before) if any(edit.weights for edit in edits) else {}
    old, new = before.links.inputs, after.links.inputs
    changes: list[Change] = []
    for edit, added in zip(edits, _added(edits, before, after), strict=True):
        removed = tuple(one for one in edit.removed if one in old and one not in new)
        became = tuple(one for one in edit.became if one in new and one not in added)
        changes.append(Change(rule, _matched(before, edit, readers), removed, added, seconds, became))
    return changes


def _first_readers(before: Linked) -> dict[int, int]:
    """The first node of the graph that reads each buffer or weight."""
    program, known = before.program, before.links.inputs
    found: dict[int, int] = {}
    for one in program.instructions:
        if one.id in known:
            for value in one.values_read:
                found.setdefault(program.origin(value), one.id)
    return found


def _matched(before: Linked, edit: Edit, readers: Mapping[int, int]) -> tuple[int, ...]:
    """The nodes of the graph that an edit is about; of a weight the first one that reads it; else those next to it."""
    known = before.links.inputs
    found = tuple(number for number in dict.fromkeys(edit.matched) if number in known)
    found = found or tuple(dict.fromkeys(readers[number] for number in edit.matched if number in readers))
    if found:
        return found
    program = before.program
    places = [program.positions[n] for n in (*edit.matched, *edit.removed) if n in program.positions]
    following = program.moments[min(places, default=0)]
    return (program.running[following] if following < len(program.running) else next(iter(known)),)


def _added(edits: Sequence[Edit], before: Linked, after: Linked) -> list[tuple[int, ...]]:
    """For each edit the nodes of the graph that it adds.

    A view is in the graph if something reads it after the last write of its memory. One that appears because
    instructions moved is that of the first edit whose nodes read it, or of the last edit.
    """
    old, sources = before.links.inputs, after.links.inputs
    new = [node for node in sources if node not in old]
    made = [(*(one.id for one in edit.changed), *(found.instruction.id for found in edit.placed)) for edit in edits]
    owner = {node: number for number, nodes in enumerate(made) for node in nodes}
    readers = {source: node for node in reversed(new) for source in sources[node]}
    for node in reversed(new):
        if node not in owner:
            owner[node] = owner.get(readers.get(node, -1), len(edits) - 1)
    found: list[list[int]] = [[] for _ in edits]
    for node in new:
        found[owner[node]].append(node)
    return list(map(tuple, found))
