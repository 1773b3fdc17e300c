"""Rows of boxes, and where an arrow can pass them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

STACK = 8.0
"""Extent of a stack beyond its box, to the right and up."""
CLEAR, SNUG = 9.0, 6.0
"""Minimum distance of an arrow from the boxes that it passes, and if it must make room for another arrow."""
LANE = 7.0
"""Distance between two arrows that pass a row side by side."""
TIGHT, AIRY = 10.0, 22.0
"""Smallest distance from the boxes on both sides of a gap, and the preferred one."""


Place = tuple[float, float, float, float]
"""Centre, width and height of a box."""


class Point(NamedTuple):
    """A point of a line: vertical there, or horizontal if `flat`."""

    x: float
    y: float
    flat: bool = False


class Spot(NamedTuple):
    """The place of a box: its centre and size; `rise` is how far its stack extends to the right and up."""

    x: float
    y: float
    width: float
    height: float
    rise: float = 0.0

    @property
    def left(self) -> float:
        """Its left side."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Its right side, beyond its stack."""
        return self.x + self.width / 2 + self.rise

    @property
    def top(self) -> float:
        """Its upper side, below its stack."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Its lower side."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Row:
    """Boxes that overlap vertically, from left to right."""

    top: float
    bottom: float
    spots: tuple[Spot, ...]

    def is_clear(self, x: float, margin: float) -> bool:
        """Return whether a vertical line passes without touching a box."""
        return all(x < spot.left - margin or x > spot.right + margin for spot in self.spots)

    def passage(self, wish: float) -> float:
        """Return the position nearest to `wish` at which a line passes between the boxes."""
        lefts = [-inf, *(spot.right for spot in self.spots)]
        rights = [*(spot.left for spot in self.spots), inf]
        gaps = [gap for gap in zip(lefts, rights, strict=True) if gap[1] - gap[0] >= 2 * TIGHT - 6]
        return min((self._in_gap(left, right, wish) for left, right in gaps), key=lambda x: abs(x - wish))

    def _in_gap(self, left: float, right: float, wish: float) -> float:
        margin = min(AIRY, max(TIGHT, (right - left) / 2))
        return (left + right) / 2 if right - left <= 2 * margin else min(right - margin, max(left + margin, wish))

    def apart(self, x: float, taken: Sequence[float]) -> float:
        """Return `x`, or the nearest position to it, that no other line takes."""
        for shift in (0, LANE, -LANE, 2 * LANE, -2 * LANE, 3 * LANE, -3 * LANE):
            if self.is_clear(x + shift, SNUG) and all(abs(other - x - shift) > LANE - 2 for other in taken):
                return x + shift
        return x


def rows_of(spots: Sequence[Spot]) -> list[Row]:
    """Return the rows of boxes, from top to bottom."""
    groups: list[list[Spot]] = []
    bottom = -inf
    for spot in sorted(spots, key=lambda spot: spot.top):
        if spot.top >= bottom:
            groups.append([])
            bottom = -inf
        groups[-1].append(spot)
        bottom = max(bottom, spot.bottom)
    return [
        Row(min(spot.top for spot in group), max(spot.bottom for spot in group), tuple(sorted(group)))
        for group in groups
    ]


def straight_lane(rows: Sequence[Row], start: float, end: float) -> float | None:
    """Return a position at which all these rows can be passed in a straight line, if there is one."""
    wishes = [start, end, *(row.passage(wish) for row in rows for wish in (start, end, (start + end) / 2))]
    nearest_first = sorted(dict.fromkeys(wishes), key=lambda x: abs(x - start) + abs(x - end))
    return next((x for x in nearest_first if all(row.is_clear(x, CLEAR) for row in rows)), None)


def passages(rows: Sequence[Row], taken: Sequence[list[float]], wish: float) -> list[float]:
    """Return where a line passes each of these rows, near `wish`, and add that to what lines have taken there."""
    found: list[float] = []
    for row, others in zip(rows, taken, strict=True):
        wish = row.apart(row.passage(wish), others)
        others.append(wish)
        found.append(wish)
    return found
