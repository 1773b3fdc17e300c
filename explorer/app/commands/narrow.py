"""Tables in narrow terminals: columns at least as wide as their longest word, or, where these do not fit, a list."""

from rich.console import Console, Group, RenderableType
from rich.measure import measure_renderables
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def fit(table: Table, console: Console) -> RenderableType:
    """Return the table with columns that fit the console, or its rows one below another, so that no word is cut."""
    cells = [[column.header, *column.cells] for column in table.columns]
    measured = [measure_renderables(console, console.options, one) for one in cells]
    least, most = [one.minimum for one in measured], [one.maximum for one in measured]
    free = console.width - 3 * len(cells) - 1 - sum(least)
    if sum(most) - sum(least) <= free:
        return table
    if free < 0:
        return _as_list(table)
    for column, low, high in zip(table.columns, least, most, strict=True):
        column.width = low + free * (high - low) // (sum(most) - sum(least))
    return table


def _as_list(table: Table) -> Group:
    """The rows of a table, one cell per line, each after the name of its column."""
    lines: list[RenderableType] = [Text.from_markup(f"[italic]{table.title}[/]")] if table.title else []
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        lines.append(Text.from_markup(f"{table.columns[0].header}: [bold]{cells[0]}[/]"))
        for column, cell in zip(table.columns[1:], cells[1:], strict=True):
            if cell:
                lines.append(Padding(Text.from_markup(f"{column.header}: {cell}"), (0, 0, 0, 2)))
    if table.caption:
        lines.append(Text.from_markup(f"[dim italic]{table.caption}[/]"))
    return Group(*lines)
