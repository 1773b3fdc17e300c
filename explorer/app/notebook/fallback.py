"""What is saved beside a widget for where widgets do not run: an image, its words for who cannot see it, a text."""

from collections.abc import Sequence

from explorer.app.images.raster import bars_png, picture_png
from explorer.views import Picture
from widgets.jupyter import Fallback
from widgets.schema import BarsView, FoldLevelView, HullView, NodeView, PictureView, TableView

MOST_ROWS = 40
"""Rows of a table as text and boxes of an image in words; how many more there are is said."""
SHOWN_COLUMNS = ("box", "what", "details", "level", "layers", "folds", "change", "value", "reads")
"""Columns of the table of a picture; matches have lines of their own below it."""


def picture_fallback(picture: Picture, fold_level: FoldLevelView | None = None) -> Fallback:
    """The picture as an image and as a table, with the groups of a level of folding below."""
    png = picture_png(picture)
    parts = [picture_text(picture.view), *([fold_text(fold_level)] if fold_level is not None else [])]
    return Fallback(png.data, png.width, png.height, _alt(picture.view), "\n\n".join(parts))


def bars_fallback(bars: BarsView) -> Fallback:
    """Bars as an image and as a table."""
    png = bars_png(bars)
    head = f"{bars['title']} ({bars['unit']}). {bars['note']}".strip()
    text = f"{head}\n\n{table_text(bars['table'])}"
    rows = "; ".join(" ".join(row) for row in bars["table"]["rows"][:MOST_ROWS])
    return Fallback(png.data, png.width, png.height, f"{head} {rows}.", text)


def picture_text(view: PictureView) -> str:
    """A picture in words: title, what changed, and its table; of mode `side` both tables."""
    lines = [view["title"], *(line for line in (view["caption"], view["note"], view["message"]) if line)]
    tables = [view["table"], view["other"]["table"]] if "other" in view else [view["table"]]
    names = ["Before", "After"] if len(tables) > 1 else [""]
    for name, table in zip(names, tables, strict=True):
        lines += ["", *([name] if name else []), table_text(_shown(table))]
    hulls = [_hull_text(hull) for hull in view["hulls"]]
    return "\n".join([*lines, *(["", *hulls] if hulls else [])])


def fold_text(level: FoldLevelView) -> str:
    """A level of folding in words: each group with its key, its read, and where each slice reads its inputs."""
    lines = [level["title"]]
    for group in level["groups"]:
        key = ", ".join(f"{name}={value}" for name, value in group["key"])
        lines += ["", f"{group['title']}, node {group['node']}: {key}", f"read: {group['read']} ({group['reason']})"]
        lines.append(table_text(group["table"]))
    if level["missed"]["rows"]:
        lines += ["", "Nearly folded together:", table_text(level["missed"])]
    return "\n".join(lines)


def table_text(table: TableView) -> str:
    """A table with aligned columns; rows over the limit are counted."""
    rows = [list(table["columns"]), *table["rows"][:MOST_ROWS]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table["columns"]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    more = len(table["rows"]) - MOST_ROWS
    return "\n".join([*lines, *([f"... and {more:,} more rows"] if more > 0 else [])])


def _hull_text(hull: HullView) -> str:
    reason = f" ({hull['reason']})" if hull["reason"] else ""
    return f"{hull['kind']} {hull['label']}{reason}: {', '.join(hull['nodes'])}"


def _shown(table: TableView) -> TableView:
    """Without the columns that are empty in every row."""
    kept = [
        i for i, name in enumerate(table["columns"]) if name in SHOWN_COLUMNS and any(row[i] for row in table["rows"])
    ]
    return {
        "columns": [table["columns"][i] for i in kept],
        "rows": [[row[i] for i in kept] for row in table["rows"]],
    }


def _alt(view: PictureView) -> str:
    nodes = [*view["nodes"], *(view["other"]["nodes"] if "other" in view else ())]
    return f"{view['title']}. {view['caption']}. {view['note']} {_in_words(nodes)}"


def _in_words(nodes: Sequence[NodeView]) -> str:
    said: list[str] = []
    for node in nodes[:MOST_ROWS]:
        count = f"{node['count']:,} " if node["count"] > 1 else ""
        folds = f" x{node['folds']}" if node["folds"] > 1 else ""
        said.append(f"level {node['level']}: {count}{node['title']}{folds}, {node['change']}")
    more = len(nodes) - MOST_ROWS
    return "; ".join([*said, *([f"and {more:,} more boxes"] if more > 0 else [])]) + "."
