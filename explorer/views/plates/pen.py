"""SVG elements with their colours as roles: the counterpart of `widgets/js/plates/svg_pen.js`."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from math import hypot

from explorer.views.looks import css, dashes

Rect = tuple[float, float, float, float]
"""Left, top, width, height."""


def short(number: float) -> str:
    """Return a coordinate with one decimal."""
    return f"{round(number, 1) + 0:g}"


def path(
    d: str, *, fill: str = "none", stroke: str = "", width: float = 1.0, dash: Sequence[float] = (), opacity: float = 1
) -> str:
    """Return a path; `fill` and `stroke` are roles of the theme or hexadecimal colours."""
    line = f";stroke:{css(stroke)}" if stroke else ""
    size = f' stroke-width="{round(width, 2):g}"{dashes(dash)}' if stroke else ""
    faint = f' opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<path style="fill:{fill if fill == "none" else css(fill)}{line}"{size}{faint} d="{d}"/>'


def words(kind: str, x: float, y: float, text: str) -> str:
    """Return words around a point; their look is a row of `widgets/explorer_widgets/plate_look.py`."""
    return f'<text class="x-plate-{kind}" x="{short(x)}" y="{short(y)}">{escape(text)}</text>'


def rectangle(rect: Rect) -> str:
    """Return a path around a rectangle."""
    left, top, width, height = rect
    return f"M{short(left)} {short(top)}h{short(width)}v{short(height)}h{short(-width)}z"


def round_rectangle(rect: Rect, radius: float) -> str:
    """Return a path around a rectangle with round corners."""
    left, top, width, height = rect
    across, down, r, back = (short(n) for n in (width - 2 * radius, height - 2 * radius, radius, -radius))
    return (
        f"M{short(left + radius)} {short(top)}h{across}q{r} 0 {r} {r}v{down}q0 {r} {back} {r}"
        f"h-{across}q{back} 0 {back} {back}v-{down}q0 {back} {r} {back}z"
    )


def curve(one: Rect, other: Rect, bend: float) -> str:
    """Return a curve from the right side of one area to the left side of another."""
    x1, y1, x2, y2 = one[0] + one[2], one[1] + one[3] / 2, other[0], other[1] + other[3] / 2
    by = max(bend, abs(x2 - x1) / 2)
    return f"M{_points([(x1, y1)])}C{_points([(x1 + by, y1), (x2 - by, y2), (x2, y2)])}"


def polyline(points: Sequence[Sequence[float]], radius: float) -> str:
    """Return straight lines with round corners."""
    at = points[0]
    d = f"M{_points([at])}"
    for corner, after in pairwise(points[1:]):
        lengths = [hypot(end[0] - corner[0], end[1] - corner[1]) or 1.0 for end in (at, after)]
        size = min(radius, *lengths)
        start, stop = (
            [corner[i] + (end[i] - corner[i]) * size / length for i in (0, 1)]
            for end, length in zip((at, after), lengths, strict=True)
        )
        d += f"L{_points([start])}Q{_points([corner, stop])}"
        at = stop
    return f"{d}L{_points([points[-1]])}"


def _points(points: Iterable[Sequence[float]]) -> str:
    return " ".join(f"{short(x)} {short(y)}" for x, y in points)
