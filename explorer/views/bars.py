"""Bars and charts of bars as plain data, with the axis on which they are drawn."""

import math
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from explorer_widgets.schema import VERSION, AxisView, BarsView, BarView, TableView
from explorer_widgets.theme import LIGHT, SERIES, TONES

SIDE, HEAD, ROW, SPAN, VALUE = 24.0, 70.0, 22.0, 420.0, 220.0
"""Margin, height of the header and of a row, widths of the axis and of the values."""
CHARACTER = 6.5
TICK_GAP = 8.0
"""Minimum gap between the numbers of two ticks."""

STEPS = (1, 2, 5)
"""A logarithmic axis has ticks at these multiples of the powers of ten."""
MANY, TOO_MANY = 8, 16
"""With more ticks than this only the powers of ten are left; with more than the second, only some of them."""
NEAR = 0.85
"""The axis begins this far below the smallest value, or more."""


def bar(label: str, value: float | None, series: str) -> BarView:
    """Return a bar without whiskers."""
    return {"label": label, "value": value, "low": None, "high": None, "series": series, "missing": ""}


def bars_view(
    title: str,
    unit: str,
    series: Sequence[str],
    bars: Sequence[BarView],
    note: str,
    columns: Sequence[str],
    rows: Sequence[list[str]],
    *,
    log: bool = False,
) -> BarsView:
    """Return a chart of bars; `columns` and `rows` fill its table."""
    return {
        "version": VERSION,
        "title": title,
        "unit": unit,
        "log": log,
        "axis": axis_of(bars, log=log),
        "series": list(series),
        "bars": list(bars),
        "note": note,
        "table": {"columns": list(columns), "rows": list(rows)},
    }


def add_column(table: TableView, name: str, cells: Sequence[str]) -> None:
    """Add a column to a table, unless all of its cells are empty."""
    if any(cells):
        table["columns"].append(name)
        for row, cell in zip(table["rows"], cells, strict=True):
            row.append(cell)


def axis_of(bars: Sequence[BarView], *, log: bool) -> AxisView:
    """Return the axis of all values and intervals: from zero, or logarithmic."""
    values = [value for bar in bars for value in (bar["value"], bar["low"], bar["high"]) if value is not None]
    positive = [value for value in values if value > 0]
    if log:
        return _logarithmic(positive) if positive else _linear([])
    return _linear(values)


def place_on(bars: BarsView, value: float) -> float:
    """Return the place of a value on the axis, from 0 to 1."""
    low, high = bars["axis"]["low"], bars["axis"]["high"]
    if bars["log"] and low > 0:
        return math.log(max(low, value) / low) / math.log(high / low)
    return (value - low) / ((high - low) or 1.0)


def _axis(low: float, high: float, ticks: Sequence[float]) -> AxisView:
    return {"low": low, "high": high, "ticks": [(tick, tick_text(tick)) for tick in ticks]}


