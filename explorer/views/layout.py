"""Initial layout of boxes in rows, the same on every machine.

All boxes have the same size; a layout is the centre of each. Inputs are at the bottom, y grows downwards, and the boxes
of a level form a row. Long edges are straight, and boxes are above their neighbours.

Source: Brandes and Koepf 2001, Fast and Simple Horizontal Coordinate Assignment; blocks are placed by two walks
through the graph of blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

import numpy as np
from numpy.typing import NDArray

from explorer.views.crossings import Rows, order_rows, split_rows
from explorer.views.states import IntArray

Points = NDArray[np.float64]

BOX_HEIGHT = 46.0
GAP = 20.0
"""Minimum distance between two boxes."""
COLUMN_GAP = 32.0
ROW_GAP = 54.0
"""Gap between two rows: room for the outline of a match, its label, and arrows."""
WIDE_ROW_GAP = BOX_HEIGHT + 2 * GAP
"""Gap between two rows of a wide picture: a new box fits in it, since there is no room next to the old one."""
MARGIN = 24.0

LANE = 16.0
"""Width of the lane of an edge that passes a row."""

Order = Sequence[Sequence[int]]

MAX_MOVES = 6
"""Maximum number of times that each block moves towards its neighbours."""
MAX_MOVED = 8_000
"""Maximum number of points to move."""
STRAIGHT = 0.5
"""An edge is straight if the columns of its ends differ by less."""


@dataclass(frozen=True)
class Grid:
    """The size of all boxes of a trace, and the gaps between columns and rows."""

    width: float
    height: float = BOX_HEIGHT
    row_gap: float = ROW_GAP

    @property
    def wide(self) -> bool:
        """Return whether a box fits between two rows."""
        return self.row_gap >= WIDE_ROW_GAP

    @property
    def column(self) -> float:
        """Distance between the centres of two neighbours in a row."""
        return self.width + COLUMN_GAP

    @property
    def row(self) -> float:
        """Distance between the centres of two rows."""
        return self.height + self.row_gap


def layout(levels: IntArray, edges: IntArray, grid: Grid) -> Points:
    """Return the centres (n, 2) of n boxes with these levels; `edges` (E, 2) holds the positions of source and target.

    Boxes of one level form a row, with few crossings and straight edges; edges that pass a row have a lane in it.
    """
    if not len(levels):
        return np.zeros((0, 2))
    graph = split_rows(levels, edges)
    widths = [grid.column] * graph.boxes + [LANE] * (len(graph.below) - graph.boxes)
    x = columns(graph, order_rows(graph), widths)[: graph.boxes]
    rows = np.unique(levels, return_inverse=True)[1].ravel()
    points = np.stack([np.array(x), -grid.row * rows], axis=1)
    return np.rint(points - points.min(axis=0) + (MARGIN + grid.width / 2, MARGIN + grid.height / 2))


def columns(graph: Rows, order: Order, widths: Sequence[float]) -> list[float]:
    """Return the centre of each point: the mean of the middle two of four layouts, each aligned to one corner.

    Then points on a straight line move together to the middle of their neighbours, as far as there is room.
    `widths` holds the space that each point needs in its row.
    """
    crossed = _crossed_segments(graph, order)
    found: list[list[float]] = []
    for upwards in (True, False):
        neighbours = graph.below if upwards else graph.above
        rows = order if upwards else order[::-1]
        for sign in (1, -1):
            turned = [row[::sign] for row in rows]
            roots = _align(turned, neighbours, crossed)
            found.append([sign * x for x in _compact(turned, roots, widths)])
    x = _balance(found)
    return x if len(x) > MAX_MOVED else _tighten(graph, order, widths, x)


def _crossed_segments(graph: Rows, order: Order) -> frozenset[tuple[int, int]]:
    """Return segments (lower, upper) that cross a segment between two waypoints: those yield, so it is straight."""
    place = {point: at for row in order for at, point in enumerate(row)}
    found: list[tuple[int, int]] = []
    for row in order[1:]:
        inner = [(at, below[0]) for at, point in enumerate(row) if (below := _inner(graph, point))]
        ends = [(-1, -1), *((at, place[end]) for at, end in inner), (len(row), len(place))]
        for (from_at, low), (to_at, high) in pairwise(ends):
            for at in range(from_at + 1, to_at):
                found += [(end, row[at]) for end in graph.below[row[at]] if not low <= place[end] <= high]
    passing = [point for point in range(graph.boxes, len(graph.above)) if max(graph.above[point]) >= graph.boxes]
    found += [(point, end) for point in passing for end in graph.above[point] if end < graph.boxes]
    return frozenset(found)


def _inner(graph: Rows, point: int) -> tuple[int, ...]:
    """Return the waypoint below a waypoint."""
    return tuple(end for end in graph.below[point] if min(end, point) >= graph.boxes)


def _align(rows: Order, neighbours: Sequence[Sequence[int]], crossed: frozenset[tuple[int, int]]) -> list[int]:
    """Return the root of each point's block: points of neighbouring rows that share a column."""
    roots = list(range(len(neighbours)))
    place = {point: at for row in rows for at, point in enumerate(row)}
    for row in rows:
        free = 0
        for point in row:
            ends = sorted(neighbours[point], key=place.__getitem__)
            middle = len(ends) // 2
            for end in ends[middle - 1 + len(ends) % 2 : middle + 1]:
                taken = roots[point] != point or place[end] < free
                if not taken and (end, point) not in crossed and (point, end) not in crossed:
                    roots[point] = roots[end]
                    free = place[end] + 1
    return roots


