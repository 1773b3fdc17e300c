"""The buffers of a program over time in an image: bars, the line of what is alive, the peak, an axis of bytes.

It draws what `widgets/js/picture/buffers_svg.js` draws for the clipboard.
"""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from explorer.views.looks import css
from explorer.views.plates.pen import path, rectangle
from widgets.schema import BuffersView, BufferView
from widgets.theme import LIGHT

HEIGHT, WORDS, PEAK, AXIS_WIDTH, GAP = 150.0, 18.0, 20.0, 62.0, 30.0
"""Heights of the drawing, of a line of words and of the peak's name; width of the axis; gap between two drawings."""
MIN_LABEL_HEIGHT, CHARACTER = 14.0, 6.6
"""Bars that are lower than this, or narrower than their label, have no label."""


def buffers_height(shown: Sequence[BuffersView]) -> float:
    """Return the height of some drawings next to one another."""
    return HEIGHT + PEAK + 3 * WORDS if shown else 0.0


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
        found += [path(rectangle(rect), fill=_role_of(buffer), stroke="panel", width=0.75), *_label(buffer, rect)]
    found += _parts(shown, x, y, per_moment)
    if not shown["live"]:
        return found
    steps = [
        f"V{bottom - live * per_byte:.1f}H{x + (moment + 1) * per_moment:.1f}"
        for moment, live in enumerate(shown["live"])
    ]
    found.append(path(f"M{x:.1f} {bottom:.1f}{''.join(steps)}V{bottom:.1f}", stroke="fg", width=1.5, dash=(4, 3)))
    anchor = "end" if shown["peak"] * 2 > len(shown["moments"]) else "start"
    words = f"{shown['peak_text']} at {shown['moments'][shown['peak']]}"
    found.append(_text(peak + (4 if anchor == "end" else -4), y - 8, words, anchor))
    found += [_text(x, bottom + 14, shown["moments"][0]), _text(x + across / 2, bottom + 14, "time →", "middle")]
    return [*found, _text(x + across, bottom + 14, shown["moments"][-1], "end")]


def _parts(shown: BuffersView, x: float, y: float, per_moment: float) -> list[str]:
    """Return a line where each part of the program begins, and its name if there is room for it."""
    found: list[str] = []
    begins = [*(at for at, _ in shown["parts"]), len(shown["moments"])]
    for (at, name), end in zip(shown["parts"], begins[1:], strict=True):
        left, bottom = x + at * per_moment, y + HEIGHT
        found.append(path(f"M{left:.1f} {y:.1f}V{bottom + 2 * WORDS:.1f}", stroke="accent", width=2))
        if (end - at) * per_moment >= len(name) * CHARACTER:
            found.append(_text(left + 5, bottom + WORDS + 12, name))
    return found


def _role_of(buffer: BufferView) -> str:
    return buffer["kind"] if buffer["kind"] in LIGHT else "operator"


def _label(buffer: BufferView, rect: tuple[float, float, float, float]) -> list[str]:
    x, y, width, height = rect
    if height < MIN_LABEL_HEIGHT or width < len(buffer["label"]) * CHARACTER + 8:
        return []
    look = f'font-size="11" style="fill:{css("onCell")}"'
    return [f'<text x="{x + 4:.1f}" y="{y + 11.5:.1f}" {look}>{escape(buffer["label"])}</text>']


def _text(x: float, y: float, words: str, anchor: str = "start", classes: str = "x-soft") -> str:
    return f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
