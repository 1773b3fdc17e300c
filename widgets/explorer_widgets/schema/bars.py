"""Bars with intervals, and their table."""

from typing import Literal, NotRequired, TypedDict

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


class BarsView(TypedDict):
    """Bars with whiskers, one unit, one axis."""

    version: int
    title: str
    unit: str
    log: bool
    series: list[str]
    bars: list[BarView]
    note: str
    table: TableView
