"""A picture as a stand-alone SVG string: for saved notebooks, reports, and pages without scripts.

Colours are those of the interactive drawing (Okabe-Ito), each with a sign, light and dark by the user's
setting. All text is escaped; nothing is fetched.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from textwrap import wrap
from xml.sax.saxutils import escape, quoteattr

from explorer.views.frame import frames_of
from explorer.views.lines import Line, is_straight, lines
from explorer.views.picture import Picture
from explorer.views.plates.svg import STYLE as PLATES_STYLE, plate_swatch, plates_elements
from explorer.views.roles import HULL_PADS, KIND_SIGNS, SIGNS, corner_radius
from explorer.views.routes import Place, Point
from explorer.views.tables import edge_text
from widgets.schema import EdgeView, HullView, LegendItem, NodeView, PictureView
from widgets.theme import CATEGORIES, CHANGES, DARK, HULLS, LIGHT, heat, is_dark

MAX_WIDTH, MAX_HEIGHT, MAX_TOTAL_HEIGHT = 1400.0, 720.0, 2400.0
"""The size of a page in pixels. A drawing over MAX_HEIGHT is not scaled below LEGIBLE_SCALE for it."""
LEGIBLE_SCALE, MIN_TEXT_SCALE = 0.5, 0.45
"""Below MIN_TEXT_SCALE boxes have no text, and a note says so."""
MIN_WIDTH = 720.0
"""If a drawing leaves room within this width, its legend is at its side, otherwise below."""

HEAD, LINE, SIDE = 32.0, 20.0, 24.0
LEGEND_SIGN = 80.0
HEAD_CHARACTER, SMALL_CHARACTER = 9.0, 6.5
"""Estimated widths of a character, of the title and of other text."""

VARIABLES = ";".join(f"--{role}:{colour}" for role, colour in LIGHT.items())
DARK_VARIABLES = ";".join(f"--{role}:{colour}" for role, colour in DARK.items() if colour != LIGHT[role])
THEMES = f".x-view{{{VARIABLES}}}\n@media (prefers-color-scheme:dark){{.x-view{{{DARK_VARIABLES}}}}}\n"


def _dash(dash: Sequence[float]) -> str:
    return f";stroke-dasharray:{' '.join(f'{part:g}' for part in dash)}" if dash else ""


def _change_style(name: str) -> str:
    change = CHANGES[name]
    return (
        f".x-{name} .x-box{{stroke:var(--{name});stroke-width:2{_dash(change.dash)}}}\n"
        f".x-edge.x-{name}{{stroke:var(--{name});stroke-width:1.8{_dash(change.edge_dash)}}}\n"
    )


STYLE = (
    """.x-view{font-family:system-ui,sans-serif}
