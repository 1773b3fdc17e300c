"""The legend of an image: swatches that look like what they explain."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from explorer.views.graph_svg import box_path
from explorer.views.looks import css, dashes, ink_on
from explorer.views.plates.svg import plate_swatch
from explorer_widgets.schema import LegendItem
from explorer_widgets.theme import CHANGES, HULLS, KINDS, LIGHT, value_role

MAX_SIGN = 2
"""Maximum length of a sign inside its swatch."""


def text_at(classes: str, x: float, y: float, text: str, anchor: str = "middle") -> str:
    """Return a text at a place."""
    return f'<text class="{classes}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def legend_item(item: LegendItem, x: float, y: float) -> list[str]:
    """Return a swatch and the words at the left end of a line of text."""
    sign = item["sign"] if item["channel"] not in ("shape", "cell", "line", "mark", "bar") else ""
    wide = max(46, 32 + 8.5 * len(sign)) if len(sign) > MAX_SIGN else 46
    text = text_at("x-soft", x + wide, y, item["text"], "start")
    return [_swatch(item, x, y), text]


def _swatch(item: LegendItem, x: float, y: float) -> str:
    """Draw what an entry explains."""
    channel, role, sign = item["channel"], item["role"], item["sign"]
    if channel in ("cell", "line", "mark", "bar"):
        return plate_swatch(item, x, y)
    if channel == "shape":
        return _kind_swatch(role, x, y)
    if channel == "hull":
        hull = HULLS[role]
        shape = _box(x, y, hull.fill, hull.line, hull.dash, 'fill-opacity="0.3" rx="6"')
    elif role == "scale":
        shape = _box(x, y, value_role(1.0 if sign == "max" else 0.0), "kept")
    elif role == "missing":
        shape = _box(x, y, "box", "kept") + f'<rect {_rect(x, y)} rx="3" style="fill:url(#x-missing)"/>'
    elif role in CHANGES:
        shape = _box(x, y, f"{role}Fill" if role != "kept" else "box", role, CHANGES[role].dash)
    elif role in ("matched", "match"):
        shape = _box(x, y, "matchedFill", "matchedLine")
    elif role == "count":
        shape, sign = _box(x, y, "panel", "fg", more='rx="6.5"'), "N"
    elif role == "stack":
        cards = ((x + by, y - 6.5 - by) for by in (5, 2.5, 0))
        look = 'width="16" height="10" rx="3" style="fill:var(--box);stroke:var(--kept)"'
        shape, sign = "".join(f'<rect x="{left:g}" y="{top:g}" {look}/>' for left, top in cards), ""
    elif role in LIGHT:
        shape = _box(x, y, role, "kept")
    else:
        shape = ""
    ink = ink_on(role) if channel == "badge" and role in LIGHT else "fg"
    words = f'<text class="x-corner" x="{x + 11:g}" y="{y - 1:g}" style="fill:var(--{ink})">{escape(sign)}</text>'
    return shape + (
        words if shape and len(sign) <= MAX_SIGN else text_at("x-sign", x + (26 if shape else 0), y, sign, "start")
    )


def _rect(x: float, y: float) -> str:
    return f'x="{x:g}" y="{y - 11:g}" width="22" height="14"'


def _box(x: float, y: float, fill: str, stroke: str, dash: Sequence[float] = (), more: str = 'rx="3"') -> str:
    return (
        f'<rect {_rect(x, y)} {more} style="fill:{css(fill)};stroke:{css(stroke)}" stroke-width="1.6"{dashes(dash)}/>'
    )


def _kind_swatch(kind: str, x: float, y: float) -> str:
    """Draw the outline and the symbol of a kind of box."""
    symbol = f'<path class="x-symbol" transform="translate(-5.2 -5.2) scale(.65)" d="{KINDS[kind].symbol}"'
    return (
        f'<g transform="translate({x + 11:g} {y - 4:g})"><path d="{box_path(kind, 22, 14)}" '
        f'style="fill:var(--box);stroke:var(--kept)"/>{symbol} style="stroke:var(--fg)"/></g>'
    )
