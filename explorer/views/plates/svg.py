"""Plates as SVG elements, for images and saved notebooks: the same as `widgets/js/plates/` draws."""

from collections.abc import Sequence
from html import escape

from explorer.views.graph_svg import hull_element, tag_element
from explorer.views.lines import Place
from explorer.views.plates.svg_links import STYLE as LINK_STYLE, link_elements
from explorer.views.plates.svg_times import STYLE as BAR_STYLE, bar_element, bar_elements, height_of_bars
from explorer.views.plates.words import MAX_LINES
from widgets.schema import EdgeView, LegendItem, NodeView, PictureView, PlateView
from widgets.theme import LIGHT, heat

TITLE, LINE = 14.0, 12.5
ABOVE, ABOVE_SHEETS, BELOW = 13.0, 18.0, 10.0
CHARACTER = 6.6
"""Estimated width of a character, in pixels."""
SHEETS = (8.0, 4.0)
MIN_NUMBERED, MIN_PARTED = 27.0, 8.0
"""Cells smaller than this have no number, and as slices no lines between them."""
ROOM_MARGIN = 12.0
"""How much narrower than its room a title may be."""
MAX_CROSS = 12.0
WORD_KINDS = ("x-calls", "x-news", "x-line", "x-line")
MAX_WORDS = 3
"""Lines of words below a plate."""

STYLE = (
    """.x-cell{stroke:var(--kept);stroke-width:.8}
.x-slice{stroke:var(--ground);stroke-width:1}
.x-sheet{stroke:var(--fg);fill-opacity:.38;stroke-opacity:.6}
.x-frame{fill:none;stroke:var(--fg);stroke-width:2.2}
.x-read{fill:none;stroke:var(--edge);stroke-width:1.1;stroke-opacity:.5}
.x-read.x-view-line{stroke:var(--viewLine);stroke-opacity:.75}
.x-read.x-copy-line{stroke:var(--copyLine);stroke-opacity:.75}
.x-mark{fill:none;stroke:var(--fg);stroke-width:1.8}
.x-mark.x-lost{stroke:var(--lost)}
.x-mark.x-near-miss{stroke:var(--nearMiss);stroke-width:2.4;stroke-dasharray:3 3}
.x-view text.x-number{fill:var(--onCell);font-size:12px}
.x-view text.x-plate{font-size:14px;font-weight:600}
.x-view text.x-calls{font-size:12.5px;font-weight:600}
.x-view text.x-line{font-size:12.5px;fill:var(--muted)}
.x-view text.x-news{font-size:12.5px;font-style:italic}
"""
    + LINK_STYLE
    + BAR_STYLE
)

Rect = tuple[float, float, float, float]
"""Left, top, width, height."""


