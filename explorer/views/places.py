"""Positions of the boxes of a step: a column per level, from the inputs at the left to the outputs at the right.

The states before and after a step share one layout, so switching between them moves nothing. From step to step the
picture settles into columns, and new boxes come from those that they replace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from explorer.views.boxes import Boxes
from explorer.views.crossings import pull_up
from explorer.views.grouping import boxes_of
from explorer.views.index import TraceIndex, cached
from explorer.views.layout import LABEL_GAP, MAX_COLUMNS, Grid, layout
from explorer.views.states import ABSENT, IntArray
from explorer_widgets.schema import GroupBy

Point = tuple[float, float]

CHARACTER = 8.1
"""Width of a character of the title, which is larger than the detail."""
MIN_WIDTH, SIGN_WIDTH = 176.0, 74.0


@dataclass(frozen=True, eq=False)
class Places:
    """The positions of the boxes of a step by id.

    `came_from` maps a new box to the boxes of the step before from which it was created.
    """

    points: Mapping[str, Point]
    came_from: Mapping[str, tuple[str, ...]]


@cached
def grid_of(index: TraceIndex) -> Grid:
    """Return the size of all boxes of a trace: the longest title fits."""
    longest = max(map(len, index.titles), default=0)
    return Grid(max(MIN_WIDTH, 2.0 * round((longest * CHARACTER + SIGN_WIDTH) / 2)))


@cached
def places_of(index: TraceIndex, step: int, group_by: GroupBy) -> Places:
    """Return the positions of the boxes of a step; those of slices are where their folded layer is."""
    boxes = boxes_of(index, step, group_by)
    drawn = [i for i, box in enumerate(boxes.boxes) if box.merged is None]
    number = {i: at for at, i in enumerate(drawn)}
    place = np.array([number[i if box.merged is None else box.merged] for i, box in enumerate(boxes.boxes)], np.int32)
    edges = _edges(index, step, boxes, place)
    levels = np.array([boxes.boxes[i].level for i in drawn], np.int32)
    grid = grid_of(index)
    if (index.folded_at <= step).any():  # reads of folded layers have labels
        grid = replace(grid, gap=LABEL_GAP)
    points: list[Point] = [(x, y) for x, y in layout(_ranks(index, levels, edges), edges, grid).tolist()]
    at: list[int] = place.tolist()
    found = {box.id: points[i] for box, i in zip(boxes.boxes, at, strict=True)}
    return Places(found, _came_from(index, step, group_by))


def origins_of(index: TraceIndex, step: int) -> Mapping[int, tuple[int, ...]]:
    """Return the origins of each node that the step created."""
    entry = index.step(step)
    if entry.operator is not None:
        return entry.operator.sources
    found = {node: r.removed for r in entry.rewrites if not r.parameter_path for node in r.added}
    return found | {group.node: group.members for group in entry.folds if group.members != (group.node,)}


def _came_from(index: TraceIndex, step: int, group_by: GroupBy) -> dict[str, tuple[str, ...]]:
    """Return the boxes of the step before that contain the origins of each new box."""
    if step == 0:
        return {}
    before, origins = boxes_of(index, step - 1, group_by), origins_of(index, step)
    found: dict[str, tuple[str, ...]] = {}
    for box in boxes_of(index, step, group_by).boxes:
        nodes = [old for new in box.ids for old in origins.get(new, ())] if not box.before else []
        places = [int(before.after[node]) for node in nodes]
        names = dict.fromkeys(before.boxes[place].id for place in places if place != ABSENT)
        if names:
            found[box.id] = tuple(names)
    return found


def _edges(index: TraceIndex, step: int, boxes: Boxes, place: IntArray) -> IntArray:
    """Return the distinct (source, target) places of boxes in both states, without edges inside a box."""
    both = ((boxes.before, index.before(step)), (boxes.after, index.state(step)))
    pairs = np.concatenate([place[box_of[state.edges]].reshape(-1, 2) for box_of, state in both])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(pairs, axis=0).astype(np.int32).reshape(-1, 2)


def _ranks(index: TraceIndex, levels: IntArray, edges: IntArray) -> IntArray:
    """Return the column of each box: its level, or, if boxes span several levels, the longest distance between boxes.

    Parameters of a tensor graph are next to the operators that read them. So are the inputs of a deep circuit; those
    of another circuit share a column.
    """
    ranks = _longest_distances(levels, edges)
    is_shallow = len(np.unique(ranks)) <= MAX_COLUMNS
    return ranks if index.trace.level.has_circuit and is_shallow else pull_up(ranks, edges)


def _longest_distances(levels: IntArray, edges: IntArray) -> IntArray:
    if not len(edges) or (levels[edges[:, 0]] < levels[edges[:, 1]]).all():
        return levels
    ranks = np.zeros(len(levels), np.int32)
    for _ in range(len(levels)):
        wanted = ranks.copy()
        np.maximum.at(wanted, edges[:, 1], ranks[edges[:, 0]] + 1)
        if np.array_equal(wanted, ranks):
            return ranks
        ranks = wanted
    return levels  # the boxes form a cycle: no ranking satisfies all edges