def _compact(rows: Order, roots: Sequence[int], widths: Sequence[float]) -> list[float]:
    """Return the leftmost columns of blocks, then moved right as far as their right neighbours allow."""
    after: dict[int, dict[int, float]] = {root: {} for root in roots}
    waiting = dict.fromkeys(after, 0)
    for row in rows:
        for left, right in pairwise(row):
            one, other = roots[left], roots[right]
            gap = (widths[left] + widths[right]) / 2
            waiting[other] += other not in after[one]
            after[one][other] = max(gap, after[one].get(other, 0.0))
    x = dict.fromkeys(after, 0.0)
    walk = [root for root in after if not waiting[root]]
    for root in walk:
        for other, gap in after[root].items():
            x[other] = max(x[other], x[root] + gap)
            waiting[other] -= 1
            if not waiting[other]:
                walk.append(other)
    for root in reversed(walk):
        if after[root]:
            x[root] = max(x[root], min(x[other] - gap for other, gap in after[root].items()))
    return [x[root] for root in roots]


def _balance(layouts: Sequence[Sequence[float]]) -> list[float]:
    """Align four layouts to the narrowest, every second by its right end, and return the middle for each point."""
    narrowest = min(layouts, key=lambda xs: max(xs, default=0.0) - min(xs, default=0.0))
    shifted: list[list[float]] = []
    for number, xs in enumerate(layouts):
        side = max if number % 2 else min
        shift = side(narrowest, default=0.0) - side(xs, default=0.0)
        shifted.append([x + shift for x in xs])
    return [sum(sorted(xs)[1:3]) / 2 for xs in zip(*shifted, strict=True)]


def _tighten(graph: Rows, order: Order, widths: Sequence[float], x: list[float]) -> list[float]:
    """Move each block of straight edges to the median of its neighbours."""
    x = x[:]
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    for row in order:
        right.update(pairwise(row))
        left.update((after, before) for before, after in pairwise(row))
    for _ in range(MAX_MOVES):
        moved = False
        for block in _straight_blocks(graph, order, x):
            at = x[block[0]]
            low = max((x[left[p]] + (widths[p] + widths[left[p]]) / 2 for p in block if p in left), default=-inf)
            high = min((x[right[p]] - (widths[p] + widths[right[p]]) / 2 for p in block if p in right), default=inf)
            near, far = _middle(_ends(graph, block, x))
            to = max(low, min(high, max(near, min(far, at))))
            if abs(to - at) >= STRAIGHT:
                moved = True
                for point in block:
                    x[point] = to
        if not moved:
            break
    return x


def _ends(graph: Rows, block: Sequence[int], x: Sequence[float]) -> list[float]:
    """Return for each side of each point of a block the middle of its neighbours outside the block."""
    inside = frozenset(block)
    sides = (side[point] for point in block for side in (graph.below, graph.above))
    outside = ([x[end] for end in side if end not in inside] for side in sides)
    return [sum(_middle(ends)) / 2 for ends in outside if ends] or [x[block[0]]]


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """Return the two values in the middle, or the one in the middle twice."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]


def _straight_blocks(graph: Rows, order: Order, x: Sequence[float]) -> list[list[int]]:
    """Return the points that straight edges connect, block by block."""
    block_of: dict[int, list[int]] = {}
    blocks: list[list[int]] = []
    for row in order:
        for point in row:
            lower = next((end for end in graph.below[point] if abs(x[end] - x[point]) < STRAIGHT), None)
            if lower is None:
                blocks.append([])
            block_of[point] = blocks[-1] if lower is None else block_of[lower]
            block_of[point].append(point)
    return blocks
