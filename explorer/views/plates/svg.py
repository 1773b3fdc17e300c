"""Plates as SVG elements, for images and saved notebooks: the same list as `widgets/js/scenes/plates.js` draws."""

from collections.abc import Sequence

from explorer.views.graph_svg import hull_element
from explorer.views.lines import Place
from explorer.views.plates.cells_svg import STYLE as CELL_STYLE, cells_of, line_elements, mark_element, plate_elements
from explorer.views.plates.labels_svg import STYLE as LABEL_STYLE, Words, bar_element, bar_elements, words_of
from explorer.views.plates.links_svg import STYLE as LINK_STYLE, link_elements
from explorer.views.plates.pen import Rect, path, rectangle, round_rectangle
from explorer.views.plates.tags_svg import Tag, place_tags, seen_words, tag_elements
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import LegendItem, PictureView, PlateView

STYLE = CELL_STYLE + LABEL_STYLE + LINK_STYLE


def plates_elements(view: PictureView, places: Sequence[Place]) -> list[str]:
    """Return the elements of a picture of plates, lowest first."""
    rects = {node["id"]: _corner(place) for node, place in zip(view["nodes"], places, strict=True)}
    plates = [(node, node["plate"]) for node in view["nodes"] if "plate" in node]
    cells = {node["id"]: cells_of(plate, rects[node["id"]]) for node, plate in plates}
    labels = {node["id"]: words_of(node, plate, rects[node["id"]]) for node, plate in plates}
    right = max((left + width for left, _, width, _ in rects.values()), default=0.0)
    tags = place_tags(view["hulls"], list(labels.values()), right)
    return [
        *line_elements(view["edges"], rects, cells),
        *(plate_elements(node, plate, rects[node["id"]], cells[node["id"]], view) for node, plate in plates),
        *(hull_element(hull, tint=PLATES["tint"]) for hull in view["hulls"]),
        *(element for node, plate in plates for element in _label(plate, rects[node["id"]], labels[node["id"]], tags)),
        *link_elements(view.get("links", [])),
        *tag_elements(view["hulls"], tags),
    ]


def _label(plate: PlateView, rect: Rect, words: Sequence[Words], tags: Sequence[Tag]) -> list[str]:
    """Return the half bars and the words of a plate."""
    return [*bar_elements(plate, rect), *(one.element() for one in seen_words(words, tags))]


def _corner(place: Place) -> Rect:
    x, y, width, height = place
    return x - width / 2, y - height / 2, width, height


def plate_swatch(item: LegendItem, x: float, y: float) -> str:
    """Return the sign of an entry of the legend at the left end of its line of text."""
    role, top, stroke = item["role"], y - 11, PLATES["cell"]["stroke"]
    match item["channel"]:
        case "line":
            d = f"M{x:g} {top + 7:g}h34"
            return f'<path class="x-missed" d="{d}"/>' if role == "nearMiss" else path(d, stroke=role, width=2)
        case "bar":
            return bar_element(role, x, top + 4, 33, 0.6)
        case "mark":
            return mark_element(role, [(x + 2, top, 13, 13)])
        case _ if role in ("apart", "folded"):
            gap = 4.0 if role == "apart" else 0.0
            cells = "".join(rectangle((x + i * 11, top, 11 - gap, 13)) for i in range(3))
            frame = "" if gap else path(rectangle((x, top, 33, 13)), stroke="fg", width=PLATES["frame"])
            return path(cells, fill="operator", stroke="kept", width=stroke) + frame
        case _:
            return path(round_rectangle((x, top, 16, 13), 3), fill=role, stroke="kept", width=stroke)
