"""The boxes of a step: which nodes share a box, and what the step did to them.

The pictures before, after and of the difference share one partition, so switching between them moves nothing. Nodes
share a box if they agree on the grouping (level and fold key; scope; none), on what the step did to them, and on their
roles in its matches. A node created by folding has its own box.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from explorer.views.index import TraceIndex, cached
from explorer.views.states import ABSENT, IntArray, State, scopes_of
from widgets.schema import Change, GroupBy

CHANGES: tuple[Change, ...] = ("kept", "added", "removed", "changed")
KEPT, ADDED, REMOVED, CHANGED = range(4)

APPLIED, LOST, WON = 1, 2, 4
"""Roles of a node in the matches of a step: in one that was applied, lost, or won a conflict."""


@dataclass(frozen=True)
class Box:
    """Nodes drawn as one box. `level` is that after the step, or before it for removed nodes."""

    id: str
    ids: tuple[int, ...]
    change: Change
    level: int
    level_before: int
    roles: int
    merges: int | None = None
    """For a folded node: the position of the box of exactly its slices, if any, which it replaces."""
    merged: int | None = None
    """For such a box of slices: the position of the folded node's box."""

    @property
    def before(self) -> bool:
        """Return whether its nodes existed before the step."""
        return self.change != "added" and self.merges is None

    @property
    def after(self) -> bool:
        """Return whether its nodes exist after the step."""
        return self.change != "removed" and self.merged is None


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of a step; the arrays map each id to the position of its box before and after the step, or -1."""

    boxes: tuple[Box, ...]
    before: IntArray
    after: IntArray


@cached
def boxes_of(index: TraceIndex, step: int, group_by: GroupBy) -> Boxes:
    """Return the boxes of a step, lowest level first, in a deterministic order."""
    before, after = index.before(step), index.state(step)
    ids = np.flatnonzero(before.present | after.present).astype(np.int32)
    change = node_changes(index, step)[ids]
    roles = match_roles(index, step)[ids]
    own = np.where(index.folded_at[ids] <= step, ids, ABSENT)
    columns: list[NDArray[np.int32]] = [change, roles, own]
    if group_by == "none":
        columns = [ids]
    elif group_by == "scope":
        columns += [scope_numbers(index, state)[ids] for state in (before, after)]
    else:
        old = np.where(change == CHANGED, ABSENT, before.key[ids])
        columns += [before.level[ids], after.level[ids], after.key[ids], np.where(change == KEPT, ABSENT, old)]
    codes, count = _number_rows(columns)
    order = np.argsort(codes, kind="stable")
    parts = np.split(ids[order], np.cumsum(np.bincount(codes, minlength=count))[:-1]) if len(ids) else []
    all_changes, all_roles = node_changes(index, step), match_roles(index, step)
    found = [_box(part, before, after, CHANGES[int(all_changes[part[0]])], int(all_roles[part[0]])) for part in parts]
    found.sort(key=lambda box: (box.level, box.ids[0]))
    return _with_folds(index, step, found)


MAX_DRAWN_BOXES = 2_000
"""Maximum number of boxes drawn by default: beyond it, a step takes seconds and is illegible."""


def drawn_grouping(index: TraceIndex, step: int, group_by: GroupBy) -> GroupBy:
    """Return the grouping, or `fold` if it would draw more boxes than the limit."""
    if group_by == "fold":
        return group_by
    if group_by == "none":
        count = int(np.count_nonzero(index.before(step).present | index.state(step).present))
    else:
        count = len(boxes_of(index, step, group_by).boxes)
    return "fold" if count > MAX_DRAWN_BOXES else group_by


def _box(ids: IntArray, before: State, after: State, change: Change, roles: int) -> Box:
    low = int(before.level[ids].max())
    level = low if change == "removed" else int(after.level[ids].max())
    return Box(box_id(ids), tuple(ids.tolist()), change, level, level if change == "added" else low, roles)


def box_id(ids: IntArray) -> str:
    """Return an id that depends only on the nodes: `n12` for one; first id, count and checksum for several."""
    if len(ids) == 1:
        return f"n{ids[0]}"
    return f"g{ids[0]}x{len(ids)}-{zlib.crc32(ids.astype('<i4').tobytes()):08x}"


def _number_rows(columns: list[NDArray[np.int32]]) -> tuple[NDArray[np.intp], int]:
    """Return a number for each row, equal for equal rows, and how many there are."""
    codes, count = np.zeros(len(columns[0]), np.intp), 1
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        distinct, codes = np.unique(codes * len(values) + numbers, return_inverse=True)
        count = len(distinct)
    return codes, count


def _with_folds(index: TraceIndex, step: int, boxes: list[Box]) -> Boxes:
    """Let each folded node replace the box of its slices, if they fill exactly one."""
    place = {box.id: i for i, box in enumerate(boxes)}
    for group in index.step(step).folds:
        if group.members == (group.node,):
            continue
        slices = place.get(box_id(np.array(sorted(group.members), np.int32)))
        folded = place[f"n{group.node}"]
        if slices is not None:
            boxes[slices] = replace(boxes[slices], change="changed", merged=folded)
            boxes[folded] = replace(boxes[folded], change="changed", merges=slices)
    before, after = np.full(index.size, ABSENT, np.int32), np.full(index.size, ABSENT, np.int32)
    for i, box in enumerate(boxes):
        if box.before:
            before[list(box.ids)] = i
        if box.after:
            after[list(box.ids)] = i
    return Boxes(tuple(boxes), before, after)


# ---------------------------------------------------------------------- what a step did to each node


@cached
def node_changes(index: TraceIndex, step: int) -> IntArray:
    """Return what the step did to each id: kept, added, removed; changed if the content differs."""
    before, after = index.before(step), index.state(step)
    both = before.present & after.present
    change = np.full(index.size, ABSENT, np.int32)
    change[both] = KEPT
    change[after.present & ~both] = ADDED
    change[before.present & ~both] = REMOVED
    for node in np.flatnonzero(both & (before.node != after.node)):
        if not index.same(int(before.node[node]), int(after.node[node])):
            change[node] = CHANGED
    return change


@cached
def match_roles(index: TraceIndex, step: int) -> IntArray:
    """Return the roles of each id in the matches of the step."""
    entry = index.step(step)
    roles = np.zeros(index.size, np.int32)
    lost = {conflict.loser for conflict in entry.lost}
    won = {conflict.winner for conflict in entry.lost}
    for match in entry.matches:
        role = LOST if match.number in lost else APPLIED | WON if match.number in won else APPLIED
        for node in index.nodes_of(match):
            roles[node] |= role
    return roles


# ---------------------------------------------------------------------- scopes


@cached
def node_scopes(index: TraceIndex, state: State) -> Mapping[int, int]:
    """Return the variables below each node, as bits."""
    scopes: dict[int, int] = {}
    sources: dict[int, list[int]] = {}
    for source, target in state.edges.tolist():
        sources.setdefault(target, []).append(source)
    present = np.flatnonzero(state.present)
    for node in present[np.argsort(state.level[present], kind="stable")].tolist():
        own = scopes_of(index.table.nodes[int(state.node[node])]) or ()
        bits = 0
        for variable in {variable for scope in own for variable in scope}:
            bits |= 1 << variable
        for source in sources.get(node, ()):
            bits |= scopes[source]
        scopes[node] = bits
    return scopes


def scope_numbers(index: TraceIndex, state: State) -> IntArray:
    """Return a number for the scope of each node, equal for equal scopes; -1 for absent nodes."""
    numbers: dict[int, int] = {}
    found = np.full(index.size, ABSENT, np.int32)
    for node, bits in node_scopes(index, state).items():
        found[node] = numbers.setdefault(bits, len(numbers))
    return found


ShownMode = Literal["before", "after", "diff"]


def is_shown(box: Box, mode: ShownMode) -> bool:
    """Return whether a box is drawn in a mode; `diff` shows a folded node instead of the box it replaces."""
    if mode == "diff":
        return box.merged is None
    return box.before if mode == "before" else box.after