.x-page{fill:var(--bg)}
.x-view text{fill:var(--fg)}
.x-view .x-soft{fill:var(--muted);font-size:11px}
.x-view .x-over{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}
.x-view .x-title{font-size:13px;font-weight:600}
.x-view .x-head{font-size:15px;font-weight:600}
.x-view .x-on-fill{fill:var(--fg)}
.x-view .x-on-dark{fill:#fff}
.x-view .x-on-light{fill:#000}
.x-view .x-sign{font-size:13px;font-weight:700}
.x-box{fill:var(--box);stroke:var(--kept);stroke-width:1.2}
.x-inner{fill:none;stroke:var(--changed);stroke-width:1.2}
.x-matched.x-kept .x-box{stroke:var(--matchedLine);stroke-width:1.8}
.x-hatch{fill:url(#x-hatch);stroke:none}
.x-hatch-line{stroke:var(--removed)}
.x-missing{fill:url(#x-missing);stroke:none}
.x-missing-line{stroke:var(--hatch)}
.x-edge{fill:none;stroke:var(--edge);stroke-width:1.3;marker-end:url(#x-arrow)}
.x-hull{fill:none}
.x-small text{display:none}
"""
    + "".join(_change_style(name) for name in SIGNS)
    + "".join(
        f".x-hull.x-{kind}{{stroke:var(--{hull.line});stroke-width:{hull.width:g}{_dash(hull.dash)}}}\n"
        for kind, hull in HULLS.items()
    )
    + PLATES_STYLE
)

DEFINITIONS = """<defs>
<pattern id="x-hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<line x1="0" y1="0" x2="0" y2="8" class="x-hatch-line" stroke-width="1.6" stroke-opacity=".45"/></pattern>
<pattern id="x-missing" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">\
<line x1="0" y1="0" x2="0" y2="6" class="x-missing-line" stroke-width="1.2"/></pattern>
<marker id="x-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse">\
<path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker>
</defs>"""


def static_svg(picture: Picture, *, fit: bool = False) -> str:
    """Return the picture with its texts and legend as an SVG string; mode `side` shows both states.

    With `fit`, as an image needs it: the drawing is scaled down to the size of a page, its colours are light.
    """
    frames = frames_of(picture)
    views = [frame.view for frame in frames]
    full_width, full_height = sum(frame.width for frame in frames), max(frame.height for frame in frames)
    scale = _page_scale(full_width, full_height) if fit else 1.0
    drawn_width, drawn_height = full_width * scale, full_height * scale

    title, legend = views[0]["title"], _distinct([item for view in views for item in view["legend"]])
    column = max([0, *(len(item["text"]) * SMALL_CHARACTER for item in legend)]) + LEGEND_SIGN
    legend_at_side = drawn_width + column <= MIN_WIDTH
    free_width = max(drawn_width, MIN_WIDTH - (column if legend_at_side else 0), len(title) * HEAD_CHARACTER + 2 * SIDE)
    width = free_width + (column if legend_at_side else 0)
    notes = wrap(" · ".join(_notes(views[0], scale)), int((width - 2 * SIDE) / SMALL_CHARACTER))
    top = HEAD + LINE * len(notes)
    columns = 1 if legend_at_side else max(1, int((width - SIDE) // column))
    legend_x, legend_y = (free_width, top) if legend_at_side else (SIDE, top + drawn_height)
    height = max(top + drawn_height, legend_y + -(-len(legend) // columns) * LINE) + SIDE

    body = [f'<text class="x-head" x="{SIDE:g}" y="24">{escape(title)}</text>']
    body += [_text("x-soft", SIDE, 42 + i * LINE, note, "start") for i, note in enumerate(notes)]
    left = (free_width - drawn_width) / 2
    for frame, name in zip(frames, ("Before", "After") if len(views) > 1 else ("",), strict=True):
        body.append(_text("x-soft", left + SIDE, top + 10, name, "start"))
        size = ' class="x-small"' if scale < MIN_TEXT_SCALE else ""
        body.append(f'<g{size} transform="translate({left:g},{top:g}) scale({scale:g})">')
        body += [*_drawing(frame.view, frame.places), "</g>"]
        left += frame.width * scale
    for i, item in enumerate(legend):
        body += _legend_item(item, legend_x + (i % columns) * column, legend_y + (i // columns + 1) * LINE)
    svg = "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="x-view" role="img" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" aria-label={quoteattr(title)}>',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(_description(views))}</desc>",
            f"<style>{STYLE if fit else THEMES + STYLE}</style>",
            DEFINITIONS,
            f'<rect class="x-page" width="{width:g}" height="{height:g}"/>',
            *body,
            "</svg>",
            "",
        ]
    )
    return _in_light(svg) if fit else svg


def _in_light(svg: str) -> str:
    """Replace the variables by light colours, for renderers without CSS variables."""
    return re.sub(r"var\(--([\w-]+)\)", lambda role: LIGHT.get(role[1], role[0]), svg)


def _page_scale(width: float, height: float) -> float:
    """Return the scale that fits a drawing to a page: a high one shrinks only as far as its text stays legible."""
    return min(1.0, MAX_WIDTH / width, max(MAX_HEIGHT / height, LEGIBLE_SCALE), MAX_TOTAL_HEIGHT / height)


def _notes(view: PictureView, scale: float) -> list[str]:
    small = "Too small for text: see the table." if scale < MIN_TEXT_SCALE else ""
    return [note for note in (view["caption"], view["note"], view["message"], small) if note]


def _description(views: Sequence[PictureView]) -> str:
    """Return the table of the picture as text, for screen readers."""
    lines = [f"{views[0]['caption']}. {views[0]['note']} {views[0]['message']}".strip()]
    for view in views:
        columns = view["table"]["columns"]
        for row in view["table"]["rows"]:
            lines.append("; ".join(f"{name}: {cell}" for name, cell in zip(columns, row, strict=True) if cell))
    return "\n".join(lines)


def _distinct(items: Sequence[LegendItem]) -> list[LegendItem]:
    return list({(item["channel"], item["role"], item["text"]): item for item in items}.values())


# ---------------------------------------------------------------------- parts of the drawing


def _drawing(view: PictureView, places: Sequence[Place]) -> list[str]:
    if view["group_by"] == "plates":
        return plates_elements(view, places)
    place = {node["id"]: at for node, at in zip(view["nodes"], places, strict=True)}
    letters = {item["role"]: item["sign"] for item in view["legend"] if item["channel"] == "fill"}
    position = {node["id"]: i for i, node in enumerate(view["nodes"])}
    ends = [(position[edge["source"]], position[edge["target"]]) for edge in view["edges"]]
    routed = lines(places, ends, [SMALL_CHARACTER * len(edge["label"]) for edge in view["edges"]])
    return [
        *(_hull(hull, [place[name] for name in hull["nodes"]]) for hull in view["hulls"] if hull["nodes"]),
        *(_edge(edge, line) for edge, line in zip(view["edges"], routed, strict=True)),
        *(
            _text("x-soft x-over", line.words[0], line.words[1] + 4, edge["label"], "start")
            for edge, line in zip(view["edges"], routed, strict=True)
            if line.words
        ),
        *(_node(node, place[node["id"]], view, letters) for node in view["nodes"]),
    ]


def _node(node: NodeView, place: Place, view: PictureView, letters: dict[str, str]) -> str:
    x, y, width, height = place
    left, top = x - width / 2, y - height / 2
    classes = f"x-{node['change']}" + (" x-matched" if node["matched"] else "")
    radius = corner_radius(node["kind"], height)
    rect = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"'
    fill, ink = _fill(node, view)
    parts = [f'<g class="{classes}"><title>{escape(_tip(node))}</title>']
    if node["folds"] > 1:
        for shift in (8, 4):
            parts.append(
                f'<rect class="x-box" x="{left + shift:g}" y="{top - shift:g}" width="{width:g}" '
                f'height="{height:g}" rx="{radius:g}"/>'
            )
    parts.append(f'<rect class="x-box" {rect}{fill}/>')
    if node["change"] == "removed":
        parts.append(f'<rect class="x-hatch" {rect}/>')
    elif view["colour_by"] in ("time", "memory") and node["fill"] is None:
        parts.append(f'<rect class="x-missing" {rect}/>')
    if node["change"] == "changed":
        inner = f'x="{left + 4:g}" y="{top + 4:g}" width="{width - 8:g}" height="{height - 8:g}" rx="{radius - 2:g}"'
        parts.append(f'<rect class="x-inner" {inner}/>')
    count = f"{node['count']:,} ×" if node["count"] > 1 else ""
    parts.append(
        _text("x-title" + ink, x, y - 3, " ".join(filter(None, (count, KIND_SIGNS[node["kind"]], node["title"]))))
    )
    parts.append(_text("x-soft" + ink, x, y + 14, node["detail"]))
    if node["change"] in SIGNS:
        parts.append(_text("x-sign" + ink, left + 8, top + 15, SIGNS[node["change"]], "start"))
    if node["matched"]:
        parts.append(_text("x-sign" + ink, left + width - 8, top + 15, "M", "end"))
    category = letters.get(f"category-{node['category']}", "")
    marks = [f"x{node['folds']}"] if node["folds"] > 1 else []
    marks += [badge["sign"] for badge in node["badges"]] + ([category] if category else [])
    if marks:
        parts.append(_text("x-sign", left + width, top - (12 if node["folds"] > 1 else 4), " ".join(marks), "end"))
    return "".join([*parts, "</g>"])


def _fill(node: NodeView, view: PictureView) -> tuple[str, str]:
    """Return the fill attribute of a box, and the class of text legible on it."""
    if node["fill"] is not None:
        colour = heat(node["fill"])
        return f' style="fill:{colour}"', " x-on-dark" if is_dark(colour) else " x-on-light"
    role = ""
    if view["colour_by"] == "change":
        role = "matchedFill" if node["matched"] else f"{node['change']}Fill" if node["change"] in SIGNS else ""
    elif node["category"] is not None:
        role = _category(node["category"])
    return (f' style="fill:var(--{role})"', " x-on-fill") if role else ("", "")


def _category(number: int) -> str:
    return f"category-{number % CATEGORIES}"


def _tip(node: NodeView) -> str:
    count = f"{node['count']:,} layers" if node["count"] > 1 else f"node {node['ids'][0]}"
    facts = [f"{node['title']}: {count}", node["detail"], f"level {node['level']}", node["change"], node["fill_text"]]
    return "\n".join([fact for fact in facts if fact] + [badge["text"] for badge in node["badges"]])


def _text(classes: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text class="{classes}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _edge(edge: EdgeView, line: Line) -> str:
    (x, y), *_ = line.corners
    path = f"M{x:g} {y:g}" + "".join(_curve(one, other) for one, other in pairwise(line.corners))
    tip = f"<title>{escape(edge_text(edge))} by {escape(edge['target'])}</title>"
    return f'<g><path class="x-edge x-{edge["change"]}" d="{path}">{tip}</path></g>'


def _curve(one: Point, other: Point) -> str:
    """Return the path from one point to another, vertical at both ends."""
    (from_x, from_y), (to_x, to_y) = one, other
    if is_straight(one, other):
        return f"L{to_x:g} {to_y:g}"
    middle = (from_y + to_y) / 2
    return f"C{from_x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"


def _hull(hull: HullView, places: Sequence[Place]) -> str:
    """Draw a frame around the boxes of a match."""
    pad = HULL_PADS[hull["kind"]]
    left = min(x - w / 2 for x, _, w, _ in places) - pad
    right = max(x + w / 2 for x, _, w, _ in places) + pad
    top = min(y - h / 2 for _, y, _, h in places) - pad
    bottom = max(y + h / 2 for _, y, _, h in places) + pad
    tip = f"<title>{escape(hull['label'])}\n{escape(hull['reason'])}</title>"
    return (
        f'<rect class="x-hull x-{hull["kind"]}" x="{left:g}" y="{top:g}" width="{right - left:g}" '
        f'height="{bottom - top:g}" rx="12">{tip}</rect>'
    )


def _legend_item(item: LegendItem, x: float, y: float) -> list[str]:
    text = _text("x-soft", x + max(46, 26 + 8.5 * len(item["sign"])), y, item["text"], "start")
    return [_swatch(item, x, y), text]


def _swatch(item: LegendItem, x: float, y: float) -> str:
    channel, role = item["channel"], item["role"]
    if channel in ("cell", "line", "mark"):
        return plate_swatch(item, x, y)
    sign = item["sign"] or KIND_SIGNS.get(role, "") if channel != "shape" else KIND_SIGNS.get(role, item["sign"])
    style = ""
    if role.startswith("category-"):
        style = f' style="fill:var(--{_category(int(role.split("-")[1]))})"'
    elif role == "scale":
        style = f' style="fill:{heat(1.0 if item["sign"] == "max" else 0.0)}"'
    elif f"{role}Fill" in LIGHT:
        style = f' style="fill:var(--{role}Fill)"'
    rect = f'x="{x:g}" y="{y - 11:g}" width="16" height="13" rx="3"'
    if channel == "hull":
        shape = f'<rect class="x-hull x-{role}" {rect}/>'
    elif channel in ("border", "fill"):
        classes = "x-matched x-kept" if role == "matched" else f"x-{role}"
        extra = f'<rect class="x-missing" {rect}/>' if role == "missing" else ""
        shape = f'<g class="{classes}"><rect class="x-box" {rect}{style}/>{extra}</g>'
    else:
        shape = ""
    return shape + (_text("x-sign", x + 22, y, sign, "start") if sign else "")
