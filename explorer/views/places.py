"""Places that last: a box that survives a step keeps its place, a new one appears where those it came from were.

The places of a step follow from those of the step before, from the first step on, so they do not depend on the way in
which somebody went through the trace: every host shows a step at the same places.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explorer.views.grouping import Box, Boxes, boxes_of
from explorer.views.index import TraceIndex
from explorer.views.layout import GAP, MARGIN, Grid, layout
from explorer.views.states import IntArray, State
from widgets.schema import GroupBy

Point = tuple[float, float]
Where = Literal["between", "beside", "below"]
"""Where to look for room first: between the rows, in the same row, or just below."""

CHARACTER = 8.1
"""Width of a character of the title, which is larger than that of the detail."""
LEAST_WIDTH, SIGNS_WIDTH = 160.0, 104.0
SEARCH_COLUMNS, SEARCH_ROWS = 12, 4


@dataclass(frozen=True, eq=False)
class Places:
    """The places of the boxes of a step by id; `of_node` gives the box of each node that exists afterwards."""

    points: Mapping[str, Point]
    of_node: Mapping[int, str]


def grid_of(index: TraceIndex) -> Grid:
    """The size of all boxes of a trace: the longest title fits, with room for signs beside it."""
    longest = max(map(len, index.titles), default=0)
    return Grid(max(LEAST_WIDTH, 2.0 * round((longest * CHARACTER + SIGNS_WIDTH) / 2)))


def places_of(index: TraceIndex, step: int, group_by: GroupBy) -> Places:
    """The places of the boxes of a step."""
    key = ("places", step, group_by)
    if key in index.cache:
        return index.cache[key]
    first = step
    while first > 0 and ("places", first - 1, group_by) not in index.cache:
        first -= 1
    grid = grid_of(index)
    known: dict[str, Point] = index.cache.setdefault(("known places", group_by), {})
    for at in range(first, step + 1):
        boxes = boxes_of(index, at, group_by)
        if at == 0:
            points = first_places(boxes, index.state(0), grid)
        else:
            points = next_places(boxes, index.cache[("places", at - 1, group_by)], known, origins_of(index, at), grid)
        known.update(points)
        of_node = {node: box.id for box in boxes.boxes if box.after for node in box.ids}
        index.cache[("places", at, group_by)] = Places(points, of_node)
    return index.cache[key]


def origins_of(index: TraceIndex, step: int) -> Mapping[int, tuple[int, ...]]:
    """For each node that the step made, the nodes it made it of."""
    entry = index.step(step)
    found = {node: rewrite.removed for rewrite in entry.rewrites if not rewrite.place for node in rewrite.added}
    return found | {group.node: group.members for group in entry.folds if group.members != (group.node,)}


def first_places(boxes: Boxes, state: State, grid: Grid) -> dict[str, Point]:
    """Places where nothing is to be kept."""
    edges = box_edges(boxes.after, state)
    levels = _ranks(boxes, edges)
    points = layout(levels, edges, grid).tolist()
    return {box.id: (x, y) for box, (x, y) in zip(boxes.boxes, points, strict=True)}


def box_edges(box_of_node: IntArray, state: State) -> IntArray:
    """Which box reads which: distinct (source, target) positions, without those inside of a box."""
    pairs = box_of_node[state.edges]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(pairs, axis=0).astype(np.int32).reshape(-1, 2)


def _ranks(boxes: Boxes, edges: IntArray) -> IntArray:
    """Rows of boxes: their levels, or, where boxes reach over several levels, longest distances between boxes."""
    levels = np.array([box.level for box in boxes.boxes], np.int32)
    if not len(edges) or (levels[edges[:, 0]] < levels[edges[:, 1]]).all():
        return levels
    ranks = np.zeros(len(levels), np.int32)
    for _ in range(len(levels)):
        wanted = ranks.copy()
        np.maximum.at(wanted, edges[:, 1], ranks[edges[:, 0]] + 1)
        if np.array_equal(wanted, ranks):
            return ranks
        ranks = wanted
    return levels  # the boxes read each other in a circle: no rank fits all edges


def next_places(
    boxes: Boxes,
    previous: Places,
    known: Mapping[str, Point],
    origins: Mapping[int, tuple[int, ...]],
    grid: Grid,
) -> dict[str, Point]:
    """The places of a step from those of the step before.

    A box that was there keeps its place; one that was there in an earlier step takes the place it had then. One that
    shares nodes with former boxes takes the place of that with which it shares most. What the step made stands as near
    as there is room to the middle of what it was made of. `known` are the places of all former steps.
    """
    floor = Floor(grid)
    points: dict[str, Point] = {}
    for box in boxes.boxes:
        if box.id in previous.points and box.merges is None:
            points[box.id] = previous.points[box.id]
            floor.take(points[box.id])
    for box in boxes.boxes:
        if box.before and box.id in known and box.id not in points and floor.is_free(known[box.id]):
            points[box.id] = known[box.id]
            floor.take(points[box.id])
    others = [box for box in boxes.boxes if box.before and box.id not in points]
    for box in sorted(others, key=lambda box: (-len(box.ids), box.ids[0])):
        former = _former_places(box, previous)
        points[box.id] = floor.first_free(former) or floor.nearest_free(former[0], "beside")
        floor.take(points[box.id])
    for box in boxes.boxes:
        if box.merges is not None:
            points[box.id] = points[boxes.boxes[box.merges].id]
        elif not box.before:
            middle, one_row = _middle(box, boxes, points, origins)
            points[box.id] = floor.nearest_free(
                middle, ("below" if box.level == 0 else "beside") if one_row else "between"
            )
            floor.take(points[box.id])
    return points


def _former_places(box: Box, previous: Places) -> list[Point]:
    """The places of the former boxes of its nodes, that with most of them first."""
    counts: dict[str, int] = {}
    for node in box.ids:
        former = previous.of_node[node]
        counts[former] = counts.get(former, 0) + 1
    return [previous.points[name] for name in sorted(counts, key=lambda name: -counts[name])]


def _middle(
    box: Box, boxes: Boxes, points: Mapping[str, Point], origins: Mapping[int, tuple[int, ...]]
) -> tuple[Point, bool]:
    """The middle of the boxes that the nodes of this one were made of, and whether they all stand in one row."""
    sources = [int(boxes.before[old]) for node in box.ids for old in origins.get(node, ())]
    found = [points[boxes.boxes[place].id] for place in sources if place >= 0]
    if not found:
        found = list(points.values()) or [(0.0, 0.0)]
    x, y = np.array(found).mean(axis=0).round().tolist()
    return (x, y), len({row for _, row in found}) == 1


class Floor:
    """The places that are taken. All boxes have one size, so a place is free if no middle is too near."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._near_x, self._near_y = grid.width + GAP, grid.height + GAP
        self._cells: dict[tuple[int, int], list[Point]] = {}
        self._right = 0.0
        self._offsets = {
            "between": _offsets(grid, up=0.8, down=0.81),
            "beside": _offsets(grid, up=2.5, down=2.51),
            "below": _offsets(grid, up=2.5, down=0.8),
        }

    def take(self, point: Point) -> None:
        """Put a box there."""
        self._cells.setdefault(self._cell(point), []).append(point)
        self._right = max(self._right, point[0])

    def is_free(self, point: Point) -> bool:
        """Whether a box there overlaps none and lies inside of the picture."""
        x, y = point
        if x < MARGIN + self._grid.width / 2 or y < MARGIN + self._grid.height / 2:
            return False
        column, row = self._cell(point)
        return not any(
            abs(x - other_x) < self._near_x and abs(y - other_y) < self._near_y
            for i in (column - 1, column, column + 1)
            for j in (row - 1, row, row + 1)
            for other_x, other_y in self._cells.get((i, j), ())
        )

    def first_free(self, points: Iterable[Point]) -> Point | None:
        """The first of these that is free."""
        return next((point for point in points if self.is_free(point)), None)

    def nearest_free(self, point: Point, where: Where = "between") -> Point:
        """The free place nearest to a point; at worst at the right end. `where` says what counts as near."""
        x, y = point
        found = self.first_free((x + dx, y + dy) for dx, dy in self._offsets[where])
        return found or (max(self._right, x) + self._grid.column, max(y, MARGIN + self._grid.height / 2))

    def _cell(self, point: Point) -> tuple[int, int]:
        return int(point[0] // self._near_x), int(point[1] // self._near_y)


def _offsets(grid: Grid, up: float, down: float) -> list[Point]:
    """Where to look for room, nearest first: what half a row up or down costs when a column costs 1."""
    found = [
        (abs(column) + (down if row > 0 else up) * abs(row) + 0.001 * (column < 0), column, row)
        for column in (n / 2 for n in range(-2 * SEARCH_COLUMNS, 2 * SEARCH_COLUMNS + 1))
        for row in range(-SEARCH_ROWS, SEARCH_ROWS + 1)
    ]
    return [(column * grid.column, row * grid.row / 2) for _, column, row in sorted(found)]
