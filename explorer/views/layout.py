"""Initial layout of boxes in rows, the same on every machine.

All boxes have the same size; a layout is the centre of each. Inputs are at the bottom, y grows downwards, and the boxes
of a level form a row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.views.layered import columns, order_rows, split_rows
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
