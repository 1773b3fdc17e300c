"""Charts of measured numbers: two time lines, curves, and dots with intervals."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.views import speed_up
from pictures.svg import BLUE, GREEN, GREY, LINE, MUTED, ORANGE, PINK, WIDTH, Drawing, Figure

COLOURS = (BLUE, ORANGE, GREEN, PINK, GREY)
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 34, 50
"""Margins of a chart in pixels."""


def time_line(before: Any, after: Any, checked: str) -> Figure:
    """Draw the operators that two measured states run, one after the other and to scale: each tick is an operator.

    `before` and `after` are timings of `explorer.bench`; `checked` says how the values of both compare.
    """
    drawing = Drawing(height=210)
    drawing.text(20, 28, "One pass over the circuit, before and after compiling", bold=True)
    full = WIDTH - 40
    said = []
    for row, (name, timing, colour) in enumerate((("before", before, ORANGE), ("after", after, BLUE))):
        y = 62 + 68 * row
        width = full * timing.estimate.median / max(before.estimate.median, after.estimate.median)
        words = f"{name}: {timing.layers} layers, {timing.operators:,} operators, {timing.estimate.median:.3g} ms"
        drawing.text(20, y - 6, words)
        drawing.rect(20, y, width, 28, colour)
        shown = min(timing.operators, int(width / 1.6))
        drawing.ticks([20 + width * (tick + 0.5) / shown for tick in range(shown)], y, 28, colour)
        said.append(words)
    faster = f"{speed_up(before.estimate, after.estimate).text} on this CPU. The same numbers: {checked}."
    drawing.text(20, 194, faster, bold=True)
    return drawing.figure(f"{said[0]}; {said[1]}. {faster}")


def line_chart(
    title: str,
    curves: Mapping[str, Sequence[tuple[float, ...]]],
    x_title: str,
    y_title: str,
    *,
    log: bool = False,
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Draw curves through points (x, y), or (x, y, low, high) with an interval; `levels` are horizontal lines."""
    drawing, levels = Drawing(height=320), levels or {}
    points = [point for curve in curves.values() for point in curve]
    ys = [value for point in points for value in point[1:]] + list(levels.values())
    x_axis = _Axis([point[0] for point in points], LEFT, WIDTH - RIGHT, log)
    y_axis = _Axis(ys, drawing.height - BOTTOM, TOP + 22, log)
    drawing.text(20, 24, title, bold=True)
    for value in x_axis.ticks():
        drawing.line([(x_axis.at(value), y_axis.first), (x_axis.at(value), y_axis.first + 5)])
        drawing.text(x_axis.at(value), y_axis.first + 20, f"{value:,.4g}", at="middle", colour=MUTED, small=True)
    for value in y_axis.ticks():
        drawing.line([(LEFT, y_axis.at(value)), (WIDTH - RIGHT, y_axis.at(value))], "#e4e7eb", width=1)
        drawing.text(LEFT - 8, y_axis.at(value) + 4, f"{value:,.3g}", at="end", colour=MUTED, small=True)
    drawing.text((LEFT + WIDTH - RIGHT) / 2, drawing.height - 10, x_title, at="middle", small=True)
    drawing.text(LEFT, TOP + 12, y_title, at="start", small=True)
    for name, level in levels.items():
        drawing.line([(LEFT, y_axis.at(level)), (WIDTH - RIGHT, y_axis.at(level))], LINE, width=1.4)
        drawing.text(LEFT + 6, y_axis.at(level) - 6, f"{name}: {level:.3g}", colour=MUTED, small=True)
    right = WIDTH - RIGHT
    for (name, curve), colour in reversed(list(zip(curves.items(), COLOURS, strict=False))):
        drawing.line([(x_axis.at(point[0]), y_axis.at(point[1])) for point in curve], colour, width=2)
        for x, y, *interval in curve if len(curve) <= 30 else ():
            drawing.circle(x_axis.at(x), y_axis.at(y), 3.5, colour)
            if interval:
                drawing.line([(x_axis.at(x), y_axis.at(end)) for end in interval], colour, width=2)
        right -= 9 * len(name) + 30
        drawing.line([(right, 20), (right + 18, 20)], colour, width=3)
        drawing.text(right + 24, 24, name, small=True)
    said = "; ".join(f"{name} from {curve[0][1]:.3g} to {curve[-1][1]:.3g}" for name, curve in curves.items())
    return drawing.figure(f"{title}, {y_title} by {x_title}: {said}.")


