"""The ways of lines between plates that are not direct: along the gaps of the page, and around plates between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from explorer.views.lines import TIGHT, Row, Spot, passages, straight_lane
from explorer.views.plates.cells import Pairs
from explorer.views.plates.layout import ABOVE, BELOW, Placed, Stage

TURN = 10.0
"""Distance of a line that goes along gaps from the columns that it leaves and enters."""
FIRST, LANE, LANES = 9.0, 4.0, 4
"""Distance of the lowest line in the gap above a line of plates from these, and of lines of different plates from each
other; at most this many are told apart."""
TOUCH = 2.0
"""A line that is nearer to a plate than this seems to end there."""
WORDS = (ABOVE - 8.0, BELOW - 12.0)
"""Height of the words above and below a plate, beyond which a line passes."""
_T = np.linspace(0, 1, 257)
_ACROSS, _DOWN = 1.5 * _T * (1 - _T) + _T**3, 3 * _T**2 - 2 * _T**3
"""Shares of the width and the height of a direct line, a curve that begins and ends horizontally."""

Ends = tuple[int, int]
"""Positions of the plate that is read and of the one that reads it."""
Reads = Mapping[Ends, Pairs | None]
"""The cells that a direct line joins; None if it joins the plates."""
Points = list[list[float]]
Column = tuple[Row, list[float]]
"""The plates of a column as a row that lines pass, with x and y exchanged, and what lines take there."""
Floats = npt.NDArray[np.float64]


def routes(stage: Stage, reads: Reads) -> dict[Ends, Points]:
    """Return the points of each line that is not direct.

    One along gaps has corners, [x, y]. One around plates is a curve that is horizontal at its points, [x, y, 1].
    """
    gaps = _Gaps(stage)
    found: dict[Ends, Points] = {}
    crossing: list[Ends] = []
    for ends in sorted(reads, key=lambda ends: (_distance(stage, ends), ends)):
        if stage.line_of[ends[0]] != stage.line_of[ends[1]] or _distance(stage, ends) <= 0:
            found[ends] = gaps.way(ends, reads[ends])
        elif _meets_plates(stage, ends, reads[ends]):
            crossing.append(ends)
    columns = gaps.columns()
    for ends in crossing:
        found[ends] = _around(stage, ends, reads[ends], columns[stage.line_of[ends[0]]])
    return found


def _distance(stage: Stage, ends: Ends) -> float:
    """Return how far apart the columns of two plates are: the shortest lines are next to the plates between."""
    return stage.placed[ends[1]].column[0] - stage.placed[ends[0]].column[1]


def _ports(stage: Stage, ends: Ends, pairs: Pairs | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return x and y at the right of what is read, and at the left of what reads it, for each direct line."""
    one, other = (stage.placed[end] for end in ends)
    if pairs is None:
        return np.array([one.right]), np.array([one.middle]), np.array([other.left]), np.array([other.middle])
    x, y, width, height = _areas(one)[pairs[:, 0]].T
    left, top, _, down = _areas(other)[pairs[:, 1]].T
    return x + width, y + height / 2, left, top + down / 2


def _areas(placed: Placed) -> Floats:
    """Return left, top, width and height of the cells of a plate."""
    return np.array(placed.shape.places, np.float64) * (placed.shape.unit * 2) + (placed.left, placed.top, 0, 0)


def _port(stage: Stage, ends: Ends, pairs: Pairs | None) -> tuple[float, float, float, float]:
    """Return the ends of a line that is not direct: those of the plates, unless it stands for one direct line."""
    x1, y1, x2, y2 = _ports(stage, ends, pairs if pairs is not None and len(pairs) == 1 else None)
    return float(x1[0]), float(y1[0]), float(x2[0]), float(y2[0])


# ---------------------------------------------------------------------- on one line of plates


def _meets_plates(stage: Stage, ends: Ends, pairs: Pairs | None) -> bool:
    """Return whether a direct line passes a plate that it neither leaves nor enters."""
    one, other = (stage.placed[end] for end in ends)
    between = [
        placed
        for position, (line, placed) in enumerate(zip(stage.line_of, stage.placed, strict=True))
        if line == stage.line_of[ends[0]] and position not in ends
        if placed.right > one.left and placed.left < other.right
    ]
    if not between:
        return False
    x1, y1, x2, y2 = _ports(stage, ends, pairs)

    def height_at(x: float) -> Floats:
        return y1 + (y2 - y1) * np.interp((x - x1) / (x2 - x1), _ACROSS, _DOWN)

    for placed in between:
        enters, leaves = height_at(placed.left - TOUCH), height_at(placed.right + TOUCH)
        passes = (x1 < placed.right) & (x2 > placed.left)
        above, below = np.minimum(enters, leaves), np.maximum(enters, leaves)
        if (passes & (above < placed.bottom + TOUCH) & (below > placed.top - TOUCH)).any():
            return True
    return False


