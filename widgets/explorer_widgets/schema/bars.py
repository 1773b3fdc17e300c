"""Bars with intervals, and their table."""

from typing import Literal, NotRequired, TypedDict

from explorer_widgets.schema.marks import MarkView
from explorer_widgets.schema.picture import TableView


class BarView(TypedDict):
    """One bar: a value with its interval; `missing` says why there is none."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    series: str
    missing: str
    tone: NotRequired[Literal["faster", "slower", "noise"]]
    """Of a change in time: its direction, or within the noise (drawn grey)."""


class AxisView(TypedDict):
    """The ends of an axis, and its ticks with their texts."""

    low: float
    high: float
    ticks: list[tuple[float, str]]


class ChartEntryView(TypedDict):
    """An entry of the legend of a chart."""

    text: str
    swatch: list[MarkView]
    """22 pixels wide and 12 high."""


class ChartView(TypedDict):
    """The drawing of bars: the axis begins at `left`, and behind it are `right` pixels for values."""

    left: float
    right: float
    height: float
    text: str
    """A description of the chart."""
    marks: list[MarkView]
    legend: list[ChartEntryView]


class BarsView(TypedDict):
    """Bars with whiskers, one unit, one axis."""

    version: int
    title: str
    unit: str
    log: bool
    axis: AxisView
    series: list[str]
    bars: list[BarView]
    note: str
    chart: ChartView
    table: TableView
