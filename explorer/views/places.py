"""Stable positions: a box that survives a step keeps its position, and a new one appears next to its origins.

In a narrow picture new boxes are to the right of their origins, in their topmost row, or to the left if that is nearer
to the centre of the first picture, so that rows stay rows; in a wide one, without room there, between the rows.

What an operator on circuits makes is drawn as a graph of its own, next to what is there. When the compilation begins,
it moves to the edge as a whole.

The positions of a step follow from the previous step, so they do not depend on the order in which a user visits
the steps: every host shows a step at the same positions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from explorer.views.boxes import Box, Boxes
from explorer.views.crossings import pull_up
from explorer.views.grouping import boxes_of
from explorer.views.index import TraceIndex, cached
from explorer.views.layout import GAP, MARGIN, WIDE_ROW_GAP, Grid, layout
from explorer.views.states import IntArray, State
from explorer_widgets.schema import GroupBy

Point = tuple[float, float]
Where = Literal["right", "left", "between", "beside", "below"]
"""Search order for room: in the next columns on one side; between the rows, in the same row, or just below."""

NARROW_COLUMNS = 4
"""A picture is narrow if its widest row initially has at most this many boxes."""

CHARACTER = 8.1
"""Width of a character of the title, which is larger than the detail."""
MIN_WIDTH, SIGNS_WIDTH = 160.0, 104.0
SEARCH_COLUMNS, SEARCH_ROWS = 12, 4


@dataclass(frozen=True, eq=False)
class Places:
    """The positions of the boxes of a step by id; `of_node` maps each node that exists afterwards to its box.

    `came_from` maps a new box to the boxes of the step before from which it was created.
    """

    points: Mapping[str, Point]
    of_node: Mapping[int, str]
    came_from: Mapping[str, tuple[str, ...]]


def grid_of(index: TraceIndex) -> Grid:
    """Return the size of all boxes of a trace: the longest title fits, with room for signs."""
    longest = max(map(len, index.titles), default=0)
    return Grid(max(MIN_WIDTH, 2.0 * round((longest * CHARACTER + SIGNS_WIDTH) / 2)))


@cached
def floor_grid(index: TraceIndex, group_by: GroupBy) -> Grid:
    """Return the sizes and gaps of a grouping: rows are further apart if the first picture is wide."""
    start = index.trace.start
    boxes = boxes_of(index, start, group_by)
    ranks = _ranks(index, boxes, box_edges(boxes.after, index.state(start)))
    widest = int(np.unique(ranks, return_counts=True)[1].max(initial=0))
    grid = grid_of(index)
    return grid if widest <= NARROW_COLUMNS else replace(grid, row_gap=WIDE_ROW_GAP)


def places_of(index: TraceIndex, step: int, group_by: GroupBy) -> Places:
    """Return the positions of the boxes of a step."""
    key = ("places", step, group_by)
    if key in index.cache:
        return index.cache[key]
    first = step
    while first > 0 and ("places", first - 1, group_by) not in index.cache:
        first -= 1
    grid = floor_grid(index, group_by)
    known: dict[str, Point] = index.cache.setdefault(("known places", group_by), {})
    for at in range(first, step + 1):
        boxes = boxes_of(index, at, group_by)
        came_from: dict[str, tuple[str, ...]] = {}
        if at == 0:
            points = first_places(index, boxes, grid)
        else:
            before = _Before(index, at, group_by)
            points = next_places(boxes, before, known, grid)
            came_from = before.came_from(boxes)
        if at and at == index.trace.start:  # the operands, next to which the circuit was drawn, are gone
            shift = min((x for x, _ in points.values()), default=0.0) - (MARGIN + grid.width / 2)
            points, moved = ({name: (x - shift, y) for name, (x, y) in some.items()} for some in (points, known))
            known.update(moved)
        known.update(points)
        of_node = {node: box.id for box in boxes.boxes if box.after for node in box.ids}
        index.cache[("places", at, group_by)] = Places(points, of_node, came_from)
    return index.cache[key]


def origins_of(index: TraceIndex, step: int) -> Mapping[int, tuple[int, ...]]:
    """Return the origins of each node that the step created."""
    entry = index.step(step)
    if entry.operator is not None:
        return entry.operator.sources
    found = {node: r.removed for r in entry.rewrites if not r.parameter_path for node in r.added}
    return found | {group.node: group.members for group in entry.folds if group.members != (group.node,)}


def first_places(index: TraceIndex, boxes: Boxes, grid: Grid) -> dict[str, Point]:
    """Return the positions of the first step."""
    edges = box_edges(boxes.after, index.state(0))
    levels = _ranks(index, boxes, edges)
    points = layout(levels, edges, grid).tolist()
    return {box.id: (x, y) for box, (x, y) in zip(boxes.boxes, points, strict=True)}


def box_edges(box_of_node: IntArray, state: State) -> IntArray:
    """Return distinct (source, target) positions of boxes, without edges inside a box."""
    pairs = box_of_node[state.edges]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(pairs, axis=0).astype(np.int32).reshape(-1, 2)


def _ranks(index: TraceIndex, boxes: Boxes, edges: IntArray) -> IntArray:
    """Return the row of each box: its level, or, if boxes span several levels, the longest distance between boxes.

    Parameters of a tensor graph are next to the operators that read them; the inputs of a circuit share a row.
    """
    ranks = _longest_distances(np.array([box.level for box in boxes.boxes], np.int32), edges)
    return ranks if index.trace.level.has_circuit else pull_up(ranks, edges)


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


class _Before:
    """The inputs from which the positions of a step are computed."""

    def __init__(self, index: TraceIndex, step: int, group_by: GroupBy) -> None:
        self.places: Places = index.cache[("places", step - 1, group_by)]
        self.origins = origins_of(index, step)
        self.is_operator = index.step(step).operator is not None
        start = index.trace.start
        first: Places = index.cache[("places", start if step > start else 0, group_by)]
        self.middle = float(np.mean([x for x, _ in first.points.values()])) if first.points else 0.0
        """The horizontal centre of the first picture, or of the one with which the compilation begins."""
        self._after = index.state(step)

    def came_from(self, boxes: Boxes) -> dict[str, tuple[str, ...]]:
        """The boxes of the step before that contain the origins of each new box."""
        of_node = self.places.of_node
        found: dict[str, tuple[str, ...]] = {}
        for box in boxes.boxes:
            if not box.before:
                old = [of_node[node] for new in box.ids for node in self.origins.get(new, ()) if node in of_node]
                if old:
                    found[box.id] = tuple(dict.fromkeys(old))
        return found

    def sources(self, boxes: Boxes) -> Mapping[int, list[int]]:
        """The boxes that each box reads after the step, by position."""
        found: dict[int, list[int]] = {}
        for source, target in self.edges(boxes):
            found.setdefault(target, []).append(source)
        return found

    def edges(self, boxes: Boxes) -> list[list[int]]:
        """The boxes after the step that another one reads, and that one, by position."""
        return box_edges(boxes.after, self._after).tolist()


def next_places(boxes: Boxes, before: _Before, known: Mapping[str, Point], grid: Grid) -> dict[str, Point]:
    """Return the positions of a step from the positions of the step before.

    A box that survives keeps its position; one that existed in an earlier step returns to its position there. One that
    shares nodes with former boxes takes the position of the one with which it shares most. New boxes are as near to
    their origins as there is room. `known` holds the positions of all former steps.
    What an operator made is a graph of its own.
    """
    floor = Floor(grid)
    previous = before.places
    points: dict[str, Point] = {}

    def settle(box: Box, point: Point) -> None:
        points[box.id] = point
        floor.take(point)

    for box in boxes.boxes:
        if box.id in previous.points and box.merges is None:
            settle(box, previous.points[box.id])
    for box in boxes.boxes:
        if box.before and box.id in known and box.id not in points and floor.is_free(known[box.id]):
            settle(box, known[box.id])
    others = [box for box in boxes.boxes if box.before and box.id not in points]
    for box in sorted(others, key=lambda box: (-len(box.ids), box.ids[0])):
        former = _former_places(box, previous)
        settle(box, floor.first_free(former) or floor.nearest_free(former[0], "beside"))
    for box in boxes.boxes:
        if box.merges is not None:
            points[box.id] = points[boxes.boxes[box.merges].id]
    new = [i for i, box in enumerate(boxes.boxes) if box.merges is None and not box.before]
    if before.is_operator:
        return points | _places_of_result(boxes, new, before.edges(boxes), floor, grid)
    made_of = {i: _origin_points(boxes.boxes[i], boxes, points, before.origins) for i in new}
    middle = float(np.mean([x for origins in made_of.values() for x, _ in origins])) if new else 0.0
    side: Where = "right" if middle <= before.middle + grid.column / 4 else "left"
    sources: Mapping[int, list[int]] = before.sources(boxes) if new and not grid.wide else {}
    for i in new:
        box = boxes.boxes[i]
        if grid.wide:
            settle(box, _place_between(box, made_of[i], floor))
        else:
            below = [points[name] for name in (boxes.boxes[j].id for j in sources.get(i, ())) if name in points]
            settle(box, _place_beside(made_of[i], below, side, floor, grid))
    return points


def _places_of_result(
    boxes: Boxes, new: Sequence[int], edges: Iterable[Sequence[int]], floor: "Floor", grid: Grid
) -> dict[str, Point]:
    """Return the positions of what an operator on circuits made: a graph of its own, right of others if need be."""
    number = {i: at for at, i in enumerate(new)}
    inside = [(number[one], number[other]) for one, other in edges if one in number and other in number]
    levels, pairs = np.array([boxes.boxes[i].level for i in new], np.int32), np.array(inside, np.int32).reshape(-1, 2)
    points: list[Point] = [(x, y) for x, y in layout(_longest_distances(levels, pairs), pairs, grid).tolist()]
    shift = 0.0 if all(map(floor.is_free, points)) else floor.right + grid.column - min(x for x, _ in points)
    return {boxes.boxes[i].id: (x + shift, y) for i, (x, y) in zip(new, points, strict=True)}


def _former_places(box: Box, previous: Places) -> list[Point]:
    """Return the positions of the former boxes of its nodes, the one with most nodes first."""
    counts: dict[str, int] = {}
    for node in box.ids:
        former = previous.of_node[node]
        counts[former] = counts.get(former, 0) + 1
    return [previous.points[name] for name in sorted(counts, key=lambda name: -counts[name])]


def _origin_points(
    box: Box, boxes: Boxes, points: Mapping[str, Point], origins: Mapping[int, tuple[int, ...]]
) -> list[Point]:
    """Return the positions of the boxes of its origins; of all boxes if there are none."""
    sources = [int(boxes.before[old]) for node in box.ids for old in origins.get(node, ())]
    found = [points[boxes.boxes[place].id] for place in sources if place >= 0]
    return found or list(points.values()) or [(0.0, 0.0)]


def _place_between(box: Box, origins: Sequence[Point], floor: "Floor") -> Point:
    """Return a position in a wide picture for a new box: between its origins."""
    x, y = np.array(origins).mean(axis=0).round().tolist()
    one_row = len({row for _, row in origins}) == 1
    return floor.nearest_free((x, y), ("below" if box.level == 0 else "beside") if one_row else "between")


def _place_beside(origins: Sequence[Point], below: Sequence[Point], side: Where, floor: "Floor", grid: Grid) -> Point:
    """Return a position in a narrow picture: next to the topmost of its origins, but above its inputs."""
    x = float(np.mean([x for x, _ in origins]).round())
    row = min(y for _, y in origins)
    if below:
        row = min(row, min(y for _, y in below) - grid.row)
    return floor.nearest_free((x, row), side)


class Floor:
    """Occupied positions. All boxes have the same size, so a position is free if no centre is too near."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._near_x, self._near_y = grid.width + GAP, grid.height + GAP
        self._cells: dict[tuple[int, int], list[Point]] = {}
        self.right = 0.0
        """The rightmost occupied column."""
        self._offsets: Mapping[Where, list[Point]] = {
            "right": _side_offsets(grid, 1),
            "left": _side_offsets(grid, -1),
            "between": _offsets(grid, up=0.8, down=0.81),
            "beside": _offsets(grid, up=2.5, down=2.51),
            "below": _offsets(grid, up=2.5, down=0.8),
        }

    def take(self, point: Point) -> None:
        """Occupy a position."""
        self._cells.setdefault(self._cell(point), []).append(point)
        self.right = max(self.right, point[0])

    def is_free(self, point: Point) -> bool:
        """Return whether a box there overlaps no other and is inside the picture."""
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
        """Return the first free position of these."""
        return next((point for point in points if self.is_free(point)), None)

    def nearest_free(self, point: Point, where: Where = "between") -> Point:
        """Return the free position nearest to a point, at worst at the right end. `where` defines nearness."""
        x, y = point
        found = self.first_free((x + dx, y + dy) for dx, dy in self._offsets[where])
        return found or (max(self.right, x) + self._grid.column, max(y, MARGIN + self._grid.height / 2))

    def _cell(self, point: Point) -> tuple[int, int]:
        return int(point[0] // self._near_x), int(point[1] // self._near_y)


def _offsets(grid: Grid, up: float, down: float) -> list[Point]:
    """Return offsets to search for room, nearest first, given the cost of half a row when a column costs 1."""
    found = [
        (abs(column) + (down if row > 0 else up) * abs(row) + 0.001 * (column < 0), column, row)
        for column in (n / 2 for n in range(-2 * SEARCH_COLUMNS, 2 * SEARCH_COLUMNS + 1))
        for row in range(-SEARCH_ROWS, SEARCH_ROWS + 1)
    ]
    return [(column * grid.column, row * grid.row / 2) for _, column, row in sorted(found)]


def _side_offsets(grid: Grid, side: int) -> list[Point]:
    """Return offsets next to a box, nearest first: in its row on one side, then a row higher, then behind."""
    found = [
        (
            abs(column) + 0.9 * (column * side < 0) + (1.6 if row < 0 else 1.8) * abs(row) + 0.8 * (column == 0),
            column,
            row,
        )
        for column in (n / 2 for n in range(-2 * SEARCH_COLUMNS, 2 * SEARCH_COLUMNS + 1))
        for row in range(-SEARCH_ROWS, SEARCH_ROWS + 1)
    ]
    return [(column * grid.column, row * grid.row) for _, column, row in sorted(found)]