def _around(stage: Stage, ends: Ends, pairs: Pairs | None, columns: Sequence[Column]) -> Points:
    """Lead a line through the columns between; it bends between columns only, where no plate is."""
    start, end = (stage.placed[at].column for at in ends)
    between = [column for column in columns if start[1] < column[0].top and column[0].bottom < end[0]]
    x1, y1, x2, y2 = _port(stage, ends, pairs)
    points = [(x1, y1), (start[1], y1)]
    rows, taken = [row for row, _ in between], [taken for _, taken in between]
    lane = straight_lane(rows, y1, y2)
    lanes = passages(rows, taken, y1 if lane is None else lane)
    for row, y in zip(rows, lanes, strict=True):
        points += [(row.top, y), (row.bottom, y)]
    return [[round(x, 1), round(y, 1), 1] for x, y in (*points, (end[0], y2), (x2, y2))]


# ---------------------------------------------------------------------- along the gaps between lines of plates


class _Stretch(NamedTuple):
    """A horizontal part of a line, and the plate that is read."""

    left: float
    right: float
    y: float
    source: int

    def meets(self, left: float, right: float) -> bool:
        """Return whether it is between two positions."""
        return self.left < right and self.right > left


@dataclass(slots=True)
class _Gaps:
    """The gaps between lines of plates, and the lines that are there."""

    stage: Stage
    taken: "dict[int, list[_Stretch]]" = field(default_factory=dict[int, "list[_Stretch]"])
    """The stretches in the gap above each line of plates."""

    def way(self, ends: Ends, pairs: Pairs | None) -> Points:
        """Return the way from a plate to one on another line, or further left: behind its column, and along gaps."""
        stage = self.stage
        first, last = (stage.line_of[end] for end in ends)
        start, y1, end, y2 = _port(stage, ends, pairs)
        x, back = stage.placed[ends[0]].column[1] + TURN, stage.placed[ends[1]].column[0] - TURN
        points = [[start, y1], [x, y1]]
        gaps = range(first + 1, last + 1) if first < last else range(first, min(last, first - 1), -1)
        for gap in gaps:
            goal = back if gap == gaps[-1] else self._passage(gap if first < last else gap - 1, x)
            if goal != x:
                level = self._level(gap, min(x, goal), max(x, goal), ends[0])
                points += [[x, level], [goal, level]]
                x = goal
        return [*points, [x, y2], [end, y2]]

    def columns(self) -> dict[int, list[Column]]:
        """Return the columns of each line of plates."""
        spots: dict[tuple[int, tuple[float, float]], list[Spot]] = {}
        above, below = WORDS
        for line, placed in zip(self.stage.line_of, self.stage.placed, strict=True):
            top, bottom = placed.top - above, placed.bottom + below
            spots.setdefault((line, placed.column), []).append(Spot((top + bottom) / 2, 0.0, bottom - top, 0.0))
        found: dict[int, list[Column]] = {}
        for (line, (left, right)), column in spots.items():
            stretches = (*self.taken.get(line, ()), *self.taken.get(line + 1, ()))
            taken = [stretch.y for stretch in stretches if stretch.meets(left, right)]
            found.setdefault(line, []).append((Row(left, right, tuple(column), TIGHT), taken))
        return found

    def _passage(self, line: int, x: float) -> float:
        """Return the position nearest to `x` at which a line passes between the columns of a line of plates."""
        on_line = zip(self.stage.line_of, self.stage.placed, strict=True)
        sides = [placed.column for at, placed in on_line if at == line]
        if not any(left - TOUCH < x < right + TOUCH for left, right in sides):
            return x
        free = [min(left for left, _ in sides) - TURN, *(right + TURN for _, right in sides)]
        return min(free, key=lambda side: abs(side - x))

    def _level(self, line: int, left: float, right: float, source: int) -> float:
        """Return the height of a stretch in the gap above a line of plates, clear of those from other plates."""
        taken = self.taken.setdefault(line, [])
        others = [other.y for other in taken if other.source != source and other.meets(left, right)]
        levels = [self.stage.tops[line] - FIRST - lane * LANE for lane in range(LANES)]
        level = next((level for level in levels if level not in others), levels[0])
        taken.append(_Stretch(left, right, level, source))
        return level
