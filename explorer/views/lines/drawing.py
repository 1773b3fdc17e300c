"""Adds to a picture the points of its arrows, the outlines of its matches, and the places of their labels."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from explorer.views.lines.routes import MAX_ROUTED_BOXES, MAX_SPREAD_ARROWS, STACK, Place, Point, Spot, routes
from explorer_widgets.schema import EdgeView, HullView, NodeView

Rect = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Corner = tuple[float, float]
HALF = 9.0
"""Half the width of a corridor between two boxes."""
WIDEST, INSET = 44.0, 30.0
"""Maximum width of a corridor straight up; distance of another one from the corner of its box."""
RADIUS = 9.0
LONGEST = 600.0
"""Length of a corridor in a graph: boxes further apart are on different lines of it."""
SIDEWAYS = 1.2
"""The cost of a corridor to the side, when one up costs 1."""

STRAIGHT = 0.5
"""A line is straight if its ends differ by less."""
CORNER = 8.0
"""Radius of a corner between a horizontal and a vertical part."""

MAX_TAGS = 60
"""Maximum number of outlines of matches to label."""
MAX_JOINED = 60
"""Maximum number of boxes to join to one outline."""
SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Candidate positions of a label along its arrow, best first."""
LABEL, LABEL_PAD, LABEL_HEIGHT, LABEL_WIDEST = 5.6, 10.0, 16.0, 140.0
TAG, TAG_PAD, TAG_HEIGHT, TAG_WIDEST = 6.8, 24.0, 18.0, 284.0
"""Width of a character, extra width, height and maximum width: of a label, and of the name of a match."""
PAD, PAD_STEP, PADS = 8.0, 5.0, 3
"""Distance of an outline from its boxes; one around a box that has an outline already is further away."""
BEYOND_WORDS = (35.0, 51.0)
"""Distance of a tag from an outline with lines of text below it."""
PILL = (50.0, 10.0)
"""Room for the number of layers at the upper right corner of a box."""


def spots_by_id(nodes: Sequence[NodeView], places: Sequence[Place]) -> dict[str, Spot]:
    """Return the places of boxes with their stacks."""
    return {
        node["id"]: Spot(*place, STACK if node["folds"] > 1 else 0.0) for node, place in zip(nodes, places, strict=True)
    }


def add_lines(
    nodes: Sequence[NodeView], places: Sequence[Place], edges: Sequence[EdgeView], hulls: Sequence[HullView]
) -> None:
    """Add points and label places to arrows, and outlines and tag places to hulls."""
    by_id = spots_by_id(nodes, places)
    spots = list(by_id.values())
    around = [] if len(spots) > MAX_ROUTED_BOXES else [_around(spot, 1) for spot in spots]
    tags = add_outlines(hulls, by_id, around, LONGEST)
    if len(edges) > MAX_SPREAD_ARROWS:
        return
    position = {node["id"]: i for i, node in enumerate(nodes)}
    found = routes(spots, [(position[edge["source"]], position[edge["target"]]) for edge in edges])
    for edge, points in zip(edges, found, strict=True):
        edge["points"] = [[point.x, point.y, 1] if point.flat else [point.x, point.y] for point in points]
    if len(spots) <= MAX_ROUTED_BOXES:
        pills = [_pill(by_id[node["id"]]) for node in nodes if node["count"] > 1 or node["folds"] > 1]
        _add_labels(edges, found, [*(_around(spot, 2) for spot in spots), *pills, *tags])


