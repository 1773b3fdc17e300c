"""Plates as SVG elements, for images and saved notebooks: the same list as `widgets/js/scenes/plates.js` draws."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log2

from explorer.views.graph_painter import hull_element, tag_element, tag_width
from explorer.views.lines import Place, overlap
from explorer.views.looks import css
from explorer.views.marks import mark_text
from explorer.views.plates.pen import (
    STYLE as LABEL_STYLE,
    Rect,
    Words,
    bar_elements,
    curve,
    path,
    polyline,
    rectangle,
    round_rectangle,
    short,
    words,
    words_of,
)
from explorer.views.plates.plate_words import MAX_LINES
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import EdgeView, HullView, LinkView, NodeView, PictureView, PinView, PlateView, PortView

CELL, SHEETS, READ, PORT = PLATES["cell"], PLATES["sheets"], PLATES["read"], PLATES["port"]
MIDDLE = 0.36
"""Distance from the middle of a number down to its baseline, in parts of its size."""
DIGIT, BESIDE = 0.64, 0.4
"""The width of a digit, and the least room beside a number, in parts of its size; as in `paint.js`."""
CELL_STYLE = f".x-view text.x-number{{font-size:{CELL['number']:g}px;text-anchor:middle}}\n"

LOOK = PLATES["tag"]
SIZE = LOOK["size"] / LOOK["drawn"]
HEIGHT, SIGN_WIDTH = LOOK["height"], LOOK["sign"]
Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""

LINE = PLATES["lines"]["height"] * PLATES["words"]["reason"]["size"]
BASELINE = PLATES["ascent"]
"""The baseline of the first line, as a fraction of its height."""
LINK_STYLE = (
    f".x-missed{{fill:none;stroke:var(--nearMiss);stroke-width:{PLATES['link']['width']:g};"
    f"stroke-dasharray:{' '.join(map(str, PLATES['link']['dash']))};stroke-linecap:round}}\n"
)

PORT_STYLE = f".x-view text.x-port-number{{font-size:{PORT['text']:g}px;text-anchor:middle;fill:var(--fg)}}\n"

STYLE = CELL_STYLE + LABEL_STYLE + LINK_STYLE + PORT_STYLE


@dataclass(frozen=True, slots=True)
class Tag:
    """A name at its place; `is_sign` if only its sign has room."""

    hull: HullView
    area: Area
    is_sign: bool


def plates_elements(view: PictureView, places: Sequence[Place]) -> list[str]:
    """Return the elements of a picture of plates, lowest first."""
    rects = {node["id"]: corner_of(place) for node, place in zip(view["nodes"], places, strict=True)}
    plates = [(node, node["plate"]) for node in view["nodes"] if "plate" in node]
    cells = {node["id"]: cells_of(plate, rects[node["id"]]) for node, plate in plates}
    labels = {node["id"]: words_of(node, plate, rects[node["id"]]) for node, plate in plates}
    right = max((left + width for left, _, width, _ in rects.values()), default=0.0)
    tags = place_tags(view["hulls"], list(labels.values()), right)
    return [
        *line_elements(view["edges"], rects, cells),
        *(mark_text(mark) for pin in view.get("pins", []) for mark in pin["strokes"]),
        *(plate_elements(node, plate, rects[node["id"]], cells[node["id"]], view) for node, plate in plates),
        *(mark_text(mark) for pin in view.get("pins", []) for mark in pin["leader"]),
        *(hull_element(hull, tint=PLATES["tint"]) for hull in view["hulls"]),
        *(element for node, plate in plates for element in _label(plate, rects[node["id"]], labels[node["id"]], tags)),
        *link_elements(view.get("links", [])),
        *port_elements(view["nodes"], view["edges"]),
        *tag_elements(view["hulls"], tags),
        *map(_pin, view.get("pins", [])),
    ]


def _label(plate: PlateView, rect: Rect, words: Sequence[Words], tags: Sequence[Tag]) -> list[str]:
    """Return the half bars and the words of a plate."""
    return [*bar_elements(plate, rect), *(one.element() for one in seen_words(words, tags))]


def corner_of(place: Place) -> Rect:
    """Return left, top, width and height."""
    x, y, width, height = place
    return x - width / 2, y - height / 2, width, height


def cells_of(plate: PlateView, rect: Rect) -> list[Rect]:
    """Return where the cells of a plate are."""
    (across, down), gap = plate["unit"], plate["gap"]
    return [
        (rect[0] + x * across + gap / 2, rect[1] + y * down + gap / 2, width * across - gap, height * down - gap)
        for x, y, width, height in zip(*[iter(plate["places"])] * 4, strict=True)
    ]


def line_elements(
    edges: Sequence[EdgeView], rects: Mapping[str, Rect], cells: Mapping[str, Sequence[Rect]]
) -> list[str]:
    """Return the lines from each cell to those that read it; if they are too many, from plate to plate."""
    count = sum(len(edge.get("pairs", ())) // 2 for edge in edges)
    few = sum(edge["count"] for edge in edges) <= READ["few"]
    return [_line(edge, rects, cells, each=count <= MAX_LINES, few=few) for edge in edges]


def _line(
    edge: EdgeView, rects: Mapping[str, Rect], cells: Mapping[str, Sequence[Rect]], *, each: bool, few: bool
) -> str:
    sources, targets, pairs = cells[edge["source"]], cells[edge["target"]], edge.get("pairs", [])
    turns = edge.get("turns", [])
    width = min(READ["most"], READ["many"] + READ["more"] * log2(max(1, edge["count"])))
    if "port" in edge:
        return ""
    if "points" in edge:
        d = polyline(edge["points"], READ["corner"])
    elif each and pairs:
        ends = zip(pairs[::2], pairs[1::2], strict=True)
        d = "".join(curve(sources[source], targets[target], READ["bend"], turns) for source, target in ends)
        width = READ["width"]
    else:
        d = curve(rects[edge["source"]], rects[edge["target"]], READ["bend"], turns)
    role = _role(edge)
    drawn = path(d, stroke=role, width=width, opacity=PLATES["reads"]["few" if few else role])
    return f"<g><title>{escape(edge['label'])}</title>{drawn}</g>" if edge["label"] else drawn


def _role(edge: EdgeView) -> str:
    return "edge" if not edge["read"] else "copyLine" if edge["copied_bytes"] else "viewLine"


def port_elements(nodes: Sequence[NodeView], edges: Sequence[EdgeView]) -> list[str]:
    """Return both ends of the lines that are cut: those of a plate have one end where they leave it."""
    titles = {node["id"]: node["title"] for node in nodes}
    cut: dict[str, list[tuple[EdgeView, PortView]]] = {}
    for edge in edges:
        if "port" in edge:
            cut.setdefault(edge["source"], []).append((edge, edge["port"]))
    found: list[str] = []
    for source, lines in cut.items():
        number, out = lines[0][1]["number"], lines[0][1]["out"]
        counts = Counter(titles[edge["target"]] for edge, _ in lines)
        readers = ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
        found.append(path(polyline(out, 0), stroke="edge", width=PORT["stroke"]))
        for edge, port in lines:
            found.append(path(polyline(port["into"], 0), stroke=_role(edge), width=PORT["stroke"]))
            found.append(
                _port(number, port["into"][0], _role(edge), f"{titles[edge['target']]} reads {titles[source]}")
            )
        found.append(_port(number, out[0], "edge", f"{titles[source]}, read by {readers}"))
    return found


def _port(number: int, centre: Sequence[float], role: str, text: str) -> str:
    x, y = centre
    return (
        f'<g><title>{number}: {escape(text)}</title><circle cx="{short(x)}" cy="{short(y)}" r="{PORT["radius"]:g}" '
        f'stroke-width="{PORT["stroke"]:g}" style="fill:{css("panel")};stroke:{css(role)}"/>'
        f'<text class="x-port-number" x="{short(x)}" y="{short(y + MIDDLE * PORT["text"])}">{number}</text></g>'
    )


def plate_elements(node: NodeView, plate: PlateView, rect: Rect, cells: Sequence[Rect], view: PictureView) -> str:
    """Return the sheets behind a folded layer, the cells, their numbers, the frame and the marks."""
    is_one = plate["gap"] == 0
    left, top, width, height = rect
    look = view["looks"][node["look"]]
    fill, ink = look["fill"], look["ink"]
    name = ", ".join(filter(None, (node["title"], plate["calls"])))
    parts = [f"<g><title>{escape(name)}</title>"]
    for by in (SHEETS["far"], SHEETS["near"]) if is_one else ():
        sheet = rectangle((left + by, top - by, width, height))
        parts.append(path(sheet, fill="ground"))
        parts.append(path(sheet, fill=fill, opacity=SHEETS["fill"]))
        parts.append(path(sheet, stroke="fg", opacity=SHEETS["stroke"]))
    parts += _cells(cells, fill, is_outlined="hatch" in look or not is_one, is_one=is_one)
    for area, layer in zip(cells, plate["cells"], strict=True):
        if layer >= 0 and _has_number(area, layer):
            parts.append(_number(area, layer, ink))
    if is_one:
        parts.append(path(rectangle(rect), stroke="fg", width=PLATES["frame"]))
    marks = plate.get("marks", {})
    for mark, chosen in marks.items():
        marked = [cells[i] for i in chosen]
        is_all = mark != "lost" and len(marked) == len(cells)
        parts.append(mark_element(mark, _together_if_small(marked) if is_all else marked))
    return "".join([*parts, "</g>"])


def _together_if_small(cells: Sequence[Rect]) -> Sequence[Rect]:
    """Return one area around small cells that are all marked: outlines would hide them."""
    if min(min(area[2:]) for area in cells) >= PLATES["marked"]:
        return cells
    left, top = min(area[0] for area in cells), min(area[1] for area in cells)
    right, bottom = max(area[0] + area[2] for area in cells), max(area[1] + area[3] for area in cells)
    return [(left, top, right - left, bottom - top)]


def _cells(cells: Sequence[Rect], fill: str, *, is_outlined: bool, is_one: bool) -> list[str]:
    """Return the cells; those that look alike are one path."""
    alike: dict[bool, list[str]] = {}
    for area in cells:
        side = min(area[2:])
        is_round = not is_one and side > CELL["round"]
        d = round_rectangle(area, min(CELL["corner"], side / 5)) if is_round else rectangle(area)
        alike.setdefault(side > CELL["parted"] * (1 if is_outlined else 2), []).append(d)
    role, width = ("kept", CELL["stroke"]) if is_outlined else ("ground", CELL["slice"])
    return [path("".join(ds), fill=fill, stroke=role if drawn else "", width=width) for drawn, ds in alike.items()]


def _has_number(area: Rect, layer: int) -> bool:
    wide = DIGIT * len(str(layer)) + BESIDE
    return min(area[2:]) > CELL["numbered"] * CELL["number"] and area[2] > wide * CELL["number"]


def _number(area: Rect, layer: int, ink: str) -> str:
    x, y = area[0] + area[2] / 2, area[1] + area[3] / 2 + MIDDLE * CELL["number"]
    return f'<text class="x-number" x="{short(x)}" y="{short(y)}" style="fill:{css(ink)}">{layer}</text>'


def mark_element(mark: str, cells: Sequence[Rect]) -> str:
    """Return the outlines of cells that are marked alike."""
    look = PLATES["marks"][mark]
    d = ""
    for left, top, width, height in cells:
        d += rectangle((left - 1, top - 1, width + 2, height + 2))
        if mark == "lost":
            side, right = min(PLATES["cross"], width / 2, height / 2), left + width
            d += f"M{short(right - side)} {short(top)}L{short(right)} {short(top + side)}"
            d += f"M{short(right)} {short(top)}L{short(right - side)} {short(top + side)}"
    return path(d, stroke=look["line"], width=look["width"], dash=look["dash"])


def place_tags(hulls: Sequence[HullView], labels: Sequence[Sequence[Words]], right: float) -> list[Tag]:
    """Place the names of hulls, short ones first; what has no room is only a sign, or hidden.

    `labels` are the words of each plate, its title first, and `right` is the right edge of the plates.
    """
    titles = [label[0].area for label in labels]
    placed: list[Tag] = []
    tagged = [(hull, hull["tag"], tag_width(hull)) for hull in hulls if "tag" in hull]
    for hull, (x, top), width in sorted(tagged, key=lambda one: one[2]):
        bottom = top + HEIGHT * SIZE
        left = max(0.0, min(x, right + SIGN_WIDTH - width * SIZE))
        whole, sign = (left, top, left + width * SIZE, bottom), (x, top, x + SIGN_WIDTH * SIZE, bottom)
        taken = [*(tag.area for tag in placed), *titles]
        fitting = next((area for area in (whole, sign) if not any(overlap(area, other) for other in taken)), None)
        if fitting is not None:
            placed.append(Tag(hull, fitting, fitting is sign))
    return placed


def tag_elements(hulls: Sequence[HullView], tags: Sequence[Tag]) -> list[str]:
    """Return the elements of the names that have room, in the order of the hulls."""
    by_id = {tag.hull["id"]: tag for tag in tags}
    found = (by_id[hull["id"]] for hull in hulls if hull["id"] in by_id)
    return [
        tag_element(tag.hull, (tag.area[0], tag.area[1]), SIZE, SIGN_WIDTH if tag.is_sign else None) for tag in found
    ]


def seen_words(words: Sequence[Words], tags: Sequence[Tag]) -> list[Words]:
    """Return the words of a plate without those below its cells that a name covers."""
    return [*words[:1], *(one for one in words[1:] if not any(overlap(tag.area, one.area) for tag in tags))]


def link_elements(links: Sequence[LinkView]) -> list[str]:
    """Return the elements of the links of a picture; a reason without a place is a tooltip only."""
    return [_link(link) for link in links]


def _pin(pin: PinView) -> str:
    x, y = pin["box"][:2]
    title = f"<title>{escape(pin['reason'])}</title>"
    return f'<g transform="translate({x:g} {y:g})">{title}<g>{"".join(map(mark_text, pin["marks"]))}</g></g>'


def _link(link: LinkView) -> str:
    d = "M" + "L".join(f"{x:.5g} {y:.5g}" for x, y in link["points"])
    texts = ""
    if "at" in link:
        x, y = link["at"]
        texts = "".join(words("reason", x, y + LINE * (i + BASELINE), line) for i, line in enumerate(link["lines"]))
    return f'<g><path class="x-missed" d="{d}"/><title>{escape(" ".join(link["lines"]))}</title>{texts}</g>'
