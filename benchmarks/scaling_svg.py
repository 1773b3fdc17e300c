"""Times against the number of layers and against the batch size, as a picture: two panels with logarithmic axes."""

import math
from collections.abc import Callable, Sequence
from html import escape

from benchmarks.scaling import ENTRANTS, Scaling, ScalingPoint
from benchmarks.suite import faster_median

WIDTH, HEIGHT = 860, 400
LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, GAP = 70, 64, 330, 266, 90
COLOURS = ("#d55e00", "#009e73", "#0072b2")
"""The colours of the entrants, in order; people with any kind of colour vision tell them apart."""
MARKS: Sequence[Callable[[float, float], str]] = (
    lambda x, y: f'<path d="M{x - 4.5:.1f} {y + 4:.1f}h9l-4.5 -8.5z"/>',
    lambda x, y: f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>',
    lambda x, y: f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>',
)
NAMES = (
    "libcirkit, folded and optimized",
    "layers in PyTorch: circuit.freeze()",
    "native kernels: circuit.freeze().fast()",
)


def scaling_svg(found: Scaling, caption: str) -> str:
    """The picture; the caption is below it, such as the machine and the versions."""
    panels = [
        (found.by_layers, lambda one: one.num_layers, f"symbolic layers ({found.by_layers[0].batch_size} rows)"),
        (found.by_batch_size, lambda one: one.batch_size, f"rows ({found.by_batch_size[0].num_layers:,} layers)"),
    ]
    seconds = [1000 * faster_median(s) for points, _, _ in panels for one in points for s in one.samples.values()]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#16191d">',
        f"<title>Time of a forward pass against layers and rows. {escape(caption)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _legend(),
    ]
    for position, (points, of, title) in enumerate(panels):
        left = LEFT + position * (PANEL_WIDTH + GAP)
        parts.append(_panel(points, of, title, left, _powers(seconds)))
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 12}" fill="#565d66" font-size="11">{escape(caption)}</text></svg>')
    return "\n".join(parts) + "\n"


def _legend() -> str:
    parts: list[str] = []
    for at, (name, colour, mark) in enumerate(zip(NAMES, COLOURS, MARKS, strict=True)):
        x = LEFT + at * 258
        parts.append(f'<g fill="{colour}">{mark(x, 24)}</g><text x="{x + 10}" y="28">{escape(name)}</text>')
    return "".join(parts)


def _panel(
    points: Sequence[ScalingPoint], of: Callable[[ScalingPoint], int], title: str, left: float, rows: Sequence[int]
) -> str:
    columns = _powers([of(one) for one in points])

    def x_of(value: float) -> float:
        return left + PANEL_WIDTH * (math.log10(value) - columns[0]) / (columns[-1] - columns[0])

    def y_of(value: float) -> float:
        return TOP + PANEL_HEIGHT * (1 - (math.log10(value) - rows[0]) / (rows[-1] - rows[0]))

    parts: list[str] = []
    for power in rows:
        y = y_of(10.0**power)
        parts.append(f'<path d="M{left} {y:.1f}h{PANEL_WIDTH}" stroke="#d5d9df"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(10.0**power)} ms</text>')
    for power in columns:
        x = x_of(10.0**power)
        parts.append(f'<path d="M{x:.1f} {TOP}v{PANEL_HEIGHT}" stroke="#d5d9df"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{TOP + PANEL_HEIGHT + 18}" text-anchor="middle">{_number(10.0**power)}</text>'
        )
    for name, colour, mark in zip(ENTRANTS, COLOURS, MARKS, strict=True):
        places = [
            (x_of(of(one)), y_of(1000 * faster_median(one.samples[name]))) for one in points if name in one.samples
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<g fill="{colour}">{"".join(mark(x, y) for x, y in places)}</g>')
    middle = left + PANEL_WIDTH / 2
    parts.append(f'<text x="{middle}" y="{TOP + PANEL_HEIGHT + 38}" text-anchor="middle">{escape(title)}</text>')
    return "\n".join(parts)


def _powers(values: Sequence[float]) -> range:
    """The powers of ten from below the smallest to above the largest value."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return range(low, max(high, low + 1) + 1)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