def add_outlines(
    hulls: Sequence[HullView], spots: Mapping[str, Spot], taken: Sequence[Rect], longest: float = inf
) -> list[Rect]:
    """Add outlines to hulls, and places of tags clear of `taken`; return the tags.

    A corridor leads from box to box if it is not longer than `longest`.
    """
    depth: dict[str, int] = {}
    tags: list[Rect] = []
    for hull in hulls:
        names = [name for name in hull["nodes"] if name in spots]
        if not names:
            continue
        level = max(depth.get(name, 0) for name in names)
        depth.update((name, level + 1) for name in names)
        pad = PAD + PAD_STEP * (level % PADS)
        rects = cover([spots[name] for name in names], pad, len(names) <= MAX_JOINED, longest)
        hull["outline"] = outline(rects)
        if len(hulls) <= MAX_TAGS:
            width = min(TAG_PAD + TAG * len(hull["label"] or hull["kind"]), TAG_WIDEST)
            tags.append(_first_free(_tag_places(rects, width), [*taken, *tags]))
            hull["tag"] = [round(tags[-1][0], 1), round(tags[-1][1], 1)]
    return tags


def _tag_places(rects: Sequence[Rect], width: float) -> list[Rect]:
    """Return where the name of a match may be: at the corners of its outline, beyond them, or at its sides."""
    left, top = min(rect[0] for rect in rects), min(rect[1] for rect in rects)
    right, bottom = max(rect[2] for rect in rects), max(rect[3] for rect in rects)
    upper, lower = min(rects, key=lambda rect: rect[1]), max(rects, key=lambda rect: rect[3])
    middle = (upper[1] + upper[3]) / 2 - 9
    corners = [
        (upper[0] + 2, top - 10),
        (upper[2] - width - 2, top - 10),
        (lower[0] + 2, bottom - 8),
        (lower[2] - width - 2, bottom - 8),
        (upper[0] + 2, top - 27),
        (lower[0] + 2, bottom + 9),
        *((lower[0] + 2, bottom + below) for below in BEYOND_WORDS),
        (right - 6, middle),
        (left - width + 6, middle),
    ]
    return [(x, y, x + width, y + TAG_HEIGHT) for x, y in corners]


def _add_labels(edges: Sequence[EdgeView], lines: Sequence[Sequence[Point]], taken: list[Rect]) -> None:
    """Add the middle of each label, on its arrow and clear of `taken`; one without room appears in the details only."""
    for edge, points in zip(edges, lines, strict=True):
        words = label_of(edge)
        if not words:
            continue
        half = min(LABEL_PAD + LABEL * len(words), LABEL_WIDEST) / 2
        for x, y in (along(points, share) for share in SHARES):
            rect = (x - half, y - LABEL_HEIGHT / 2, x + half, y + LABEL_HEIGHT / 2)
            if not any(overlap(rect, other) for other in taken):
                taken.append(rect)
                edge["label_at"] = [round(x, 1), round(y, 1)]
                break


def label_of(edge: EdgeView) -> str:
    """Return the words on an arrow: how it reads, or how many edges it stands for."""
    return edge["label"] or (f"{edge['count']} ×" if edge["count"] > 1 else "")


def _around(spot: Spot, pad: float) -> Rect:
    return (spot.left - pad, spot.top - spot.rise - pad, spot.right + pad, spot.bottom + pad)


def _pill(spot: Spot) -> Rect:
    width, half = PILL
    return (spot.right - width, spot.top - spot.rise - half, spot.right + 8, spot.top - spot.rise + half)


def _first_free(places: Sequence[Rect], taken: Sequence[Rect]) -> Rect:
    return next((place for place in places if not any(overlap(place, other) for other in taken)), places[0])


def overlap(one: Rect, other: Rect) -> bool:
    """Return whether two rectangles (left, top, right, bottom) share an area."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def cover(spots: Sequence[Spot], pad: float, joined: bool = True, longest: float = inf) -> list[Rect]:
    """Return rectangles that together surround the boxes: one around each, and corridors if they are `joined`."""
    rects = [(spot.left - pad, spot.top - spot.rise - pad, spot.right + pad, spot.bottom + pad) for spot in spots]
    if not joined:
        return rects
    inside, outside, corridors = [0], list(range(1, len(rects))), list[Rect]()
    while outside:
        pairs = [(_gap(rects[one], rects[other]), one, other) for one in inside for other in outside]
        length, one, other = min(pairs, key=lambda pair: pair[0])
        outside.remove(other)
        inside.append(other)
        if length <= longest:
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
