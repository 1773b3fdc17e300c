"""What a picture of plates takes up: cells, sheets, words, lines and their ends, so that a view can show all of it."""

from collections.abc import Iterator, Sequence

from explorer.views.graph_painter import tag_width
from explorer.views.lines import Place
from explorer.views.plates.layout import MARGIN, Stage
from explorer.views.plates.pen import words_of
from explorer.views.plates.plate_words import PLAIN
from explorer.views.plates.plates_svg import HEIGHT, LINE, SIZE, corner_of
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import EdgeView, HullView, LinkView, NodeView, PictureView

AROUND = 6.0
"""Room for strokes, and for outlines of plates."""

Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def extent_of(view: PictureView, places: Sequence[Place], stage: Stage) -> list[float]:
    """Return left, top, right and bottom of all that is drawn, and of the room for it, which few steps change."""
    columns = [placed.column for placed in stage.placed]
    areas = [
        *((left, MARGIN, right, stage.height - MARGIN) for left, right in columns),
        *_plates(view["nodes"], places),
        *_lines(view["edges"]),
        *_links(view.get("links", [])),
        *((x - w / 2, y - h / 2, x + w / 2, y + h / 2) for x, y, w, h in (pin["box"] for pin in view.get("pins", []))),
        *_tags([*view["hulls"], *view.get("matches", [])]),
    ]
    if not areas:
        return []
    left, top, right, bottom = zip(*areas, strict=True)
    return [min(left) - AROUND, min(top) - AROUND, max(right) + AROUND, max(bottom) + AROUND]


def _plates(nodes: Sequence[NodeView], places: Sequence[Place]) -> Iterator[Area]:
    for node, place in zip(nodes, places, strict=True):
        left, top, width, height = rect = corner_of(place)
        sheets = PLATES["sheets"]["far"] if node.get("plate", {}).get("gap") == 0 else 0.0
        yield left, top - sheets, left + width + sheets, top + height
        if "plate" in node:
            yield from (words.area for words in words_of(node, node["plate"], rect))


def _lines(edges: Sequence[EdgeView]) -> Iterator[Area]:
    radius = PLATES["port"]["radius"]
    for edge in edges:
        yield from ((x, y, x, y) for x, y, *_ in edge.get("points", ()))
        if "port" in edge:
            for (x, y), _ in (edge["port"]["out"], edge["port"]["into"]):
                yield x - radius, y - radius, x + radius, y + radius


def _links(links: Sequence[LinkView]) -> Iterator[Area]:
    size = PLATES["words"]["reason"]["size"]
    for link in links:
        yield from ((x, y, x, y) for x, y in link["points"])
        if "at" in link:
            (x, y), half = link["at"], PLAIN * size * max(map(len, link["lines"])) / 2
            yield x - half, y, x + half, y + LINE * len(link["lines"])


def _tags(hulls: Sequence[HullView]) -> Iterator[Area]:
    for hull in hulls:
        if "tag" in hull:
            x, y = hull["tag"]
            yield max(0.0, x), y, max(0.0, x) + SIZE * tag_width(hull), y + SIZE * HEIGHT
