"""The small picture of each entry of a legend as marks, which pages and saved pictures draw alike."""

from collections.abc import Mapping, Sequence

from explorer.views.graph_painter import box_path, clip
from explorer.views.looks import ink_on
from explorer.views.marks import mark
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import LegendItem, MarkView
from explorer_widgets.theme import CHANGES, HULLS, KINDS, LANES, LIGHT, MATCHED, value_role

SIGN_SIZE, SIGN_ROOM = 10.5, 20.0
"""The size of a sign and its largest width."""
STYLE = f".x-legend text{{font-size:{SIGN_SIZE}px;font-weight:700;text-anchor:middle;dominant-baseline:central}}\n"
HELD = "held"
"""The role of a line that keeps layers apart."""
LINE_CHANNELS, CELLS = ("line", "bar", "mark"), ("apart", "folded", "pale")


def with_swatch(item: LegendItem) -> LegendItem:
    """Return an entry with its swatch."""
    return {**item, "swatch": _swatch(item)}


def _dashed(dash: Sequence[float]) -> str:
    return " ".join(f"{part:g}" for part in dash)


def _box(**look: object) -> MarkView:
    return mark("rect", **{"x": 1.5, "y": 1.5, "width": 23, "height": 13, "rx": 3, **look})


def _sign(text: str, fill: str = "fg") -> MarkView:
    return mark("text", x=13, y=8.4, fill=fill, text=clip(text, SIGN_SIZE, SIGN_ROOM, bold=True))


def _swatch(item: LegendItem) -> list[MarkView]:
    """Return the marks of what an entry explains, in a rectangle of 26 by 16 pixels."""
    channel, role, sign = item["channel"], item["role"], item["sign"]
    if channel in LINE_CHANNELS:
        return _line_swatch(channel, role)
    if channel == "cell":
        return _cells(role) if role in CELLS else [_box(fill=role if role in LIGHT else "operator", stroke="kept")]
    if channel == "shape":
        return _kind(role)
    if channel == "hull":
        style = HULLS[role]
        line = {
            "fill": "none",
            "stroke": style.line,
            "stroke_width": style.width,
            "stroke_dasharray": _dashed(style.dash),
        }
        return [_box(rx=6, fill=style.fill, fill_opacity=0.3), _box(rx=6, **line), _sign(sign or style.sign)]
    if channel == "edge":
        return [_box(rx=4, fill="copyFill", stroke="copy"), _sign(sign, "copy")]
    if role == "scale":
        return [_box(fill=value_role(1.0 if sign == "max" else 0.0), stroke="kept")]
    if role == "missing":
        hatch = mark("path", d="M2 9L9 2M5 14L17 2M13 14L24 3M20 14l4-4", fill="none", stroke="hatch", stroke_width=1.6)
        return [_box(fill="box", stroke="kept"), hatch]
    if role in CHANGES:
        return _change(role, sign)
    if role in ("matched", "match"):
        return [_box(fill="box", stroke="matchedLine", stroke_width=2.2), _sign(sign or MATCHED)]
    if role == "count":
        return [_box(rx=6.5, fill="panel", stroke="fg"), _sign("N")]
    if role == "stack":
        card = {"width": 18, "height": 10, "rx": 3, "fill": "box", "stroke": "kept"}
        return [mark("rect", x=1 + by, y=5.5 - by, **card) for by in (5, 2.5, 0)]
    if role.startswith("category-"):
        return [_box(fill=role, stroke="kept"), _sign(sign)]
    tone, ink = (role, ink_on(role) if ink_on(role) in LIGHT else "panel") if role in LIGHT else ("box", "fg")
    return [_box(x=4, width=18, rx=5, fill=tone, stroke="kept"), _sign(sign, ink)]


def _line_swatch(channel: str, role: str) -> list[MarkView]:
    """Return the marks of a line, of the bar of a lane, or of the outline of a cell."""
    if role == "port":
        line = mark("path", d="M1 8h24", fill="none", stroke="edge", stroke_width=PLATES["port"]["stroke"])
        return [line, mark("circle", cx=13, cy=8, r=7, fill="panel", stroke="edge"), _sign("1")]
    if channel == "line":
        dotted: Mapping[str, str] = {"stroke_dasharray": "2 4", "stroke_linecap": "round"} if role == "nearMiss" else {}
        dotted = {"stroke_dasharray": "6 3"} if role == "kept" else dotted
        line = "nearMiss" if role == HELD else role
        return [mark("path", d="M1 8h24", fill="none", stroke=line, stroke_width=2.2, **dotted)]
    if channel == "bar":
        lane = LANES[role]
        faint = PLATES["bars"]["recorded"] if lane.recorded else None
        bar = mark("rect", x=1, y=5, width=15, height=6, fill=lane.line, stroke=lane.line, fill_opacity=faint)
        return [mark("rect", x=1, y=5, width=24, height=6, fill="line"), bar]
    look = PLATES["marks"][role]
    outline = f"M7 2h12v12H7z{'M7 2l12 12M19 2L7 14' if role == 'lost' else ''}"
    line = {"stroke": look["line"], "stroke_width": 2, "stroke_dasharray": _dashed(look["dash"])}
    return [mark("path", d=outline, fill="none", **line)]


def _cells(role: str) -> list[MarkView]:
    """Return the marks of three cells, apart or closed up before their sheets, or of a sheet without a cell."""
    if role == "pale":
        return [_box(fill="operator", stroke="kept", fill_opacity=PLATES["sheets"]["fill"])]
    if role == "apart":
        return [mark("rect", x=x, y=2, width=6, height=12, fill="operator", stroke="kept") for x in (1, 9, 17)]
    sheet = mark("rect", x=5, y=1, width=20, height=11, fill="box", stroke="fg")
    cells = [mark("rect", x=x, y=4, width=7, height=11, fill="operator", stroke="kept") for x in (1, 8, 15)]
    return [sheet, *cells, mark("rect", x=1, y=4, width=21, height=11, fill="none", stroke="fg", stroke_width=2)]


def _kind(kind: str) -> list[MarkView]:
    """Return the marks of the outline and the symbol of a kind of box."""
    outline = mark("path", d=box_path(kind, 23, 13), transform="translate(13 8)", fill="box", stroke="kept")
    line = {"fill": "none", "stroke": "fg", "stroke_width": 2, "stroke_linecap": "round"}
    return [outline, mark("path", d=KINDS[kind].symbol, transform="translate(7.8 2.8) scale(.65)", **line)]


def _change(role: str, sign: str) -> list[MarkView]:
    """Return the marks of a box that a step changed."""
    kept = role == "kept"
    line = {
        "stroke": role,
        "stroke_width": 1.2 if kept else 2.2,
        "stroke_dasharray": "4 3" if role == "removed" else "",
    }
    inner = mark("rect", x=4, y=4, width=18, height=8, rx=1.5, fill="none", stroke="changed")
    frame = _box(fill="box", **line)
    return [frame, *([inner] if role == "changed" else []), _sign(sign or CHANGES[role].sign)]
