"""The arrows of a picture: which box reads which before and after the step, and how folded nodes read."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer.views.box import Boxes, ShownMode
from explorer.views.grouping import boxes_of
from explorer.views.index import TraceIndex, cached
from explorer.views.states import IntArray, State
from explorer.views.words import bytes_text
from explorer_widgets.schema import Change, EdgeView, GroupBy

Pair = tuple[int, int]


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
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
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
