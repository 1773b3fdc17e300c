"""Layout of boxes in columns, the same on every machine.

All boxes have the same size; a layout is the centre of each. Inputs are at the left, and the boxes of a level form a
column. Long edges are straight, and boxes are beside their neighbours. The functions below `layout` speak of rows, with
the inputs at the bottom, as their sources do: the picture is turned by `layout`.

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
GAP = 30.0
"""Distance between two boxes of a column: room for the outline of a match and its label."""
COLUMN_GAP, LABEL_GAP = 56.0, 96.0
"""Distance between two columns: room for arrows, or also for how they read."""
MARGIN = 24.0

MAX_COLUMNS = 10
"""A picture of more columns is broken into lines, where that cuts only edges between neighbouring columns."""
MIN_COLUMNS = 4
ASPECT = 2.2
"""Width of a stage, relative to its height."""
LINE_GAP = 48.0
"""Distance between two lines: room for the edges that lead from one to the next."""

LANE = 16.0
"""Room of the lane of an edge that passes a column."""

Order = Sequence[Sequence[int]]

MAX_MOVES = 6
"""Maximum number of times that each block moves towards its neighbours."""
MAX_MOVED = 8_000
"""Maximum number of points to move."""
STRAIGHT = 0.5
"""An edge is straight if the columns of its ends differ by less."""


@dataclass(frozen=True)
class Grid:
    """The size of all boxes of a trace, and the distance between the columns of a step."""

    width: float
    height: float = BOX_HEIGHT
    gap: float = COLUMN_GAP

    @property
    def column(self) -> float:
        """Distance between the centres of two columns."""
        return self.width + self.gap

    @property
    def row(self) -> float:
        """Distance between the centres of two neighbours in a column."""
        return self.height + GAP


def layout(levels: IntArray, edges: IntArray, grid: Grid) -> Points:
    """Return the centres (n, 2) of n boxes with these levels; `edges` (E, 2) holds the positions of source and target.

    Boxes of one level form a column, with few crossings and straight edges; edges that pass a column have a lane in it.
    """
    if not len(levels):
        return np.zeros((0, 2))
    graph = split_rows(levels, edges)
    widths = [grid.row] * graph.boxes + [LANE] * (len(graph.below) - graph.boxes)
    across = columns(graph, order_rows(graph), widths)[: graph.boxes]
    ranks = np.unique(levels, return_inverse=True)[1].ravel()
    whole: Points = np.stack([grid.column * ranks, np.array(across)], axis=1).astype(np.float64)
    points = _break_lines(whole, ranks, edges, grid)
    return np.rint(points - points.min(axis=0) + (MARGIN + grid.width / 2, MARGIN + grid.height / 2))


def _break_lines(points: Points, ranks: NDArray[np.intp], edges: IntArray, grid: Grid) -> Points:
    """Break a long picture into lines that are read like those of a text, so that it fills a stage."""
    last = int(ranks.max())
    if last < MAX_COLUMNS:
        return points
    ends = np.sort(ranks[edges].reshape(-1, 2), axis=1)
    long = ends[ends[:, 1] - ends[:, 0] > 1]
    free = [at for at in range(1, last + 1) if not ((long[:, 0] < at) & (at <= long[:, 1])).any()]
    best, least = points, inf
    for most in range(last + 1, MIN_COLUMNS, -1):
        starts = [0]
        for at, following in pairwise([*free, last + 1]):
            if following - starts[-1] > most:
                starts.append(at)
        line_of = np.searchsorted(starts, ranks, side="right") - 1
        moved, top = points.copy(), 0.0
        for line, start in enumerate(starts):
            inside = line_of == line
            y = points[inside, 1]
            moved[inside] += (-grid.column * start, top - y.min())
            top += y.max() - y.min() + grid.row + LINE_GAP
        size = max((moved[:, 0].max() + grid.column) / ASPECT, top)
        if size < least:
            best, least = moved, size
    return best


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
