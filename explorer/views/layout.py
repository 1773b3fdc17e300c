"""Initial layout of boxes: by Graphviz, or for large pictures by layers in linear time.

All boxes have the same size; a layout is the centre of each. Inputs are at the bottom, y grows downwards, and the boxes
of a level form a row.
"""

import subprocess
from dataclasses import dataclass
from typing import Any

import graphviz  # pyright: ignore[reportMissingTypeStubs]
import numpy as np
from numpy.typing import NDArray

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

MAX_DOT_BOXES = 300
"""Maximum number of boxes for Graphviz: its time grows much faster than the picture."""
DOT_TIMEOUT_S = 5.0
POINTS_PER_INCH = 72
SWEEPS = 4


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

    Uses Graphviz for up to 300 boxes; beyond that, or if `dot` is missing or too slow, `layered`.
    """
    points = dot_layout(levels, edges, grid) if 0 < len(levels) <= MAX_DOT_BOXES else None
    if points is None:
        points = layered_layout(levels, edges, grid)
    if len(points):
        points = points - points.min(axis=0) + (MARGIN + grid.width / 2, MARGIN + grid.height / 2)
    return np.rint(points)


# ---------------------------------------------------------------------- Graphviz


def dot_layout(levels: IntArray, edges: IntArray, grid: Grid) -> Points | None:
    """Return the layout by `dot`; None if it is missing, fails, or is too slow."""
    source = dot_source(levels, edges, grid)
    command = ["dot", "-Tplain"]
    try:
        result = subprocess.run(command, input=source.encode(), capture_output=True, timeout=DOT_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return _read_plain(result.stdout.decode(), len(levels))


def dot_source(levels: IntArray, edges: IntArray, grid: Grid) -> str:
    """Return the graph in Graphviz's language: boxes by position, one row per level."""
    graph = graphviz.Digraph(
        graph_attr={
            "rankdir": "BT",
            "nodesep": str(COLUMN_GAP / POINTS_PER_INCH),
            "ranksep": str(grid.row_gap / POINTS_PER_INCH),
            "splines": "false",
        },
        node_attr={
            "shape": "box",
            "fixedsize": "true",
            "label": "",
            "width": str(grid.width / POINTS_PER_INCH),
            "height": str(grid.height / POINTS_PER_INCH),
        },
    )
    for level in np.unique(levels).tolist():
        row = graphviz.Digraph(graph_attr={"rank": "same"})
        for position in np.flatnonzero(levels == level).tolist():
            row.node(str(position))  # pyright: ignore[reportUnknownMemberType]
        graph.subgraph(row)  # pyright: ignore[reportUnknownMemberType]
    for source, target in edges.tolist():
        graph.edge(str(source), str(target))  # pyright: ignore[reportUnknownMemberType]
    return graph.source


def _read_plain(text: str, count: int) -> Points | None:
    points = np.full((count, 2), np.nan)
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "node":
            points[int(words[1])] = float(words[2]), -float(words[3])
    return None if np.isnan(points).any() else points * POINTS_PER_INCH


# ---------------------------------------------------------------------- layers


def layered_layout(levels: IntArray, edges: IntArray, grid: Grid) -> Points:
    """Return a layout by level: order by depth-first search and barycenters, columns by isotonic regression.

    Source: Sugiyama et al. 1981, Methods for Visual Understanding of Hierarchical System Structures; the columns are
    the least-squares positions near the neighbours that preserve order and distance (pool adjacent violators).
    """
    if not len(levels):
        return np.zeros((0, 2))
    rows = [np.flatnonzero(levels == level) for level in np.unique(levels)]
    rank = _depth_first(len(levels), edges)
    best = _place_by_rank(rows, rank)
    best_length = _length(best, rows, edges)
    order = best
    for sweep in range(SWEEPS):
        order = _sweep_once(order, rows, edges, upwards=sweep % 2 == 0)
        length = _length(order, rows, edges)
        if length < best_length:
            best, best_length = order, length
    x = _columns(best, rows, edges, grid.column)
    return np.stack([x, -grid.row * levels.astype(np.float64)], axis=1)


