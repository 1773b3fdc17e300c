"""Bars and charts of bars as plain data, with the axis on which they are drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from explorer.views.graph_painter import clip, width_of
from explorer.views.marks import mark, mark_text, placed
from explorer_widgets.schema import VERSION, AxisView, BarsView, BarView, ChartView, MarkView, TableView
from explorer_widgets.theme import LIGHT, SERIES, TONES

ROW, TOP = 24.0, 26.0
"""Height of a row, and where the middle of the first one is."""
MAX_LABELS, MAX_SERIES = 240.0, 110.0
"""Largest widths of the columns of labels and of series."""
SIDE, HEAD, LEGEND, SPAN = 24.0, 56.0, 24.0, 420.0
"""Of a saved chart: margin, heights of the header and of the legend, length of the axis."""
STYLE = (
    f"text{{dominant-baseline:central;font-size:12px;fill:{LIGHT['fg']}}}"
    f".ceb-quiet{{font-size:11px;fill:{LIGHT['muted']}}}.ceb-label{{font-weight:600}}.head{{font-size:15px;font-weight:600}}"
)
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
    bare = {
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
    return with_chart(bare)  # pyright: ignore[reportArgumentType]


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


@dataclass(frozen=True, slots=True)
class _Look:
    """The fill of a series: plain, or a texture, so that colour is never the only cue; the colour of a tone, if any."""

    fill: str
    colour: str
    texture: tuple[MarkView, ...]


def _look(index: int, tone: str) -> _Look:
    """Return the look of a series by its number: plain, stripes, dots or lines."""
    colour, kind = tone or f"series-{index}", index % 4
    if not kind:
        return _Look(colour, colour, ())
    name = f"texture-{index}{tone}"
    signs = mark("circle", cx=3, cy=3, r=1.2, fill="bg") if kind == 2 else _stripe("bg")
    ground = mark("rect", width=6, height=6, fill=colour)
    return _Look(f"url(#{name})", colour, (_tile(name, [ground, signs], "rotate(45)" if kind == 1 else ""),))


def _stripe(colour: str) -> MarkView:
    return mark("path", d="M0 0V6", stroke=colour, stroke_width=2)


def _tile(name: str, parts: Sequence[MarkView], turn: str) -> MarkView:
    size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse", "patternTransform": turn}
    return mark("pattern", parts, id=name, **size)


MISSING = _tile("missing", [_stripe("control")], "rotate(-45)")
"""The hatch of a missing value."""


def with_chart(bars: BarsView) -> BarsView:
    """Return bars with their drawing."""
    several = len(bars["series"]) > 1
    labels = min(MAX_LABELS, 12 + max((width_of(bar["label"], 12, bold=True) for bar in bars["bars"]), default=0))
    series = min(MAX_SERIES, 12 + max(width_of(name, 11) for name in bars["series"])) if several else 0.0
    values = [width_of(_value_text(bar, bars["unit"]), 12) for bar in bars["bars"]]
    left, right = labels + series, 16 + max([40.0, *values])
    rows: list[MarkView] = []
    textures: dict[str, MarkView] = {"missing": MISSING}
    y, before = TOP, ""
    for number, bar in enumerate(bars["bars"]):
        y += 0 if not number else ROW - 3 if bar["label"] == before else ROW + (8 if several else 3)
        look = _look(max(0, _number(bars, bar)), bar.get("tone", ""))
        textures |= {str(tile.get("id")): tile for tile in look.texture}
        names = [_name("ceb-label", labels - 10, y, clip(bar["label"], 12, labels - 12, bold=True))]
        if number and bar["label"] == before:
            names = []
        if several:
            names.append(_name("ceb-quiet", left - 8, y, clip(bar["series"], 11, series - 8)))
        title = mark("title", text=", ".join(filter(None, (bar["label"], bar["series"], _describe(bar, bars["unit"])))))
        rows.append(mark("g", [title, *names, *_row(bars, bar, look, y)], **{"data-bar": number}))
        before = bar["label"]
    bottom = y + ROW / 2 + 4
    unit = mark("text", **{"class": "ceb-quiet", "from": 0.0}, y=bottom + 9, text=_unit(bars))
    tones = [
        tone for tone in TONES if any(bar.get("tone") == tone and bar["value"] is not None for bar in bars["bars"])
    ]
    entries = [(name, _look(index, "")) for index, name in enumerate(bars["series"] if several else ())]
    entries += [(f"{TONES[tone].sign} {TONES[tone].words}", _look(0, tone)) for tone in tones]
    chart: ChartView = {
        "left": left,
        "right": right,
        "height": bottom + 20,
        "text": _summary(bars, tones),
        "marks": [mark("defs", textures.values()), *_axis_marks(bars, bottom), unit, *rows],
        "legend": [{"text": words, "swatch": _swatch(look)} for words, look in entries],
    }
    return {**bars, "chart": chart}


def _name(kind: str, x: float, y: float, text: str) -> MarkView:
    return mark("text", **{"class": kind}, x=x, y=y, text_anchor="end", text=text)


def _swatch(look: _Look) -> list[MarkView]:
    return [mark("defs", look.texture), mark("rect", width=22, height=12, rx=2, fill=look.fill, stroke=look.colour)]


def _unit(bars: BarsView) -> str:
    return f"{bars['unit']}{', logarithmic' if bars['log'] else ''}"


def _summary(bars: BarsView, tones: Sequence[str]) -> str:
    counts = [f"{sum(bar.get('tone') == tone for bar in bars['bars'])} {TONES[tone].words}" for tone in tones]
    shown = f"{len(bars['bars'])} {'dots' if bars['log'] else 'bars'} in {_unit(bars)}"
    return f"{bars['title']}: {'; '.join(filter(None, (shown, ', '.join(counts))))}. The table has the same values."


def _number(bars: BarsView, bar: BarView) -> int:
    return bars["series"].index(bar["series"]) if bar["series"] in bars["series"] else -1


def _value_text(bar: BarView, unit: str) -> str:
    """Return the value next to a bar, after the sign of its tone."""
    if bar["value"] is None:
        return ""
    return f"{TONES[bar['tone']].sign + ' ' if 'tone' in bar else ''}{tick_text(bar['value'])} {unit}"


def _describe(bar: BarView, unit: str) -> str:
    """Return what a bar says, for screen readers and the tooltip."""
    if bar["value"] is None:
        return f"missing: {bar['missing'] or 'no value'}"
    is_known = bar["low"] is not None and bar["high"] is not None
    spread = f" ({tick_text(bar['low'] or 0)} to {tick_text(bar['high'] or 0)})" if is_known else ""
    return f"{tick_text(bar['value'])} {unit}{spread}{', ' + TONES[bar['tone']].words if 'tone' in bar else ''}"


def _row(bars: BarsView, bar: BarView, look: _Look, y: float) -> list[MarkView]:
    """Return a bar from zero, or a dot on a logarithmic axis, its interval, and its value behind both."""
    value, low, high = bar["value"], bar["low"], bar["high"]
    why = (bar["missing"] or "no value") if value is None else ""
    if value is not None and bars["log"] and value <= 0:
        why = f"{tick_text(value)} {bars['unit']} cannot be shown on a logarithmic axis"
    if value is None or why:
        frame = {"fill": "url(#missing)", "stroke": "control", "stroke_dasharray": "3 3"}
        gap = mark("rect", **{"from": 0.0}, y=y - 8, width=46, height=16, rx=2, **frame)
        return [gap, mark("text", **{"class": "ceb-quiet", "from": 0.0}, x=54, y=y, text=why)]
    at, zero = place_on(bars, value), 0.0 if bars["log"] else place_on(bars, 0.0)
    start, end = min(zero, at), max(zero, at)
    has_interval = low is not None and high is not None and not (bars["log"] and low <= 0)
    ends = (place_on(bars, low), place_on(bars, high)) if has_interval and low is not None and high is not None else ()
    if bars["log"]:
        found = [*_whiskers(ends, y), _dot(at, y, _number(bars, bar), look.colour)]
    else:
        sides = {"class": "ceb-bar", "from": start, "to": end}
        found = [
            mark("rect", **sides, y=y - 8, height=16, rx=2, fill=look.fill, stroke=look.colour),
            *_whiskers(ends, y),
        ]
    words = mark("text", **{"from": max([end, *ends])}, x=7, y=y, text=_value_text(bar, bars["unit"]))
    return [*found, words]


def _whiskers(ends: Sequence[float], y: float) -> list[MarkView]:
    """Return the line of an interval with its ends, and below it a halo that separates it from the bar."""
    if not ends:
        return []
    low, high = ends
    return [
        one
        for colour, width in (("bg", 4.5), ("fg", 1.6))
        for one in (
            mark(
                "line",
                **{"class": "ceb-whisker", "from": low, "to": high},
                y1=y,
                y2=y,
                stroke=colour,
                stroke_width=width,
            ),
            *(mark("line", **{"from": at}, y1=y - 5, y2=y + 5, stroke=colour, stroke_width=width) for at in ends),
        )
    ]


def _dot(at: float, y: float, series: int, colour: str) -> MarkView:
    """Return a circle, or a diamond in every second series: a length on a logarithmic axis means nothing."""
    look = {"class": "ceb-bar ceb-dot", "from": at, "fill": colour, "stroke": "bg", "stroke-width": 1}
    if series % 2 > 0:
        return mark("path", d=f"M0 {y - 6.5:g}L6.5 {y:g}L0 {y + 6.5:g}L-6.5 {y:g}Z", **look)
    return mark("circle", cy=y, r=5.5, **look)


def _axis_marks(bars: BarsView, bottom: float) -> list[MarkView]:
    """Return a line and a number for each tick; a number that would touch the one before is left out."""
    found: list[MarkView] = []
    edge = -math.inf
    for tick, text in bars["axis"]["ticks"]:
        at = place_on(bars, tick)
        found.append(mark("line", **{"from": at}, y1=14, y2=bottom, stroke="line"))
        half = width_of(text, 11) / 2
        if SPAN * at - half >= edge + TICK_GAP:
            edge = SPAN * at + half
            found.append(mark("text", **{"class": "ceb-quiet", "from": at}, y=6, text_anchor="middle", text=text))
    return found


def bars_svg(bars: BarsView) -> str:
    """Return bars with whiskers, one row per bar, with their values as text."""
    drawn = bars if "chart" in bars else with_chart(bars)
    chart = drawn["chart"]
    legend = [(24.0 + 150 * i, entry) for i, entry in enumerate(chart["legend"])]
    top = HEAD + (LEGEND if legend else 0.0)
    width = max(chart["left"] + SPAN + chart["right"], width_of(bars["note"], 11), 150.0 * len(legend)) + 2 * SIDE
    height = top + chart["height"] + SIDE
    entries = [
        f'<g transform="translate({x:g} {HEAD:g})">{_texts(entry["swatch"])}'
        f'<text x="30" y="6">{escape(entry["text"])}</text></g>'
        for x, entry in legend
    ]
    marks = _texts(placed(chart["marks"], chart["left"], SPAN))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" font-family="sans-serif">'
        f'<style>{STYLE}</style><rect width="{width:g}" height="{height:g}" fill="{LIGHT["bg"]}"/>'
        f'<text class="head" x="{SIDE:g}" y="20">{escape(bars["title"])}</text>'
        f'<text class="ceb-quiet" x="{SIDE:g}" y="40">{escape(bars["note"])}</text>{"".join(entries)}'
        f'<g transform="translate({SIDE:g} {top:g})">{marks}</g></svg>'
    )


def _texts(marks: Sequence[MarkView]) -> str:
    return "".join(mark_text(one, _colour) for one in marks)


def _colour(role: str) -> str:
    return SERIES[int(role.removeprefix("series-")) % len(SERIES)] if role.startswith("series-") else LIGHT[role]
