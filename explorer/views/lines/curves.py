"""The path of an arrow through its points, as an SVG path; `widgets/js/picture/curves.js` draws the same."""

from collections.abc import Sequence
from itertools import pairwise

from explorer.views.lines.passages import Point

STRAIGHT = 0.5
"""A line is straight if its ends differ by less."""
CORNER = 8.0
"""Radius of a corner between a horizontal and a vertical part."""


def curve(points: Sequence[Point]) -> str:
    """Return a smooth line through the points."""
    return f"M{at(*points[0][:2])}" + "".join(_part(one, other) for one, other in pairwise(points))


def _part(one: Point, other: Point) -> str:
    if one.flat != other.flat:
        return _corner(one, other)
    if abs(one.y - other.y if one.flat else one.x - other.x) < STRAIGHT:
        return f"L{at(other.x, other.y)}"
    if one.flat:
        middle = (one.x + other.x) / 2
        return f"C{at(middle, one.y)} {at(middle, other.y)} {at(other.x, other.y)}"
    middle = (one.y + other.y) / 2
    return f"C{at(one.x, middle)} {at(other.x, middle)} {at(other.x, other.y)}"


def _corner(one: Point, other: Point) -> str:
    """Return a horizontal and a vertical part with a round corner between them."""
    x, y = (other.x, one.y) if one.flat else (one.x, other.y)
    across, down = CORNER * sign(other.x - one.x), CORNER * sign(other.y - one.y)
    start, end = ((x - across, y), (x, y + down)) if one.flat else ((x, y - down), (x + across, y))
    return f"L{at(*start)}Q{at(x, y)} {at(*end)}L{at(other.x, other.y)}"


def arrow_head(points: Sequence[Point]) -> str:
    """Return the head of an arrow that ends at the last point."""
    before, tip = points[-2], points[-1]
    back = -7 * (sign(tip.x - before.x if tip.flat else tip.y - before.y) or 1)
    return f"M{at(tip.x, tip.y)}" + (f"l{back} -4v8Z" if tip.flat else f"l-4 {back}h8Z")


def along(points: Sequence[Point], share: float) -> tuple[float, float]:
    """Return the point at this share of a line."""
    parts = len(points) - 1
    part = min(parts - 1, int(share * parts))
    one, other, u = points[part], points[part + 1], share * parts - part
    steep, even = 3 * u * u * (1 - u) + u**3, 1.5 * u * (1 - u) ** 2 + 1.5 * u * u * (1 - u) + u**3
    for_x, for_y = (even, steep) if one.flat and other.flat else (steep, even)
    return one.x + (other.x - one.x) * for_x, one.y + (other.y - one.y) * for_y


def sign(value: float) -> int:
    """Return 1, 0 or -1."""
    return (value > 0) - (value < 0)


def at(x: float, y: float) -> str:
    """Return a point in the syntax of SVG paths."""
    return f"{round(x, 1):g} {round(y, 1):g}"
