"""The outline of a match: one line around its boxes, which leaves out the boxes between them."""

from collections.abc import Sequence

from explorer.views.lines.curves import at, sign
from explorer.views.lines.passages import Spot

Rect = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Corner = tuple[float, float]

HALF = 9.0
"""Half the width of a corridor between two boxes."""
WIDEST, INSET = 44.0, 30.0
"""Maximum width of a corridor straight up; distance of another one from the corner of its box."""
RADIUS = 9.0
SIDEWAYS = 1.2
"""The cost of a corridor to the side, when one up costs 1."""


def cover(spots: Sequence[Spot], pad: float, joined: bool = True) -> list[Rect]:
    """Return rectangles that together surround the boxes: one around each, and corridors if they are `joined`."""
    rects = [(spot.left - pad, spot.top - spot.rise - pad, spot.right + pad, spot.bottom + pad) for spot in spots]
    if not joined:
        return rects
    inside, outside, corridors = [0], list(range(1, len(rects))), list[Rect]()
    while outside:
        pairs = [(_gap(rects[one], rects[other]), one, other) for one in inside for other in outside]
        _, one, other = min(pairs, key=lambda pair: pair[0])
        outside.remove(other)
        inside.append(other)
        corridors += _corridor(rects[one], rects[other])
    return [*rects, *corridors]


def _gap(one: Rect, other: Rect) -> float:
    across = max(0.0, other[0] - one[2], one[0] - other[2])
    down = max(0.0, other[1] - one[3], one[1] - other[3])
    return down + SIDEWAYS * across


def _corridor(one: Rect, other: Rect) -> list[Rect]:
    if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]:
        return []
    upper, lower = (one, other) if one[1] < other[1] else (other, one)
    if upper[3] >= lower[1]:
        left, right = (one, other) if one[0] < other[0] else (other, one)
        middle = (max(left[1], right[1]) + min(left[3], right[3])) / 2
        return [(left[2] - 1, middle - HALF, right[0] + 1, middle + HALF)]
    start, end = max(upper[0], lower[0]), min(upper[2], lower[2])
    if end - start >= 2 * HALF:
        middle, half = (start + end) / 2, min(end - start, WIDEST) / 2
        return [(middle - half, upper[3] - 1, middle + half, lower[1] + 1)]
    above, below = (upper[0] + upper[2]) / 2, (lower[0] + lower[2]) / 2
    if below > above:
        start, end = max(above, upper[2] - INSET), min(below, lower[0] + INSET)
    else:
        start, end = min(above, upper[0] + INSET), max(below, lower[2] - INSET)
    middle = (upper[3] + lower[1]) / 2
    return [
        (start - HALF, upper[3] - 1, start + HALF, middle + HALF),
        (min(start, end) - HALF, middle - HALF, max(start, end) + HALF, middle + HALF),
        (end - HALF, middle - HALF, end + HALF, lower[1] + 1),
    ]


def outline(rects: Sequence[Rect]) -> str:
    """Return the outline of a union of rectangles with round corners, as an SVG path."""
    xs = sorted({x for left, _, right, _ in rects for x in (left, right)})
    ys = sorted({y for _, top, _, bottom in rects for y in (top, bottom)})
    filled = {
        (column, row)
        for left, top, right, bottom in rects
        for column in range(xs.index(left), xs.index(right))
        for row in range(ys.index(top), ys.index(bottom))
    }
    sides: dict[tuple[int, int], list[tuple[int, int]]] = {}
    """Sides of the union, clockwise, keyed by the corner where they start."""
    for column, row in sorted(filled, key=lambda cell: (cell[1], cell[0])):
        around = (
            ((column, row), (column + 1, row), (column, row - 1)),
            ((column + 1, row), (column + 1, row + 1), (column + 1, row)),
            ((column + 1, row + 1), (column, row + 1), (column, row + 1)),
            ((column, row + 1), (column, row), (column - 1, row)),
        )
        for start, end, neighbour in around:
            if neighbour not in filled:
                sides.setdefault(start, []).append(end)
    path = ""
    while sides:
        corner = next(iter(sides))
        corners: list[Corner] = []
        while corner in sides:
            corners.append((xs[corner[0]], ys[corner[1]]))
            following = sides[corner].pop()
            if not sides[corner]:
                del sides[corner]
            corner = following
        path += _rounded(_turns(corners))
    return path


def _turns(corners: Sequence[Corner]) -> list[Corner]:
    """Return the corners at which the outline changes its direction."""
    found: list[Corner] = []
    for before, corner, after in zip([corners[-1], *corners], corners, [*corners[1:], corners[0]], strict=False):
        if not (before[0] == corner[0] == after[0] or before[1] == corner[1] == after[1]):
            found.append(corner)
    return found


def _rounded(corners: Sequence[Corner]) -> str:
    parts: list[str] = []
    for before, (x, y), after in zip([corners[-1], *corners], corners, [*corners[1:], corners[0]], strict=False):
        radius = min([RADIUS, *(abs(x - end[0]) / 2 + abs(y - end[1]) / 2 for end in (before, after))])
        start, end = _towards((x, y), before, radius), _towards((x, y), after, radius)
        parts.append(f"{'L' if parts else 'M'}{at(*start)}Q{at(x, y)} {at(*end)}")
    return "".join(parts) + "Z"


def _towards(corner: Corner, other: Corner, distance: float) -> Corner:
    (x, y), (to_x, to_y) = corner, other
    return (x + distance * sign(to_x - x), y + distance * sign(to_y - y))
