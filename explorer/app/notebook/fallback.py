"""What a notebook shows without a widget: a picture or bars as an image and as text, and the tables of a fold level."""

from collections.abc import Sequence
from html import escape

from explorer.app.images import bars_png, picture_png
from explorer.trace import Trace
from explorer.views import Picture, plural
from explorer_widgets.encode import Fallback
from explorer_widgets.schema import (
    BarsView,
    BuffersView,
    FoldGroupView,
    FoldLevelView,
    HullView,
    NodeView,
    PictureView,
    TableView,
)

# ---------------------------------------------------------------------- the table of a fold level

MAX_SLICES = 12
"""Slices of a folded layer that are listed at once; the rest open on a click."""


def fold_html(level: FoldLevelView | None, trace: Trace) -> str:
    """Format a fold level as HTML; all text is escaped."""
    if level is None:
        steps = [str(step.index) for step in trace.steps if step.folds]
        where = f"Levels are folded in steps {', '.join(steps)}." if steps else "Folding is disabled."
        return f"<p>This step folds nothing. {where}</p>"
    parts = [f"<h3 style='margin:.4em 0'>{escape(level['title'])}</h3>"]
    parts += [_group_html(group) for group in level["groups"]]
    if level["missed"]["rows"]:
        parts.append(f"<p><b>Missed folds</b></p>{_table_html(level['missed'])}")
    return f"<div tabindex='0' style='max-height:340px;overflow:auto;line-height:1.5'>{''.join(parts)}</div>"


def _group_html(group: FoldGroupView) -> str:
    key = ", ".join(f"{name} = {value}" for name, value in group["key"])
    reads = f"Reads by {group['read']}: {group['reason']}" if group["read"] else "Reads the data"
    return (
        f"<p style='margin:.6em 0 .2em'><b>{escape(group['title'])}</b>, node {group['node']}</p>"
        f"<div>Equal in all: {escape(key)}</div><div>{escape(reads)}</div>{_table_html(group['table'])}"
    )


def _table_html(table: TableView) -> str:
    head = "".join(f"<th scope='col' style='{CELL}'>{escape(name)}</th>" for name in table["columns"])
    rows = ["<tr>" + "".join(map(_cell_html, row)) + "</tr>" for row in table["rows"]]
    first, rest = rows[:MAX_SLICES], rows[MAX_SLICES:]
    shown = f"<table style='{TABLE}'><tr>{head}</tr>{''.join(first)}</table>"
    if not rest:
        return shown
    hidden = f"<table style='{TABLE}'><tr>{head}</tr>{''.join(rest)}</table>"
    return f"{shown}<details><summary>{plural(len(rest), 'more row')}</summary>{hidden}</details>"


def _cell_html(text: str) -> str:
    return f"<td style='{CELL}'>{escape(text)}</td>"


TABLE = "border-collapse:collapse;margin:.3em 0;font-variant-numeric:tabular-nums"
CELL = "text-align:left;padding:1px 14px 1px 0;border-bottom:1px solid rgba(128,128,128,.35)"

# ---------------------------------------------------------------------- for a saved notebook


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
    return [shown["text"], *lines, *([f"  ... and {plural(more, 'more buffer')}"] if more > 0 else [])]


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
    return "\n".join([*lines, *([f"... and {plural(more, 'more row')}"] if more > 0 else [])])


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
    return "; ".join([*lines, *([f"and {plural(more, 'more box', 'more boxes')}"] if more > 0 else [])]) + "."
