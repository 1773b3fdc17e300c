"""Routes and labels of the edges of a picture that is drawn without a script."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist

import numpy as np
from numpy.typing import NDArray

from explorer.views.routes import STACK, Place, Point, routes

MAX_ROUTED_BOXES = 400
"""Maximum number of boxes to route lines around; beyond it, lines are straight: nobody can follow one."""
MAX_LABELS = 300
"""Maximum number of labels to place; beyond it, none are drawn: each is checked against all boxes and lines."""
SAMPLES = 16
"""Number of points of a curve between two corners."""
SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9)
"""Candidate positions of a label along its line, best first."""
RISE = 8.0
"""Minimum gap for a box to count as above its input; otherwise the line goes sideways."""
WORDS_HEIGHT = 14.0


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True, slots=True)
class Line:
    """The corners of a line, vertical at each, and the start of its label; None if there is no room."""

    corners: tuple[Point, ...]
    words: Point | None

    @property
    def points(self) -> list[Point]:
        """Return the points of the curve."""
        return _curve(self.corners)


def lines(places: Sequence[Place], ends: Sequence[tuple[int, int]], widths: Sequence[float]) -> list[Line]:
    """Return the line of each arrow (source, target), by position; labels of given widths (0: none) avoid all boxes.

    An arrow goes from the top of the source to the bottom of the target, or sideways if the target is not above it.
    """
    none: list[list[Point]] = [[] for _ in ends]
    passed = routes(places, ends) if len(places) <= MAX_ROUTED_BOXES else none
    drawn = [_corners(places[source], places[target], at) for (source, target), at in zip(ends, passed, strict=True)]
    if len(places) > MAX_ROUTED_BOXES or not 0 < sum(map(bool, widths)) <= MAX_LABELS:
        return [Line(corners, None) for corners in drawn]
    taken = [(x - w / 2, y - h / 2 - STACK, x + w / 2 + STACK, y + h / 2) for x, y, w, h in places]
    curves = list(map(_curve, drawn))
    every = np.array([point for curve in curves for point in curve])
    words = [_room(curve, width, taken, every) if width else None for curve, width in zip(curves, widths, strict=True)]
    return list(map(Line, drawn, words))


def _corners(source: Place, target: Place, between: Sequence[Point]) -> tuple[Point, ...]:
    (sx, sy, sw, sh), (tx, ty, tw, th) = source, target
    start, end = sy - sh / 2, ty + th / 2
    if start - end >= RISE:
        return ((sx, start), *between, (tx, end))
    side = 1 if tx >= sx else -1
    return ((sx + side * sw / 2, sy), (tx - side * tw / 2, ty))


def is_straight(one: Point, other: Point) -> bool:
    """Return whether a straight line joins two corners: they share a column or a row."""
    return one[0] == other[0] or abs(one[1] - other[1]) < RISE


def _curve(corners: Sequence[Point]) -> list[Point]:
    """Return the points of the curve through the corners."""
    points = [corners[0]]
    for (from_x, from_y), (to_x, to_y) in pairwise(corners):
        middle = (from_y + to_y) / 2
        straight = is_straight((from_x, from_y), (to_x, to_y))
        for i in range(1, SAMPLES + 1):
            t = i / SAMPLES
            u = 1 - t
            if straight:
                points.append((from_x * u + to_x * t, from_y * u + to_y * t))
                continue
            near, far = u**3 + 3 * u * u * t, 3 * u * t * t + t**3  # Bezier, with handles above and below the ends
            rise = u**3 * from_y + (3 * u * u * t + 3 * u * t * t) * middle + t**3 * to_y
            points.append((near * from_x + far * to_x, rise))
    return points


def _room(points: Sequence[Point], width: float, taken: list[Box], every: NDArray[np.float64]) -> Point | None:
    """Return the start of a label on its line that avoids occupied space and covers the fewest points of lines."""
    length, free = [0.0], list[Box]()
    for one, other in pairwise(points):
        length.append(length[-1] + dist(one, other))
    for share in SHARES:
        x, y = next(point for point, at in zip(points, length, strict=True) if at >= share * length[-1])
        for left in (x + 4, x - 4 - width):
            box = (left, y - WORDS_HEIGHT / 2, left + width, y + WORDS_HEIGHT / 2)
            if all(box[2] < l or box[0] > r or box[3] < t or box[1] > b for l, t, r, b in taken):
                free.append(box)
    if not free:
        return None
    best = min(free, key=lambda box: _count_covered(every, box))
    taken.append(best)
    return best[0], (best[1] + best[3]) / 2


def _count_covered(points: NDArray[np.float64], box: Box) -> int:
    """Return the number of points of lines that a label would cover."""
    left, top, right, bottom = box
    x, y = points.T
    return int(np.count_nonzero((left <= x) & (x <= right) & (top <= y) & (y <= bottom)))
