"""The buffers of a program over time in an image: bars, the line of what is alive, the peak, an axis of bytes.

It draws what `widgets/js/picture/buffers_svg.js` draws for the clipboard.
"""

from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from explorer.views.looks import css
from explorer.views.plates.pen import path, rectangle
from explorer_widgets.schema import BuffersView, BufferView, LayerSpanView
from explorer_widgets.theme import LIGHT

HEIGHT, BAND, WORDS, PEAK, AXIS_WIDTH, GAP = 150.0, 24.0, 18.0, 20.0, 62.0, 30.0
"""Heights of the drawing, of the layers below it, of a line of words and of the peak's name; width of the axis; gap
between two drawings."""
NARROW = 0.12
"""The names of parts that take a smaller share of the time are in lines of their own."""
THIN = (0.003, 0.02)
"""The shares of the drawing's width and height below which a bar has no border."""
MIN_LABEL_HEIGHT, CHARACTER = 14.0, 6.6
"""Bars that are lower than this, or narrower than their label, have no label."""


def buffers_height(shown: Sequence[BuffersView]) -> float:
    """Return the height of some drawings next to one another."""
    if not shown:
        return 0.0
    lines = max(_lines_of_parts(buffers) for buffers in shown)
    return HEIGHT + max(map(_height_of_layers, shown)) + PEAK + (3 + max(0, lines - 1)) * WORDS


def buffers_svg(shown: Sequence[BuffersView], left: float, top: float, width: float) -> list[str]:
    """Return the elements of the buffers of one state, or of the states before and after, next to one another."""
    each = (width - GAP * (len(shown) - 1)) / max(1, len(shown))
    return [
        element
        for position, buffers in enumerate(shown)
        for element in _drawing(buffers, left + position * (each + GAP), top, each)
    ]


def _drawing(shown: BuffersView, left: float, top: float, width: float) -> list[str]:
    x, y, across = left + AXIS_WIDTH, top + WORDS + PEAK, width - AXIS_WIDTH
    per_moment = across / max(1, len(shown["moments"]))
    per_byte = HEIGHT / max(1, shown["scale"]["height"])
    bottom = y + HEIGHT
    found = [_text(left, top + 10, shown["text"])]
    for at, name in shown["scale"]["ticks"]:
        line = f"M{x:.1f} {bottom - at * per_byte:.1f}h{across:.1f}"
        found += [path(line, stroke="line"), _text(x - 6, bottom - at * per_byte + 4, name, "end")]
    peak = x + (shown["peak"] + 0.5) * per_moment
    highest = bottom - max(shown["live"], default=0) * per_byte
    found.append(path(f"M{peak:.1f} {y - 4:.1f}V{highest:.1f}", stroke="fg"))  # no line crosses the label of a bar
    for buffer in shown["buffers"]:
        rect = (
            x + buffer["start"] * per_moment,
            bottom - (buffer["bottom"] + buffer["bytes"]) * per_byte,
            (buffer["end"] - buffer["start"]) * per_moment,
            buffer["bytes"] * per_byte,
        )
        border = "" if is_thin(rect[2] / across, rect[3] / HEIGHT) else "panel"
        found += [path(rectangle(rect), fill=_role_of(buffer), stroke=border, width=0.75), *_label(buffer, rect)]
    found += [*_parts(shown, x, y, per_moment), *_layers(shown, x, bottom, per_moment)]
    foot = bottom + _height_of_layers(shown) + 14
    if not shown["live"]:
        return found
    steps = [
        f"V{bottom - live * per_byte:.1f}H{x + (moment + 1) * per_moment:.1f}"
        for moment, live in enumerate(shown["live"])
    ]
    found.append(
        path(f"M{x:.1f} {y + HEIGHT:.1f}{''.join(steps)}V{y + HEIGHT:.1f}", stroke="fg", width=1.5, dash=(4, 3))
    )
    anchor = "end" if shown["peak"] * 2 > len(shown["moments"]) else "start"
    words = f"{shown['peak_text']} at {shown['moments'][shown['peak']]}"
    found.append(_text(peak + (4 if anchor == "end" else -4), y - 8, words, anchor))
    found += [_text(x, foot, shown["moments"][0]), _text(x + across / 2, foot, "time →", "middle")]
    return [*found, _text(x + across, foot, shown["moments"][-1], "end")]