def _logarithmic(values: Sequence[float]) -> AxisView:
    def mark(index: int) -> float:
        return STEPS[index % 3] * 10.0 ** (index // 3)

    first = 3 * math.floor(math.log10(min(values))) - 1
    while mark(first + 1) <= min(values) * NEAR:
        first += 1
    last = first + 1
    while mark(last) < max(values):
        last += 1
    count = last - first + 1
    every = 3 * math.ceil(count / 24) if count > TOO_MANY else 3 if count > MANY else 1
    ticks = [mark(index) for index in range(first, last + 1) if index % every == 0]
    return _axis(mark(first), mark(last), ticks)


def _linear(values: Sequence[float]) -> AxisView:
    least, most = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    rough = ((most - least) or 1.0) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next((size for size in (unit, 2 * unit, 5 * unit, 10 * unit) if size >= rough), unit)
    low, high = step * math.floor(least / step), step * math.ceil((most or 1.0) / step)
    return _axis(low, high, [low + i * step for i in range(round((high - low) / step) + 1)])


def tick_text(value: float) -> str:
    """Return a number with three digits, without trailing zeros."""
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    digits = min(6, max(0, 2 - math.floor(math.log10(abs(value)))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def bars_svg(bars: BarsView) -> str:
    """Return bars with whiskers, one row per bar, with their values as text."""
    labels = [_label(bars, bar) for bar in bars["bars"]]
    start = SIDE + max(map(len, labels), default=0) * CHARACTER + 12
    width = max(start + SPAN + VALUE, len(bars["note"]) * CHARACTER + 2 * SIDE)
    height = HEAD + ROW * len(labels) + SIDE
    bottom = HEAD + ROW * len(labels)

    def at(value: float) -> float:
        return start + SPAN * min(max(place_on(bars, value), 0.0), 1.0)

    scale = ", ".join(filter(None, (bars["unit"], "logarithmic" if bars["log"] else "")))
    rows = [
        _text(SIDE, 24, f"{bars['title']} ({scale})" if scale else bars["title"], size=15, weight=600),
        _text(SIDE, 42, bars["note"], LIGHT["muted"]),
        *_axis_elements(bars, at, bottom),
    ]
    for i, (bar, label) in enumerate(zip(bars["bars"], labels, strict=True)):
        y = HEAD + ROW * (i + 0.5)
        rows.append(_text(start - 12, y + 4, label, anchor="end"))
        if bar["value"] is None:
            rows.append(_text(start, y + 4, bar["missing"] or "no value", LIGHT["muted"]))
        else:
            rows += _row(bars, bar, bar["value"], y, at)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" font-family="sans-serif">'
        f'<rect width="{width:g}" height="{height:g}" fill="{LIGHT["bg"]}"/>{"".join(rows)}</svg>'
    )


def _label(bars: BarsView, bar: BarView) -> str:
    return f"{bar['label']} · {bar['series']}" if len(bars["series"]) > 1 else bar["label"]


def _row(bars: BarsView, bar: BarView, value: float, y: float, at: Callable[[float], float]) -> list[str]:
    """Draw a bar from zero, or a dot on a logarithmic axis, its interval, and its value to the right of both."""
    series = bars["series"].index(bar["series"]) if bar["series"] in bars["series"] else 0
    colour, text = SERIES[series % len(SERIES)], f"{value:,.4g}"
    if "tone" in bar:
        tone = TONES[bar["tone"]]
        colour, text = LIGHT[bar["tone"]], f"{tone.sign} {text}, {tone.words}"
    left, right = sorted((at(0.0), at(value)))
    rect = f'<rect x="{left:g}" y="{y - 7:g}" width="{max(right - left, 1):g}" height="14" rx="2" fill="{colour}"/>'
    dot = _dot(at(value), y, series, colour)
    interval: list[str] = []
    if bar["low"] is not None and bar["high"] is not None:
        low, high = at(bar["low"]), at(bar["high"])
        path = f"M{low:g} {y:g}H{high:g}M{low:g} {y - 4:g}v8M{high:g} {y - 4:g}v8"
        interval = [
            f'<path d="{path}" stroke="{shade}" stroke-width="{weight}"/>'
            for shade, weight in ((LIGHT["bg"], 3.6), (LIGHT["fg"], 1.4))
        ]
        right = max(right, high)
    mark = [*interval, dot] if bars["log"] else [rect, *interval]
    return [*mark, _text(right + (10 if bars["log"] else 6), y + 4, text)]


def _dot(x: float, y: float, series: int, colour: str) -> str:
    """A circle, or a diamond in every second series."""
    style = f'fill="{colour}" stroke="{LIGHT["bg"]}"'
    if series % 2:
        return f'<path d="M{x:g} {y - 6:g}l6 6l-6 6l-6 -6z" {style}/>'
    return f'<circle cx="{x:g}" cy="{y:g}" r="5" {style}/>'


def _axis_elements(bars: BarsView, at: Callable[[float], float], bottom: float) -> list[str]:
    """Draw a line and a number for each tick; a number that would touch the one before is left out."""
    parts: list[str] = []
    edge = -math.inf
    for tick, text in bars["axis"]["ticks"]:
        x = at(tick)
        parts.append(f'<path d="M{x:g} {HEAD:g}V{bottom:g}" stroke="{LIGHT["line"]}"/>')
        half = len(text) * CHARACTER / 2
        if x - half >= edge + TICK_GAP:
            edge = x + half
            parts.append(_text(x, HEAD - 4, text, LIGHT["muted"], anchor="middle"))
    return parts


def _text(
    x: float,
    y: float,
    text: str,
    colour: str = LIGHT["fg"],
    *,
    anchor: str = "start",
    size: int = 11,
    weight: int = 400,
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )
