"""Cells and the lines between them as SVG elements: the same as `widgets/js/plates/paint.js` paints on a canvas."""

from collections.abc import Mapping, Sequence
from html import escape
from math import log2

from explorer.views.looks import css
from explorer.views.plates.pen import Rect, curve, path, polyline, rectangle, round_rectangle, short
from explorer.views.plates.words import MAX_LINES
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import EdgeView, NodeView, PictureView, PlateView

CELL, SHEETS, READ = PLATES["cell"], PLATES["sheets"], PLATES["read"]
MIDDLE = 0.36
"""How far the baseline of a number is below its middle, in parts of its size."""

STYLE = f".x-view text.x-number{{font-size:{CELL['number']:g}px;text-anchor:middle}}\n"


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
    width = min(READ["most"], READ["many"] + READ["more"] * log2(max(1, edge["count"])))
    if "points" in edge:
        d = polyline(edge["points"], READ["corner"])
    elif each and pairs:
        ends = zip(pairs[::2], pairs[1::2], strict=True)
        d = "".join(curve(sources[source], targets[target], READ["bend"]) for source, target in ends)
        width = READ["width"]
    else:
        d = curve(rects[edge["source"]], rects[edge["target"]], READ["bend"])
    role = "edge" if not edge["read"] else "copyLine" if edge["copied_bytes"] else "viewLine"
    drawn = path(d, stroke=role, width=width, opacity=PLATES["reads"]["few" if few else role])
    return f"<g><title>{escape(edge['label'])}</title>{drawn}</g>" if edge["label"] else drawn


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
        parts.append(path(sheet, fill=fill, opacity=SHEETS["fill"]))
        parts.append(path(sheet, stroke="fg", opacity=SHEETS["stroke"]))
    parts += _cells(cells, fill, is_outlined="hatch" in look or not is_one, is_one=is_one)
    for area, layer in zip(cells, plate["cells"], strict=True):
        if min(area[2:]) > CELL["numbered"] * CELL["number"] and layer >= 0:
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
    """Return one area around small cells, of which all are marked: outlines would hide them."""
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
