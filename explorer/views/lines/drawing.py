"""Adds to a picture the points of its arrows, the outlines of its matches, and the places of their labels."""

from collections.abc import Mapping, Sequence

from explorer.views.lines.curves import along
from explorer.views.lines.outlines import Rect, cover, outline
from explorer.views.lines.passages import STACK, Place, Point, Spot
from explorer.views.lines.routes import MAX_ROUTED_BOXES, MAX_SPREAD_ARROWS, routes
from explorer_widgets.schema import EdgeView, HullView, NodeView

MAX_TAGS = 60
"""Maximum number of outlines of matches to label."""
MAX_JOINED = 60
"""Maximum number of boxes to join to one outline."""
SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Where along an arrow its label may be, best first."""
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
    tags = add_outlines(hulls, by_id, [] if len(spots) > MAX_ROUTED_BOXES else [_around(spot, 1) for spot in spots])
    if len(edges) > MAX_SPREAD_ARROWS:
        return
    position = {node["id"]: i for i, node in enumerate(nodes)}
    found = routes(spots, [(position[edge["source"]], position[edge["target"]]) for edge in edges])
    for edge, points in zip(edges, found, strict=True):
        edge["points"] = [[point.x, point.y, 1] if point.flat else [point.x, point.y] for point in points]
    if len(spots) <= MAX_ROUTED_BOXES:
        pills = [_pill(by_id[node["id"]]) for node in nodes if node["count"] > 1 or node["folds"] > 1]
        _add_labels(edges, found, [*(_around(spot, 2) for spot in spots), *pills, *tags])


def add_outlines(hulls: Sequence[HullView], spots: Mapping[str, Spot], taken: Sequence[Rect]) -> list[Rect]:
    """Add outlines to hulls, and places of tags clear of `taken`; return the tags."""
    depth: dict[str, int] = {}
    tags: list[Rect] = []
    for hull in hulls:
        names = [name for name in hull["nodes"] if name in spots]
        if not names:
            continue
        level = max(depth.get(name, 0) for name in names)
        depth.update((name, level + 1) for name in names)
        pad = PAD + PAD_STEP * (level % PADS)
        rects = cover([spots[name] for name in names], pad, len(names) <= MAX_JOINED)
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
            if not any(_meets(rect, other) for other in taken):
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
    return next((place for place in places if not any(_meets(place, other) for other in taken)), places[0])


def _meets(one: Rect, other: Rect) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
