"""The points of arrows: side by side at the boxes, and through the gaps of the columns between, where they can pass.

A picture is read from left to right. The rules below speak of rows from the bottom to the top: `routes` and `direct`
mirror the places, and mirror the points back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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


def _straight_lane(rows: Sequence[Row], start: float, end: float) -> float | None:
    """Return a position at which all these rows can be passed in a straight line, if there is one."""
    wishes = [start, end, *(row.passage(wish) for row in rows for wish in (start, end, (start + end) / 2))]
    nearest_first = sorted(dict.fromkeys(wishes), key=lambda x: abs(x - start) + abs(x - end))
    return next((x for x in nearest_first if all(row.is_clear(x, CLEAR) for row in rows)), None)


def _passages(rows: Sequence[Row], taken: Sequence[list[float]], wish: float) -> list[float]:
    """Return where a line passes each of these rows, near `wish`, and add that to what lines have taken there."""
    found: list[float] = []
    for row, others in zip(rows, taken, strict=True):
        wish = row.apart(row.passage(wish), others)
        others.append(wish)
        found.append(wish)
    return found


FEED = 24.0
"""Distance from a box at which an arrow turns to the next line, or comes from the one before."""
MAX_ROUTED_BOXES = 400
"""Maximum number of boxes to route arrows around; beyond it they are direct: nobody can follow one."""
MAX_SPREAD_ARROWS = 4000
"""Maximum number of arrows that leave a box side by side; beyond it they leave at the middle."""
PORT_GAP = 16.0
"""Distance between arrows at a box."""
PORTS_SHARE = 0.72
"""The share of a side of a box that arrows use."""
ABOVE = 18.0
"""Height above boxes at which an arrow passes boxes in its own row."""
NARROW, REACH = 26.0, 10.0
"""An arrow enters at the side of its box if its last turn is at most this high, and this far beyond the side."""

Ends = Sequence[tuple[int, int]]


@dataclass(slots=True)
class _Arrow:
    source: Spot
    target: Spot
    points: list[Point]

    @property
    def upright(self) -> bool:
        """True if it leaves and enters at the top and the bottom."""
        return abs(self.target.y - self.source.y) >= (self.source.height + self.target.height) / 2

    @property
    def way(self) -> int:
        """1 if it goes down or, from side to side, right; else -1."""
        step = self.target.y - self.source.y if self.upright else self.target.x - self.source.x
        return -1 if step < 0 else 1


def routes(spots: Sequence[Spot], ends: Ends) -> list[tuple[Point, ...]]:
    """Return the points of each arrow (source, target), by position of its boxes."""
    feeds = _line_feeds(spots, ends)
    spots = [_mirrored(spot) for spot in spots]
    arrows = [_direct(spots[source], spots[target]) for source, target in ends]
    if len(arrows) <= MAX_SPREAD_ARROWS:
        _spread(arrows, ends)
    if len(spots) <= MAX_ROUTED_BOXES:
        rows = rows_of(spots)
        taken: dict[int, list[float]] = {number: [] for number in range(len(rows))}
        for arrow in arrows:
            if not arrow.upright:
                _go_over_neighbours(arrow, spots)
        for arrow in arrows:
            if arrow.upright:
                _go_around(arrow, rows, taken)
    return [feeds.get(end) or _mirrored_back(arrow.points) for end, arrow in zip(ends, arrows, strict=True)]


def _line_feeds(spots: Sequence[Spot], ends: Ends) -> dict[tuple[int, int], tuple[Point, ...]]:
    """Lead arrows from the end of one line of boxes to the beginning of the next, through the gap between both."""
    found: dict[tuple[int, int], tuple[Point, ...]] = {}
    back = [(one, other) for one, other in ends if spots[other].right < spots[one].left]
    rows = rows_of(spots) if back else []
    for end in back:
        source, target = (spots[box] for box in end)
        gaps = [(lower.top - upper.bottom, (lower.top + upper.bottom) / 2) for upper, lower in pairwise(rows)]
        between = [(size, y) for size, y in gaps if min(source.y, target.y) < y < max(source.y, target.y)]
        if between:
            shift = LANE * (len(found) % 5 - 2)
            right, left, y = source.right + FEED + shift, target.left - FEED + shift, max(between)[1] + shift
            middle = (right + left) / 2
            start, *turns = Point(source.right, source.y, flat=True), Point(right, (source.y + y) / 2)
            turns += [Point(middle, y, flat=True), Point(left, (y + target.y) / 2)]
            found[end] = (start, *turns, Point(target.left, target.y, flat=True))
    return found


def direct(source: Spot, target: Spot) -> tuple[Point, ...]:
    """Return a line between the facing sides of two boxes."""
    return _mirrored_back(_direct(_mirrored(source), _mirrored(target)).points)


def _mirrored(spot: Spot) -> Spot:
    """Mirror a place so that left becomes down; a stack extends to the right and up on both sides of the mirror."""
    return Spot(-spot.y, -spot.x, spot.height, spot.width, spot.rise)


def _mirrored_back(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple(Point(-round(y, 1), -round(x, 1), not flat) for x, y, flat in points)


def _direct(source: Spot, target: Spot) -> _Arrow:
    arrow = _Arrow(source, target, [])
    arrow.points = [_end_at(source, arrow.upright, arrow.way), _end_at(target, arrow.upright, -arrow.way)]
    return arrow


def _end_at(spot: Spot, upright: bool, side: int) -> Point:
    """Return the middle of a side of a box, beyond its stack."""
    if upright:
        return Point(spot.x, spot.bottom if side > 0 else spot.top - spot.rise)
    return Point(spot.right if side > 0 else spot.left, spot.y, flat=True)


def _spread(arrows: Sequence[_Arrow], ends: Ends) -> None:
    """Put arrows at one side of a box next to each other, in the order of the boxes at their other ends."""
    ports: dict[tuple[int, bool, int], list[tuple[float, _Arrow, int]]] = {}
    for arrow, (source, target) in zip(arrows, ends, strict=True):
        for box, other, side, end in ((source, arrow.target, arrow.way, 0), (target, arrow.source, -arrow.way, -1)):
            at = other.x if arrow.upright else other.y
            ports.setdefault((box, arrow.upright, side), []).append((at, arrow, end))
    for group in ports.values():
        group.sort(key=lambda port: port[0])
        for number, (_, arrow, end) in enumerate(group):
            spot = arrow.target if end else arrow.source
            side = spot.width if arrow.upright else spot.height
            gap = min(PORT_GAP, PORTS_SHARE * side / max(1, len(group) - 1))
            shift = (number - (len(group) - 1) / 2) * gap
            x, y, flat = arrow.points[end]
            arrow.points[end] = Point(x + shift, y) if arrow.upright else Point(x, y + shift, flat)


def _go_over_neighbours(arrow: _Arrow, spots: Sequence[Spot]) -> None:
    """Lead an arrow to a box in the same row above the boxes between, and into it from above."""
    source, target = arrow.source, arrow.target
    left, right = sorted((source.x, target.x))
    top, bottom = sorted((source.y, target.y))
    between = [spot for spot in spots if left < spot.x < right and spot.bottom > top and spot.top < bottom]
    between = [spot for spot in between if spot is not source and spot is not target]
    if between:
        tops = [spot.top - spot.rise for spot in (source, target, *between)]
        end = target.x - arrow.way * target.width / 4
        over = Point(end - arrow.way * 10, min(tops) - ABOVE, flat=True)
        arrow.points = [Point(source.x, tops[0]), over, Point(end, tops[1])]


def _go_around(arrow: _Arrow, rows: Sequence[Row], taken: dict[int, list[float]]) -> None:
    """Lead an arrow through the gaps of the rows between its boxes, in a straight line if there is one."""
    start, end = arrow.points
    top, bottom = sorted((start.y, end.y))
    between = [number for number, row in enumerate(rows) if row.top - 1 > top and row.bottom + 1 < bottom]
    if not between:
        return
    lane = _straight_lane([rows[number] for number in between], start.x, end.x)
    order = between if arrow.way > 0 else between[::-1]
    passed = [rows[number] for number in order]
    lanes = _passages(passed, [taken[number] for number in order], start.x if lane is None else lane)
    turns: list[Point] = []
    for row, x in zip(passed, lanes, strict=True):
        upper, lower = row.top - 4 - STACK, row.bottom + 4
        enter, leave = (upper, lower) if arrow.way > 0 else (lower, upper)
        if turns and abs(turns[-1].x - x) < 1:
            turns.pop()
        else:
            turns.append(Point(x, enter))
        turns.append(Point(x, leave))
    arrow.points = [start, *turns, end]
    for at, turn, spot in ((0, 1, arrow.source), (-1, -2, arrow.target)):
        arrow.points[at] = _at_side(arrow.points[at], arrow.points[turn], spot, rows) or arrow.points[at]


def _at_side(end: Point, turn: Point, spot: Spot, rows: Sequence[Row]) -> Point | None:
    """Return the side of a box for an arrow that has no room to turn above or below it, if the way is free."""
    side = spot.right if turn.x > spot.x else spot.left
    if abs(end.y - turn.y) > NARROW or abs(turn.x - spot.x) < abs(side - spot.x) + REACH:
        return None
    row = next(row for row in rows if row.top <= spot.y <= row.bottom)
    left, right = sorted((turn.x, spot.x))
    if any(other is not spot and other.right > left and other.left < right for other in row.spots):
        return None
    return Point(side, spot.y + (5 if end.y > spot.y else -5), flat=True)
