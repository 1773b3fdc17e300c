"""The fallback of a widget, for hosts without widgets: an image, its description for screen readers, and text."""

from collections.abc import Sequence

from explorer.app.images import bars_png, picture_png
from explorer.views import Picture
from explorer_widgets.encode import Fallback
from explorer_widgets.schema import BarsView, BuffersView, FoldLevelView, HullView, NodeView, PictureView, TableView

MAX_ROWS = 40
"""Maximum rows of a text table and boxes of an image description; the rest is counted."""
TABLE_COLUMNS = ("box", "what", "details", "level", "layers", "slices", "change", "value", "reads")
"""Columns of the table of a picture; matches are listed below it."""


def picture_fallback(picture: Picture, fold_level: FoldLevelView | None = None) -> Fallback:
    """Return the picture as an image and as a table, with the groups of a fold level below."""
    parts = [picture_text(picture.view), *([fold_text(fold_level)] if fold_level is not None else [])]
    return Fallback(lambda: picture_png(picture), _alt(picture.view), "\n\n".join(parts))


def bars_fallback(bars: BarsView) -> Fallback:
    """Return bars as an image and as a table."""
    head = f"{bars['title']} ({bars['unit']}). {bars['note']}".strip()
    text = f"{head}\n\n{table_text(bars['table'])}"
    rows = "; ".join(" ".join(row) for row in bars["table"]["rows"][:MAX_ROWS])
    return Fallback(lambda: bars_png(bars), f"{head} {rows}.", text)


def picture_text(view: PictureView) -> str:
    """Describe a picture: title, changes, and its table; both tables in mode `side`."""
    lines = [view["title"], *(line for line in (view["caption"], view["note"], view["message"]) if line)]
    tables = [view["table"], view["other"]["table"]] if "other" in view else [view["table"]]
    names = ["Before", "After"] if len(tables) > 1 else [""]
    for name, table in zip(names, tables, strict=True):
        lines += ["", *([name] if name else []), table_text(_drop_empty_columns(table))]
    for shown in (view, *([view["other"]] if "other" in view else [])):
        lines += ["", *_buffer_lines(shown["buffers"])] if "buffers" in shown else []
    hulls = [_hull_text(hull) for hull in view["hulls"]]
    return "\n".join([*lines, *(["", *hulls] if hulls else [])])


def _buffer_lines(shown: BuffersView) -> list[str]:
    """Describe the memory of a program: how much it needs, and each buffer."""
    lines = [f"  {buffer['text']}" for buffer in shown["buffers"][:MAX_ROWS]]
    more = len(shown["buffers"]) - MAX_ROWS
    return [shown["text"], *lines, *([f"  ... and {more:,} more buffers"] if more > 0 else [])]


def fold_text(level: FoldLevelView) -> str:
    """Describe a fold level: each group with its key, its read, and the inputs of each slice."""
    lines = [level["title"]]
    for group in level["groups"]:
        key = ", ".join(f"{name}={value}" for name, value in group["key"])
        lines += ["", f"{group['title']}, node {group['node']}: {key}", f"read: {group['read']} ({group['reason']})"]
        lines.append(table_text(group["table"]))
    if level["missed"]["rows"]:
        lines += ["", "Missed folds:", table_text(level["missed"])]
    return "\n".join(lines)


def table_text(table: TableView) -> str:
    """Format a table with aligned columns; rows over the limit are counted."""
    rows = [list(table["columns"]), *table["rows"][:MAX_ROWS]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table["columns"]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    more = len(table["rows"]) - MAX_ROWS
    return "\n".join([*lines, *([f"... and {more:,} more rows"] if more > 0 else [])])


def _hull_text(hull: HullView) -> str:
    reason = f" ({hull['reason']})" if hull["reason"] else ""
    return f"{hull['kind']} {hull['label']}{reason}: {', '.join(hull['nodes'])}"


def _drop_empty_columns(table: TableView) -> TableView:
    """Drop the columns that are empty in every row."""
    kept = [
        i for i, name in enumerate(table["columns"]) if name in TABLE_COLUMNS and any(row[i] for row in table["rows"])
    ]
    return {
        "columns": [table["columns"][i] for i in kept],
        "rows": [[row[i] for i in kept] for row in table["rows"]],
    }


def _alt(view: PictureView) -> str:
    nodes = [*view["nodes"], *(view["other"]["nodes"] if "other" in view else ())]
    return f"{view['title']}. {view['caption']}. {view['note']} {_describe_nodes(nodes)}"


def _describe_nodes(nodes: Sequence[NodeView]) -> str:
    lines: list[str] = []
    for node in nodes[:MAX_ROWS]:
        count = f"{node['count']:,} " if node["count"] > 1 else ""
        folds = f" x{node['folds']}" if node["folds"] > 1 else ""
        lines.append(f"level {node['level']}: {count}{node['title']}{folds}, {node['change']}")
    more = len(nodes) - MAX_ROWS
    return "; ".join([*lines, *([f"and {more:,} more boxes"] if more > 0 else [])]) + "."