def plates_elements(view: PictureView, places: Sequence[Place]) -> list[str]:
    """Return the elements of a picture of plates."""
    rects = {node["id"]: _corner(place) for node, place in zip(view["nodes"], places, strict=True)}
    cells = {node["id"]: _cells(node["plate"], rects[node["id"]]) for node in view["nodes"] if "plate" in node}
    count = sum(len(edge.get("pairs", ())) // 2 for edge in view["edges"])
    return [
        *(_lines(edge, rects, cells, count <= MAX_LINES) for edge in view["edges"]),
        *(_plate(node, node["plate"], rects, cells, view) for node in view["nodes"] if "plate" in node),
        *link_elements(view.get("links", [])),
        *map(hull_element, view["hulls"]),
        *map(tag_element, view["hulls"]),
    ]


def word_rects(nodes: Sequence[NodeView], places: Sequence[Place]) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the titles of plates, and of the words below them."""
    found: list[tuple[float, float, float, float]] = []
    for node, (x, y, width, height) in zip(nodes, places, strict=True):
        if "plate" in node:
            half = max(width, node["plate"]["room"] - ROOM_MARGIN) / 2
            title = y - height / 2 - (ABOVE if node["plate"]["gap"] else ABOVE_SHEETS) + 3
            words = y + height / 2 + BELOW
            lines = 1.25 * LINE * len(_words_below(node["plate"]))
            found += [(x - half, title - TITLE - 3, x + half, title), (x - half, words, x + half, words + lines)]
    return found


def _corner(place: Place) -> Rect:
    x, y, width, height = place
    return x - width / 2, y - height / 2, width, height


def _cells(plate: PlateView, rect: Rect) -> list[Rect]:
    (across, down), gap = plate["unit"], plate["gap"]
    return [
        (rect[0] + x * across + gap / 2, rect[1] + y * down + gap / 2, width * across - gap, height * down - gap)
        for x, y, width, height in zip(*[iter(plate["places"])] * 4, strict=True)
    ]


def _lines(edge: EdgeView, rects: dict[str, Rect], cells: dict[str, list[Rect]], each: bool) -> str:
    """Draw the lines of an arrow as one path: from cell to cell, or around to another line."""
    sources, targets = cells[edge["source"]], cells[edge["target"]]
    pairs = edge.get("pairs", [])
    if "points" in edge:
        path = "M" + "L".join(f"{x:g} {y:g}" for x, y in edge["points"])
    elif each and pairs:
        path = "".join(
            _curve(sources[source], targets[target]) for source, target in zip(pairs[::2], pairs[1::2], strict=True)
        )
    else:
        path = _curve(rects[edge["source"]], rects[edge["target"]])
    role = "" if edge["read"] is None else " x-copy-line" if edge["copied_bytes"] else " x-view-line"
    return f'<path class="x-read{role}" d="{path}"><title>{escape(edge["label"])}</title></path>'


def _curve(one: Rect, other: Rect) -> str:
    x1, y1, x2, y2 = one[0] + one[2], one[1] + one[3] / 2, other[0], other[1] + other[3] / 2
    bend = max(12.0, abs(x2 - x1) / 2)
    return f"M{x1:.5g} {y1:.5g}C{x1 + bend:.5g} {y1:.5g} {x2 - bend:.5g} {y2:.5g} {x2:.5g} {y2:.5g}"


def _plate(
    node: NodeView, plate: PlateView, rects: dict[str, Rect], all_cells: dict[str, list[Rect]], view: PictureView
) -> str:
    rect, cells = rects[node["id"]], all_cells[node["id"]]
    left, top, width, height = rect
    is_one = plate["gap"] == 0
    fill = _fill(node, view)
    parts = [f"<g><title>{escape(', '.join(filter(None, (node['title'], plate['calls']))))}</title>"]
    parts += [_rect("x-sheet", (left + by, top - by, width, height), fill) for by in SHEETS if is_one]
    for rectangle, layer in zip(cells, plate["cells"], strict=True):
        side = min(rectangle[2:])
        kind = "x-slice" if is_one and side > MIN_PARTED else "" if is_one else "x-cell"
        parts.append(_rect(kind, rectangle, fill, 0.0 if is_one else min(4.0, side / 5)))
        if side > MIN_NUMBERED and layer >= 0:
            x, y = rectangle[0] + rectangle[2] / 2, rectangle[1] + rectangle[3] / 2
            parts.append(_words("x-number", x, y + 4, str(layer)))
    parts += [_rect("x-frame", rect)] if is_one else []
    for mark, chosen in plate.get("marks", {}).items():
        parts += [_mark(mark, cells[i]) for i in chosen]
    bars = plate.get("times", [])
    parts += bar_elements(bars, left + width / 2, top + height)
    middle, bottom = left + width / 2, top + height + (height_of_bars(bars) or BELOW)
    parts.append(_words("x-plate", middle, top - (ABOVE_SHEETS if is_one else ABOVE), node["title"], plate["room"]))
    for i, (kind, words) in enumerate(_words_below(plate)):
        parts.append(_words(kind, middle, bottom + LINE + 1.25 * LINE * i, words, plate["room"]))
    return "".join([*parts, "</g>"])


def _words_below(plate: PlateView) -> list[tuple[str, str]]:
    """Return the lines of text below a plate, each with its class."""
    below = (plate["calls"], plate["news"], plate["shape"], plate["reads"])
    return [(kind, words) for kind, words in zip(WORD_KINDS, below, strict=True) if words][:MAX_WORDS]


def _fill(node: NodeView, view: PictureView) -> str:
    """Return the style of the cells: the colour of their kind, unless the picture is coloured by a value."""
    if node["fill"] is not None:
        return f"fill:{heat(node['fill'])}"
    if node["category"] is not None and view["colour_by"] not in ("change", "kind"):
        roles = [role for role in LIGHT if role.startswith("category-")]
        return f"fill:var(--{roles[node['category'] % len(roles)]})"
    if view["colour_by"] in ("change", "kind"):
        return f"fill:var(--{node['kind']})"
    return "fill:var(--box)"


def _rect(kind: str, rect: Rect, fill: str = "", radius: float = 0.0) -> str:
    left, top, width, height = rect
    style = f' style="{fill}"' if fill else ""
    rounded = f' rx="{radius:.3g}"' if radius else ""
    name = f' class="{kind}"' if kind else ""
    return f'<rect{name} x="{left:.5g}" y="{top:.5g}" width="{width:.5g}" height="{height:.5g}"{rounded}{style}/>'


def _mark(mark: str, cell: Rect) -> str:
    left, top, width, height = cell
    right, bottom = left + width, top + height
    path = f"M{left - 1:.5g} {top - 1:.5g}H{right + 1:.5g}V{bottom + 1:.5g}H{left - 1:.5g}Z"
    if mark == "lost":
        side = min(MAX_CROSS, width / 2, height / 2)
        path += f"M{right - side:.5g} {top:.5g}l{side:.3g} {side:.3g}m0 {-side:.3g}l{-side:.3g} {side:.3g}"
    return f'<path class="x-mark x-{mark}" d="{path}"/>'


def _words(kind: str, x: float, y: float, words: str, room: float = 0.0) -> str:
    most = int(room / CHARACTER)
    shown = words if not room or len(words) <= most else words[: most - 1] + "…"
    return f'<text class="{kind}" x="{x:.5g}" y="{y:.5g}" text-anchor="middle">{escape(shown)}</text>'


def plate_swatch(item: LegendItem, x: float, y: float) -> str:
    """Return the sign of an entry of the legend at the left end of its line of text."""
    role, top = item["role"], y - 11
    if item["channel"] == "line":
        kind = {"viewLine": "x-view-line", "copyLine": "x-copy-line", "nearMiss": "x-missed"}.get(role, "")
        return f'<path class="x-read {kind}" style="stroke-width:2" d="M{x:g} {top + 7:g}h34"/>'
    if item["channel"] == "bar":
        return bar_element(role, x, top + 4, 33, 0.6)
    if item["channel"] == "mark":
        return _mark(role, (x + 2, top, 13, 13))
    if role in ("apart", "folded"):
        gap = 4.0 if role == "apart" else 0.0
        cells = [_rect("x-cell", (x + i * 11, top, 11 - gap, 13), "fill:var(--operator)") for i in range(3)]
        return "".join([*cells, "" if gap else _rect("x-frame", (x, top, 33, 13))])
    return _rect("x-cell", (x, top, 16, 13), f"fill:var(--{role})", 3)