def is_thin(width: float, height: float) -> bool:
    """Return whether the border of a bar would hide it, given its shares of the drawing's width and height."""
    return width < THIN[0] or height < THIN[1]


def _layers(shown: BuffersView, x: float, bottom: float, per_moment: float) -> list[str]:
    """Return which layer runs when, below the drawing, or why that is left out."""
    if shown["undrawn_layers"]:
        return [_text(x, bottom + 15, shown["undrawn_layers"])]
    found: list[str] = []
    for span in shown["layers"]:
        left, width = x + span["start"] * per_moment, (span["end"] - span["start"]) * per_moment
        rect = (left, bottom + 3, width, BAND - 4)
        found.append(path(rectangle(rect), fill=_role_of(span), stroke="panel", width=0.75))
        title, layer, _ = span["label"].rpartition(" layer ")
        names = (span["label"], title) if layer else (span["label"],)
        name = next((name for name in names if width >= len(name) * CHARACTER + 6), "")
        look = f'font-size="11" text-anchor="middle" style="fill:{css("onCell")}"'
        if name:
            found.append(f'<text x="{left + width / 2:.1f}" y="{bottom + 17:.1f}" {look}>{escape(name)}</text>')
    return found


def _height_of_layers(shown: BuffersView) -> float:
    return BAND if shown["layers"] or shown["undrawn_layers"] else 0.0


def _parts(shown: BuffersView, x: float, y: float, per_moment: float) -> list[str]:
    """Return a line where each part of the program begins, and its name: that of a narrow one in a line of its own."""
    found: list[str] = []
    bottom = y + HEIGHT + _height_of_layers(shown)
    for (at, name), line in zip(shown["parts"], _rows_of_parts(shown), strict=True):
        left = x + at * per_moment
        found.append(path(f"M{left:.1f} {y:.1f}V{bottom + (2 + line) * WORDS:.1f}", stroke="accent", width=2))
        is_left = at * 2 <= len(shown["moments"])
        found.append(
            _text(left + (5 if is_left else -5), bottom + (1 + line) * WORDS + 12, name, "start" if is_left else "end")
            if line
            else _text(left + 5, bottom + WORDS + 12, name)
        )
    return found


def _rows_of_parts(shown: BuffersView) -> list[int]:
    """Return the line in which the name of each part is: the first, or one of its own if the part is narrow."""
    begins = [*(at for at, _ in shown["parts"]), len(shown["moments"])]
    rows: list[int] = []
    for at, end in pairwise(begins):
        rows.append(max(rows, default=0) + 1 if end - at < NARROW * len(shown["moments"]) else 0)
    return rows


def _lines_of_parts(shown: BuffersView) -> int:
    return max(_rows_of_parts(shown), default=-1) + 1


def _role_of(drawn: BufferView | LayerSpanView) -> str:
    return drawn["kind"] if drawn["kind"] in LIGHT else "operator"


def _label(buffer: BufferView, rect: tuple[float, float, float, float]) -> list[str]:
    x, y, width, height = rect
    if height < MIN_LABEL_HEIGHT or width < len(buffer["label"]) * CHARACTER + 8:
        return []
    look = f'font-size="11" style="fill:{css("onCell")}"'
    return [f'<text x="{x + 4:.1f}" y="{y + 11.5:.1f}" {look}>{escape(buffer["label"])}</text>']


def _text(x: float, y: float, words: str, anchor: str = "start", classes: str = "x-soft") -> str:
    return f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
