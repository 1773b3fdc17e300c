"""Bars and charts of bars as plain data."""

from collections.abc import Sequence

from explorer_widgets.schema import VERSION, BarsView, BarView, TableView


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
