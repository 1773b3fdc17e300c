"""Bars and charts of bars as plain data, with the axis on which they are drawn."""

import math
from collections.abc import Sequence

from explorer_widgets.schema import VERSION, AxisView, BarsView, BarView, TableView

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
    """Return a chart of bars; the columns and rows are those of its table."""
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