def _depth_first(count: int, edges: IntArray) -> IntArray:
    """Return the order in which a search from the outputs first visits each box."""
    sources: list[list[int]] = [[] for _ in range(count)]
    read = np.zeros(count, np.bool_)
    pairs: list[list[int]] = edges.tolist()
    for source, target in pairs:
        sources[target].append(source)
        read[source] = True
    rank = np.full(count, -1, np.int32)
    met = 0
    for start in [*np.flatnonzero(~read).tolist(), *range(count)]:
        stack = [start]
        while stack:
            box = stack.pop()
            if rank[box] >= 0:
                continue
            rank[box] = met
            met += 1
            stack.extend(reversed(sources[box]))
    return rank


def _place_by_rank(rows: list[NDArray[np.intp]], rank: NDArray[np.int32] | Points) -> Points:
    """Return the position of each box in its row sorted by `rank`, relative to the middle of the row."""
    place = np.zeros(sum(map(len, rows)))
    for row in rows:
        place[row[np.argsort(rank[row], kind="stable")]] = np.arange(len(row)) - (len(row) - 1) / 2
    return place


def _length(place: Points, rows: list[NDArray[np.intp]], edges: IntArray) -> float:
    """Return the total horizontal length of edges, with positions spread over the widest row."""
    wide = place.copy()
    widest = max(map(len, rows))
    for row in rows:
        wide[row] *= widest / len(row)
    return float(np.abs(wide[edges[:, 0]] - wide[edges[:, 1]]).sum())


def _sweep_once(place: Points, rows: list[NDArray[np.intp]], edges: IntArray, upwards: bool) -> Points:
    """Do one sweep: sort each row by the mean position of its neighbours in the previous row."""
    here, there = (1, 0) if upwards else (0, 1)
    of_row = np.zeros(len(place), np.intp)
    for number, row in enumerate(rows):
        of_row[row] = number
    by_row = edges[np.argsort(of_row[edges[:, here]], kind="stable")]
    ends = np.searchsorted(of_row[by_row[:, here]], np.arange(len(rows) + 1))
    place = place.copy()
    for number in range(len(rows)) if upwards else reversed(range(len(rows))):
        part, row = by_row[ends[number] : ends[number + 1]], rows[number]
        local = np.zeros(len(place), np.intp)
        local[row] = np.arange(len(row))
        counts = np.bincount(local[part[:, here]], minlength=len(row))
        sums = np.bincount(local[part[:, here]], weights=place[part[:, there]], minlength=len(row))
        mean = np.where(counts > 0, sums / np.maximum(counts, 1), place[row])
        place[row[np.lexsort((place[row], mean))]] = np.arange(len(row)) - (len(row) - 1) / 2
    return place


def _columns(place: Points, rows: list[NDArray[np.intp]], edges: IntArray, distance: float) -> Points:
    """Return columns near the neighbours, in the order of `place`, at least `distance` apart."""
    x = place * distance
    degree = np.bincount(edges.ravel(), minlength=len(x))
    for _ in range(3):
        sums = np.bincount(edges[:, 0], weights=x[edges[:, 1]], minlength=len(x))
        sums += np.bincount(edges[:, 1], weights=x[edges[:, 0]], minlength=len(x))
        wanted = np.where(degree > 0, sums / np.maximum(degree, 1), x)
        for row in rows:
            row = row[np.argsort(place[row], kind="stable")]
            offsets = np.arange(len(row)) * distance
            x[row] = _isotonic(wanted[row] - offsets) + offsets
    return x


def _isotonic(values: NDArray[np.floating[Any]]) -> Points:
    """Return the non-decreasing sequence nearest in least squares (pool adjacent violators)."""
    sums: list[float] = []
    counts: list[int] = []
    for value in values.tolist():
        total, count = value, 1
        while sums and sums[-1] * count > total * counts[-1]:
            total += sums.pop()
            count += counts.pop()
        sums.append(total)
        counts.append(count)
    return np.repeat(np.array(sums) / np.array(counts), counts)
