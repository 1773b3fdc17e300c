"""Waypoints of arrows that pass several rows, so that they go between boxes and not behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

Place = tuple[float, float, float, float]
"""Centre, width and height of a box."""
Point = tuple[float, float]

CLEAR = 9.0
"""Minimum distance from an arrow to a box that it passes."""
LANE = 7.0
"""Distance between two arrows that pass a row side by side."""
STACK = 8.0
"""How far a stack extends beyond its box, to the right and up."""


@dataclass(frozen=True)
class _Row:
    top: float
    bottom: float
    spans: tuple[tuple[float, float], ...]
    """The left and right end of each box, from left to right."""


def routes(places: Sequence[Place], edges: Sequence[tuple[int, int]]) -> list[list[Point]]:
    """Return the waypoints of each arrow (source, target), by position; none if it passes no other row.

    Arrows go from the top of the source to the bottom of the target; those that do not go up have no waypoints.
    """
    rows = _rows(places)
    taken: list[tuple[float, int]] = []
    found: list[list[Point]] = []
    for source, target in edges:
        (start_x, start_y, _, start_height), (end_x, end_y, _, end_height) = places[source], places[target]
        low, high = start_y - start_height / 2, end_y + end_height / 2
        between = [i for i, row in enumerate(rows) if row.bottom < low and row.top > high]
        points: list[Point] = []
        lane = _straight([rows[i] for i in between], start_x, end_x)
        x = start_x
        for i in reversed(between):
            x = _apart(rows[i], i, _passage(rows[i], x if lane is None else lane), taken)
            taken.append((x, i))
            points += [(x, rows[i].bottom + CLEAR / 2), (x, rows[i].top - STACK - CLEAR / 2)]
        found.append(points)
    return found


def _rows(places: Sequence[Place]) -> list[_Row]:
    """Return rows of boxes that overlap vertically, from top to bottom."""
    groups: list[list[Place]] = []
    bottom = float("-inf")
    for place in sorted(places, key=lambda place: place[1] - place[3] / 2):
        if place[1] - place[3] / 2 >= bottom:
            groups.append([])
        groups[-1].append(place)
        bottom = max(bottom, place[1] + place[3] / 2)
    return [
        _Row(
            min(y - height / 2 for _, y, _, height in group),
            max(y + height / 2 for _, y, _, height in group),
            tuple(sorted((x - width / 2, x + width / 2 + STACK) for x, _, width, _ in group)),
        )
        for group in groups
    ]


def _is_clear(row: _Row, x: float) -> bool:
    return all(x <= left - CLEAR or x >= right + CLEAR for left, right in row.spans)


def _passage(row: _Row, wish: float) -> float:
    """Return the position nearest to `wish` at which the row can be passed."""
    sides = [side for left, right in row.spans for side in (left - CLEAR, right + CLEAR)]
    return min((x for x in (wish, *sides) if _is_clear(row, x)), key=lambda x: abs(x - wish))


def _straight(rows: Sequence[_Row], start: float, end: float) -> float | None:
    """Return a position at which all these rows can be passed in a straight line, if there is one."""
    wishes = [start, end, *(_passage(row, wish) for row in rows for wish in (start, end))]
    clear = [x for x in wishes if all(_is_clear(row, x) for row in rows)]
    return min(clear, key=lambda x: abs(x - start) + abs(x - end), default=None)


def _apart(row: _Row, number: int, x: float, taken: Sequence[tuple[float, int]]) -> float:
    """Return the position, or one next to it, at which no other arrow passes this row."""
    here = [other for other, i in taken if i == number]
    for shift in (0, LANE, -LANE, 2 * LANE, -2 * LANE, 3 * LANE, -3 * LANE):
        if _is_clear(row, x + shift) and all(abs(other - x - shift) >= LANE - 1 for other in here):
            return x + shift
    return x