def sweep_chart(title: str, curves: Mapping[str, Sequence[Any]]) -> Figure:
    """Draw timings by batch size, both on logarithmic axes, with the interval of each where it is known."""
    points = {
        name: [
            (
                one.batch_size,
                one.estimate.median,
                *((one.estimate.low, one.estimate.high) if one.estimate.is_known else ()),
            )
            for one in timings
        ]
        for name, timings in curves.items()
    }
    return line_chart(title, points, "rows in the batch", "ms", log=True)


def dots(title: str, rows: Sequence[tuple[str, str, Any]], x_title: str, *, level: float | None = None) -> Figure:
    """Draw a dot with its interval for each row (label, series, estimate); `level` is a vertical line.

    An estimate has `median`, `low` and `high`; one that was measured too few times has no interval.
    """
    drawing = Drawing(height=76 + 18 * len(rows))
    series = list(dict.fromkeys(name for _, name, _ in rows))
    ends = [end for _, _, one in rows for end in ((one.low, one.high) if one.is_known else (one.median,))]
    axis = _Axis(ends + ([] if level is None else [level]), 130, WIDTH - RIGHT, log=False)
    bottom = 44 + 18 * len(rows)
    drawing.text(20, 24, title, bold=True)
    for value in axis.ticks():
        drawing.line([(axis.at(value), 40), (axis.at(value), bottom)], "#e4e7eb", width=1)
        drawing.text(axis.at(value), bottom + 16, f"{value:,.4g}", at="middle", colour=MUTED, small=True)
    if level is not None:
        drawing.line([(axis.at(level), 40), (axis.at(level), bottom)], LINE, width=2)
    for at, (label, name, one) in enumerate(rows):
        y, colour = 54 + 18 * at, COLOURS[series.index(name)]
        drawing.text(120, y + 4, label, at="end", small=True)
        if one.is_known:
            drawing.line([(axis.at(one.low), y), (axis.at(one.high), y)], colour, width=2)
        drawing.circle(axis.at(one.median), y, 4, colour)
    right: float = WIDTH - RIGHT
    for name, colour in zip(reversed(series), reversed(COLOURS[: len(series)]), strict=True):
        right -= 8 * len(name) + 24
        drawing.circle(right, 20, 4, colour)
        drawing.text(right + 10, 24, name, small=True)
    drawing.text(WIDTH - RIGHT, bottom + 30, x_title, at="end", small=True)
    counts = ", ".join(f"{sum(one[1] == name for one in rows)} {name}" for name in series)
    return drawing.figure(f"{title}: {len(rows)} medians with intervals, {counts}.")


class _Axis:
    """Maps values to pixels from `first` to `last`, linearly or by their logarithm."""

    def __init__(self, values: Sequence[float], first: float, last: float, log: bool) -> None:
        self.first, self.last, self.log = first, last, log
        low, high = min(values), max(values)
        margin = 0.0 if log or first < last else 0.06 * (high - low or 1)
        self.low, self.high = low - margin, high + margin

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, value = (math.log(one) if self.log else one for one in (self.low, self.high, value))
        return self.first + (self.last - self.first) * (value - low) / (high - low or 1)

    def ticks(self) -> list[float]:
        """Return about five round values: 1, 2 or 5 times a power of ten; powers of ten if there are many of them."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1,) if len(decades) > 4 else (1, 2, 5)
            return [f * 10.0**d for d in decades for f in factors if self.low <= f * 10.0**d <= self.high]
        raw = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw)
        first = math.ceil(self.low / step)
        return [step * at for at in range(first, math.floor(self.high / step) + 1)]
