"""The boxes of a step and the arrows between them.

The pictures before, after and of the difference share one partition, so switching between them moves nothing. Nodes
share a box if they agree on the grouping (level and fold key; scope; none), on what the step did to them, and on their
roles in its matches. A node created by folding has its own box.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from explorer.views.boxes import Box, Boxes, ShownMode, box_id, with_folds
from explorer.views.index import CHANGED, CHANGES, KEPT, TraceIndex, cached, match_roles, node_changes
from explorer.views.plates.cells import Plate, plates_of
from explorer.views.scopes import scope_numbers
from explorer.views.score.calls import sources_at
from explorer.views.score.repeats import groups_at, name_of
from explorer.views.states import ABSENT, IntArray, State
from explorer.views.words import bytes_text
from explorer_widgets.schema import Change, EdgeView, GroupBy

Pair = tuple[int, int]

MAX_DRAWN_BOXES = 60
"""Maximum number of boxes drawn by default: a graph of more is illegible."""


@dataclass(frozen=True)
class Edge:
    """An arrow between two boxes, by position."""

    source: int
    target: int
    change: Change
    count: int
    read: str | None
    copied_bytes: int


@cached
def boxes_of(index: TraceIndex, step: int, group_by: GroupBy) -> Boxes:
    """Return the boxes of a step, lowest level first, in a deterministic order."""
    if group_by == "plates":
        return plate_boxes(index, step)
    if group_by == "score":
        return score_boxes(index, step)
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
    return with_folds(index, step, found)


def drawn_grouping(index: TraceIndex, step: int, group_by: GroupBy) -> GroupBy:
    """Return the grouping, or `fold` if it would draw more boxes than the limit."""
    if group_by in ("plates", "fold"):
        return group_by
    if group_by == "none":
        count = max(int(np.count_nonzero(state.present)) for state in (index.before(step), index.state(step)))
    else:
        boxes = boxes_of(index, step, group_by).boxes
        count = max(sum(box.before for box in boxes), sum(box.after for box in boxes))
    return "fold" if count > MAX_DRAWN_BOXES else group_by


def _box(ids: IntArray, before: State, after: State, change: Change, roles: int) -> Box:
    low = int(before.level[ids].max())
    level = low if change == "removed" else int(after.level[ids].max())
    return Box(box_id(ids), tuple(ids.tolist()), change, level, level if change == "added" else low, roles)


def _number_rows(columns: list[NDArray[np.int32]]) -> tuple[NDArray[np.intp], int]:
    """Return a number for each row, equal for equal rows, and how many there are."""
    codes, count = np.zeros(len(columns[0]), np.intp), 1
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        distinct, codes = np.unique(codes * len(values) + numbers, return_inverse=True)
        count = len(distinct)
    return codes, count


def plate_boxes(index: TraceIndex, step: int) -> Boxes:
    """Return the plates before and after a step, lowest column first; one with the same layers is one box.

    A plate with only some of the layers of another one is a box of its own, and its layers are kept or changed.
    """
    both = [plates_of(index, at) for at in (max(step - 1, 0), step)]
    old, new = ({plate.id: plate for plate in plates.plates} for plates in both)
    columns = {plate.id: at for plates in both for plate, at in zip(plates.plates, plates.columns, strict=True)}
    found = [_plate_box(index, step, old.get(name), new.get(name)) for name in {**old, **new}]
    found.sort(key=lambda box: (columns[box.id], box.level, box.ids[0], box.after))
    return with_folds(index, step, found)


def score_boxes(index: TraceIndex, step: int) -> Boxes:
    """Return a box for each call and input that is drawn before or after a step, with equal calls.

    A view belongs to the box of the value that it shows.
    """
    steps = (max(step - 1, 0), step)
    old, new = ({name_of(nodes): nodes for nodes in groups_at(index, at).values()} for at in steps)
    found = [_score_box(index, step, name, nodes, name in old, name in new) for name, nodes in {**old, **new}.items()]
    found.sort(key=lambda box: (box.level, box.ids[0], box.after))
    place = {box.id: at for at, box in enumerate(found)}
    positions = [np.full(index.size, ABSENT, np.int32) for _ in steps]
    for array, at, groups in zip(positions, steps, (old, new), strict=True):
        box_of = {node: place[name] for name, nodes in groups.items() for node in nodes}
        for node, source in sources_at(index, at).items():
            array[node] = box_of.get(source, ABSENT)
    return Boxes(tuple(found), positions[0], positions[1])


def _score_box(index: TraceIndex, step: int, name: str, nodes: Sequence[int], is_before: bool, is_after: bool) -> Box:
    ids = sorted(nodes)
    changes: set[int] = set(node_changes(index, step)[ids].tolist())
    change = CHANGES[changes.pop() if len(changes) == 1 else CHANGED]
    is_part = is_before != is_after and change in ("kept", "changed")
    only: Literal["before", "after"] | None = ("after" if is_after else "before") if is_part else None
    levels = [int(state.level[ids].max()) for state in (index.before(step), index.state(step))]
    before, after = (levels[0] if is_before else levels[1]), (levels[1] if is_after else levels[0])
    roles = int(np.bitwise_or.reduce(match_roles(index, step)[ids]))
    return Box(name, tuple(ids), change, after, before, roles, only=only)


def _plate_box(index: TraceIndex, step: int, before: Plate | None, after: Plate | None) -> Box:
    plate = after or before
    assert plate is not None
    ids = list(plate.ids)
    changes: set[int] = set(node_changes(index, step)[ids].tolist())
    change = CHANGES[changes.pop() if len(changes) == 1 else CHANGED]
    is_part = (before is None or after is None) and change in ("kept", "changed")
    only: Literal["before", "after"] | None = ("after" if before is None else "before") if is_part else None
    roles = int(np.bitwise_or.reduce(match_roles(index, step)[ids]))
    return Box(plate.id, plate.ids, change, plate.level, (before or plate).level, roles, only=only)


@cached
def edges_of(index: TraceIndex, step: int, group_by: GroupBy, mode: ShownMode) -> tuple[Edge, ...]:
    """Return the arrows of a picture, ordered by target and source."""
    boxes = boxes_of(index, step, group_by)
    old = _counts(index.before(step), boxes.before)
    new = _counts(index.state(step), boxes.after)
    return tuple(_edges(index, step, boxes, old, new, mode))


def edge_view(edge: Edge, boxes: Boxes) -> EdgeView:
    """Return the arrow as plain data."""
    names = boxes.boxes[edge.source].id, boxes.boxes[edge.target].id
    size = f" {bytes_text(edge.copied_bytes)}" if edge.copied_bytes else ""
    return {
        "source": names[0],
        "target": names[1],
        "change": edge.change,
        "count": edge.count,
        "read": edge.read,
        "copied_bytes": edge.copied_bytes,
        "label": f"{edge.read}{size}" if edge.read else "",
    }


def _counts(state: State, box_of_node: IntArray) -> dict[Pair, int]:
    """Count the graph's edges for each pair of distinct boxes."""
    pairs = box_of_node[state.edges].astype(np.int64)
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs != ABSENT).all(axis=1)]
    base = int(pairs.max(initial=0)) + 1
    codes, counts = np.unique(pairs[:, 1] * base + pairs[:, 0], return_counts=True)
    return {(code % base, code // base): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}


def _edges(
    index: TraceIndex, step: int, boxes: Boxes, old: Mapping[Pair, int], new: Mapping[Pair, int], mode: ShownMode
) -> list[Edge]:
    def in_diff(pair: Pair) -> Pair:
        source, target = (boxes.boxes[i].merged for i in pair)
        return (pair[0] if source is None else source, pair[1] if target is None else target)

    old_counts: dict[Pair, int] = {}
    for pair, count in old.items():
        old_counts[in_diff(pair)] = old_counts.get(in_diff(pair), 0) + count

    def change(pair: Pair) -> Change:
        if pair not in old_counts or pair not in new:
            return "added" if pair in new else "removed"
        stands_in = any(boxes.boxes[i].merges is not None for i in pair)
        return "kept" if stands_in or old_counts[pair] == new[pair] else "changed"

    if mode == "before":
        return [
            Edge(*pair, change(in_diff(pair)), count, *_read(index, max(step - 1, 0), boxes, pair))
            for pair, count in old.items()
        ]
    pairs = new if mode == "after" else {**old_counts, **new}
    found = [Edge(*pair, change(pair), count, *_read(index, step, boxes, pair)) for pair, count in pairs.items()]
    return sorted(found, key=lambda edge: (edge.target, edge.source))


def _read(index: TraceIndex, step: int, boxes: Boxes, pair: Pair) -> tuple[str | None, int]:
    """Return how the target reads the source after a step, and the bytes copied per example."""
    source, target = boxes.boxes[pair[0]], boxes.boxes[pair[1]]
    node = target.ids[0]
    if len(target.ids) > 1 or index.folded_at[node] > step or node not in index.reads:
        return None, 0
    read = index.reads[node]
    return read.kind, sum(read.bytes_of.get(one, 0) for one in source.ids)
