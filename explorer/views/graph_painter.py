"""A grouping drawn as a graph: boxes in columns by level, with arrows between them; and its image as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from explorer.views.boxes import Box, ShownMode, edge_text
from explorer.views.layout import MARGIN
from explorer.views.lines import Place, Point, Spot, add_lines, arrow_head, curve, direct, label_of, spots_by_id
from explorer.views.looks import box_look, css, dashes, ink_on, line_look
from explorer.views.places import grid_of, places_of
from explorer.views.request import Request
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import ColourBy, EdgeView, HullView, LegendItem, LookView, Mode, NodeView, PictureView
from explorer_widgets.theme import HULLS, KINDS

STACK = (8, 4)
ROUND, ANGULAR = ("input", "leaf"), ("matmul", "view", "operator")
"""Kinds with half circles at their ends, and with sharp corners."""
SIGN_STEP, BADGE_STEP, MAX_BADGES = 18.0, 19.0, 4
NARROW, BOLD = 0.62, 0.62
"""Width of a character, in parts of the size of the font."""
TAG = PLATES["tag"]["drawn"]
"""Size of the name of a match."""
STYLE = """.x-graph text,.x-view text.x-tag{dominant-baseline:central}
.x-view text.x-box-title{font-size:12.5px;font-weight:600}
.x-view text.x-box-detail{font-size:11px}
.x-symbol{fill:none;stroke-width:1.7;stroke-linecap:round;stroke-linejoin:round}
.x-view text.x-mid{text-anchor:middle}
.x-view text.x-corner{font-size:12px;font-weight:700;text-anchor:middle}
.x-view text.x-badge{font-size:10.5px;font-weight:700;text-anchor:middle}
.x-view text.x-pill{font-size:11px;font-weight:600;text-anchor:middle}
.x-view text.x-label{font-size:10px;text-anchor:middle}
.x-view text.x-tag{font-size:11px}
.x-edge{fill:none}
.x-hull{fill:none;stroke-linecap:round}
.x-small text,.x-small .x-tag-frame{display:none}
"""
DEFINITIONS = "".join(
    f'<pattern id="x-{name}" width="{gap}" height="{gap}" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate({turn})"><path d="M0 0V{gap}" style="stroke:var(--{role})" stroke-width="2"/></pattern>'
    for name, role, turn, gap in (("removed", "removed", 45, 8), ("missing", "hatch", -45, 7), ("lost", "lost", 45, 9))
)
"""The hatches of boxes and outlines."""
HATCH_OPACITY = {"removed": 0.32, "missing": 0.75}


@dataclass(frozen=True, slots=True)
class GraphPainter:
    """Draws boxes of one size."""

    scoped_titles: bool = True
    has_margins: bool = False
    has_hulls: bool = True

    def shown_mode(self, request: Request, mode: ShownMode) -> ShownMode:
        """Draw any state, and the difference as the union of both."""
        return mode

    def look(self, colour_by: ColourBy, node: NodeView, value: float | None, category: int | None) -> LookView:
        """Return the look of a box, which shows what the step did."""
        return box_look(colour_by, node["kind"], node["change"], node["matched"], value, category)

    def places(self, request: Request, boxes: Sequence[Box], shown: ShownMode) -> list[list[float]]:
        """Return the places of boxes, which are the same before and after the step."""
        grid = grid_of(request.index)
        points = places_of(request.index, request.step, request.group_by).points
        return [[*points[box.id], grid.width, grid.height] for box in boxes]

    def complete(
        self, request: Request, view: PictureView, places: Sequence[Place], mode: Mode, shown: ShownMode
    ) -> None:
        """Add where new boxes came from, how many layers or folds a box is, and the lines."""
        came_from = places_of(request.index, request.step, request.group_by).came_from
        for node in view["nodes"]:
            if node["id"] in came_from:
                node["came_from"] = list(came_from[node["id"]])
            numbers = [f"{node['count']}"] if node["count"] > 1 else []
            numbers += [f"×{node['folds']}"] if node["folds"] > 1 else []
            if numbers:
                node["pill"] = " · ".join(numbers)
        add_lines(view["nodes"], places, view["edges"], view["hulls"])
        if places:
            view["extent"] = _extent_of(view, places)

    def legend(
        self, request: Request, view: PictureView, items: Sequence[LegendItem], shown: ShownMode
    ) -> list[LegendItem]:
        """Return all entries; shapes have the colours of their kinds where boxes have them."""
        fills = {look["fill"] for look in view["looks"]}
        return [{**item, "channel": "cell"} if item["role"] in fills else item for item in items]

    def svg_elements(self, view: PictureView, places: Sequence[Place]) -> list[str]:
        """Return boxes, arrows and outlines."""
        return graph_elements(view, places)


def _extent_of(view: PictureView, places: Sequence[Place]) -> list[float]:
    """Return left, top, right and bottom of all that is drawn: boxes with their signs, arrows, and names of matches."""
    rects = [(x - w / 2 - MARGIN, y - h / 2 - MARGIN, x + w / 2 + MARGIN, y + h / 2 + MARGIN) for x, y, w, h in places]
    rects += [(x, y, x, y) for edge in view["edges"] for x, y, *_ in edge.get("points", ())]
    tags = [(*tag, tag_width(hull)) for hull in view["hulls"] if (tag := hull.get("tag"))]
    rects += [(x - 8, y - 8, x + width + 8, y + 26) for x, y, width in tags]
    left, top, right, bottom = zip(*rects, strict=True)
    return [min(left), min(top), max(right), max(bottom)]


def graph_elements(view: PictureView, places: Sequence[Place]) -> list[str]:
    """Return the elements of a picture of boxes, lowest first."""
    spots = spots_by_id(view["nodes"], places)
    return [
        '<g class="x-graph">',
        *map(hull_element, view["hulls"]),
        *(_edge(edge, spots) for edge in view["edges"]),
        *map(_label, view["edges"]),
        *(_node(node, place, view["looks"][node["look"]]) for node, place in zip(view["nodes"], places, strict=True)),
        *map(tag_element, view["hulls"]),
        "</g>",
    ]


def hull_element(hull: HullView, *, tint: float | None = None) -> str:
    """Draw the outline of a match; `tint` is the opacity of its inside."""
    if "outline" not in hull:
        return ""
    style, d = HULLS[hull["kind"]], hull["outline"]
    tint = tint or (0.55 if hull["kind"] in ("near-miss", "lost") else 0.2)
    hatch = f'<path d="{d}" style="fill:url(#x-lost)" opacity="0.35"/>' if style.hatch else ""
    tip = f"<title>{escape(hull['label'])}\n{escape(hull['reason'])}</title>"
    return (
        f'<g>{tip}<path d="{d}" style="fill:{css(style.fill)}" opacity="{tint}"/>{hatch}'
        f'<path class="x-hull" d="{d}" style="stroke:{css(style.line)}" stroke-width="{style.width:g}"'
        f"{dashes(style.dash)}/></g>"
    )


def tag_element(
    hull: HullView, corner: Sequence[float] | None = None, scale: float = 1.0, sign_width: float | None = None
) -> str:
    """Draw the name of a match at its outline, or at a corner; with `sign_width` only its sign."""
    if "tag" not in hull:
        return ""
    style, (x, y) = HULLS[hull["kind"]], corner or hull["tag"]
    line = css(style.line)
    place = f"translate({x:g} {y:g})" + (f" scale({scale:.2g})" if scale != 1 else "")
    words = "" if sign_width else f'<text class="x-tag" x="18" y="9.5">{escape(_tag_words(hull))}</text>'
    return (
        f'<g transform="{place}"><rect class="x-tag-frame" width="{sign_width or tag_width(hull):.5g}" '
        f'height="18" rx="9" style="fill:var(--panel);stroke:{line}" stroke-width="1.3"/>'
        f'<text class="x-tag x-corner" x="10" y="9.5" style="fill:{line}">{escape(style.sign)}</text>{words}</g>'
    )


def tag_width(hull: HullView) -> float:
    """Return the estimated width of the name of a match."""
    return 24 + width_of(_tag_words(hull), TAG)


def _tag_words(hull: HullView) -> str:
    return clip(hull["label"] or hull["kind"], TAG, 260)


def _edge(edge: EdgeView, spots: Mapping[str, Spot]) -> str:
    """Draw an arrow with its label."""
    look = line_look(edge)
    points = [Point(x, y, bool(flat)) for x, y, *flat in edge.get("points", ())]
    points = points or direct(spots[edge["source"]], spots[edge["target"]])
    stroke = css(look.stroke)
    tip = f"<title>{escape(edge_text(edge))} by {escape(edge['target'])}</title>"
    return (
        f'<g>{tip}<path class="x-edge" d="{curve(points)}" style="stroke:{stroke}" stroke-width="{look.width:.3g}"'
        f'{dashes(look.dash)}/><path d="{arrow_head(points)}" style="fill:{stroke}"/></g>'
    )


def _label(edge: EdgeView) -> str:
    """Draw how an edge reads: a copy has a solid frame, a view a dotted one."""
    if "label_at" not in edge:
        return ""
    words = clip(label_of(edge), 10, 130)
    (x, y), width = edge["label_at"], 10 + width_of(words, 10)
    fill, ink = ("copyFill", "copy") if edge["copied_bytes"] else ("freeFill", "free")
    frame = dashes(() if edge["copied_bytes"] else (2, 2))
    if not edge["read"]:
        fill, ink, frame = "ground", "muted", ""
    return (
        f'<rect x="{x - width / 2:.6g}" y="{y - 8:g}" width="{width:.5g}" height="16" rx="{4 if edge["read"] else 8}" '
        f'style="fill:var(--{fill});stroke:var(--{ink if edge["read"] else "line"})"{frame}/>'
        f'<text class="x-label" x="{x:g}" y="{y + 0.5:g}" style="fill:var(--{ink})">{escape(words)}</text>'
    )


def _node(node: NodeView, place: Place, look: LookView) -> str:
    x, y, width, height = place
    d, stroke = box_path(node["kind"], width, height), css(look.get("stroke", "kept"))
    fill, ink, line = css(look["fill"]), css(look["ink"]), dashes(look.get("dash", ()))
    paint = f'style="fill:{fill};stroke:{stroke}" stroke-width="{look.get("width", 1.2):g}"{line}'
    parts = [f'<g transform="translate({x:g} {y:g})"><title>{escape(_tip(node))}</title>']
    if node["folds"] > 1:
        parts += [f'<path d="{d}" transform="translate({by} {-by})" {paint}/>' for by in STACK]
    parts.append(f'<path d="{d}" {paint}/>')
    hatch = look.get("hatch")
    if hatch:
        parts.append(f'<path d="{d}" style="fill:url(#x-{hatch})" opacity="{HATCH_OPACITY[hatch]}"/>')
    if node["change"] == "changed":
        inner = box_path(node["kind"], width - 7, height - 7)
        parts.append(f'<path d="{inner}" style="fill:none;stroke:{stroke}" stroke-width="1.2"/>')
    halo = f"stroke:{fill};stroke-width:4px;paint-order:stroke;stroke-linejoin:round" if hatch else ""
    parts += _words(node, width, height, f"fill:{ink};{halo}")
    disc = f'r="9.5" style="fill:{fill};stroke:{ink}" stroke-width="0.8" stroke-opacity="0.28"'
    symbol = f'<path class="x-symbol" transform="translate(-8 -8)" d="{KINDS[node["kind"]].symbol}"'
    parts.append(
        f'<g transform="translate({symbol_centre(node["kind"], width):g} 0)"><circle {disc}/>'
        f'{symbol} style="stroke:{ink}"/></g>'
    )
    return "".join([*parts, *_signs(node, width, height, look), "</g>"])


def _words(node: NodeView, width: float, height: float, style: str) -> list[str]:
    """Draw the title and the detail to the right of the symbol."""
    inset = 6 if node["kind"] in ("input", "leaf") else 0
    left, room = -width / 2 + 30 + inset, width - 38 - 2 * inset
    title = clip(node["title"], 12.5, room, bold=True)
    two = bool(node["detail"]) and height >= 36
    found = [f'<text class="x-box-title" x="{left:g}" y="{-7 if two else 0.5}" style="{style}">{escape(title)}</text>']
    if two:
        parts = node["detail"].split(", ")
        while len(parts) > 1 and width_of(", ".join(parts), 11) > room:
            parts.pop()
        detail = escape(clip(", ".join(parts), 11, room))
        found.append(f'<text class="x-box-detail" x="{left:g}" y="9.5" style="{style}">{detail}</text>')
    return found


def _signs(node: NodeView, width: float, height: float, look: LookView) -> list[str]:
    """Draw signs at the upper left corner, the pill at the upper right, and badges at the lower right."""
    parts: list[str] = []
    for number, sign in enumerate(look.get("signs", ())):
        x = -width / 2 + 3 + number * SIGN_STEP
        circle = f'<circle r="8" style="fill:{css(sign["fill"])};stroke:{css(sign["stroke"])}"/>'
        words = f'<text class="x-corner" y="0.5" style="fill:{css(sign["ink"])}">{escape(sign["sign"])}</text>'
        parts.append(f'<g transform="translate({x:g} {-height / 2:g})">{circle}{words}</g>')
    pill, rise = node.get("pill"), STACK[0] if node["folds"] > 1 else 0
    if pill:
        across = 13 + width_of(pill, 11, bold=True)
        x, y = width / 2 + 6 + rise - across / 2, -height / 2 - rise
        fill, ink = ("fg", "panel") if node["folds"] > 1 else ("panel", "fg")
        rect = f'<rect x="{-across / 2:.5g}" y="-9" width="{across:.5g}" height="18" rx="9"'
        parts.append(
            f'<g transform="translate({x:.6g} {y:g})">{rect} style="fill:var(--{fill});stroke:var(--fg)"/>'
            f'<text class="x-pill" y="0.5" style="fill:var(--{ink})">{escape(pill)}</text></g>'
        )
    for number, badge in enumerate(node["badges"][:MAX_BADGES]):
        more = len(node["badges"]) > MAX_BADGES and number == MAX_BADGES - 1
        sign = "…" if more else badge["sign"]
        fill, ink = css(badge["tone"]), css(ink_on(badge["tone"]))
        across = max(17.0, 9 + width_of(sign, 10.5, bold=True))
        x = width / 2 + 4 - number * BADGE_STEP - across / 2
        rect = f'<rect x="{-across / 2:.5g}" y="-8.5" width="{across:.5g}" height="17" rx="5"'
        parts.append(
            f'<g transform="translate({x:.6g} {height / 2:g})">{rect} style="fill:{fill};stroke:var(--box)"/>'
            f'<text class="x-badge" y="0.5" style="fill:{ink}">{escape(sign)}</text></g>'
        )
    return parts


def box_path(kind: str, width: float, height: float) -> str:
    """Return the outline of a kind of box around (0, 0); `boxPath` in `shapes.js` is the same."""
    left, top, right, bottom = -width / 2, -height / 2, width / 2, height / 2
    if kind == "product":
        cut = min(10.0, height / 4)
        upper = f"M{left + cut:g} {top:g}H{right - cut:g}L{right:g} {top + cut:g}"
        lower = f"V{bottom - cut:g}L{right - cut:g} {bottom:g}H{left + cut:g}L{left:g} {bottom - cut:g}"
        return f"{upper}{lower}V{top + cut:g}Z"
    r = min(
        width / 2, height / 2 if kind in ("input", "leaf") else 2.0 if kind in ("matmul", "view", "operator") else 8.0
    )
    arc = f"a{r:g} {r:g} 0 0 1 "
    return (
        f"M{left + r:g} {top:g}H{right - r:g}{arc}{r:g} {r:g}V{bottom - r:g}{arc}{-r:g} {r:g}"
        f"H{left + r:g}{arc}{-r:g} {-r:g}V{top + r:g}{arc}{r:g} {-r:g}Z"
    )


def symbol_centre(kind: str, width: float) -> float:
    """Return where the symbol is, to the left in its box."""
    return -width / 2 + (19 if kind in ("input", "leaf") else 16)


def width_of(words: str, size: float, *, bold: bool = False) -> float:
    """Estimate the width of a text in pixels."""
    return len(words) * size * (BOLD if bold else NARROW)


def clip(words: str, size: float, room: float, *, bold: bool = False) -> str:
    """Cut a text to a width, with an ellipsis."""
    most = int(room / width_of("x", size, bold=bold))
    return words if len(words) <= most else f"{words[: max(0, most - 1)].rstrip()}…"


def _tip(node: NodeView) -> str:
    count = f"{node['count']:,} layers" if node["count"] > 1 else f"node {node['ids'][0]}"
    facts = [f"{node['title']}: {count}", node["detail"], f"level {node['level']}", node["change"], node["fill_text"]]
    return "\n".join([fact for fact in facts if fact] + [badge["text"] for badge in node["badges"]])
