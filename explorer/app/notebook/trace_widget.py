"""A trace in a notebook: the graph of a step with a stepper, and optionally a fold level below it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from html import escape
from typing import Any, cast

import ipywidgets
import traitlets

from explorer.app.images import bars_png, picture_png
from explorer.app.session.linking import GraphHost, GraphLink
from explorer.app.session.sending_ahead import SendingAhead
from explorer.app.session.session import Session
from explorer.errors import DataTypeError, ValueRangeError
from explorer.trace import MatchFound, Trace
from explorer.views import Picture, fold_level, match_details, plural
from explorer_widgets.encode import Fallback
from explorer_widgets.jupyter import GraphWidget, SavedPicture, bundle_with
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

MAX_SLICES = 12
"""Slices of a folded layer that are listed at once; the rest open on a click."""


def check_height(height: object) -> None:
    """Raises: DataTypeError for a height that is neither None nor an int, ValueRangeError for one below 1."""
    if height is None:
        return
    if not isinstance(height, int) or isinstance(height, bool):
        raise DataTypeError(f"expected a height in pixels, an int; got {height!r}")
    if height < 1:
        raise ValueRangeError(f"expected a height of at least 1 pixel; got {height}")


class TraceWidget(GraphWidget):
    """A trace to step through. `step`, `selection` and `view` are traits: set, `observe` or link them.

    `selection` contains boxes, `selected_nodes` the nodes that they represent, `session` the rest.
    """

    def __init__(self, session: Session, height: int | None = None, note: str = "", *, film: bool = True) -> None:
        self._closing = ExitStack()
        check_height(height)
        options: dict[str, Any] = {"living": True, **({} if height is None else {"height": height})}
        options |= {} if film else {"film": False}
        super().__init__(options=options, make_fallback=self._fallback)
        self.session = session
        self.note = note
        self.link = GraphLink(session, cast(GraphHost, self))
        ahead = SendingAhead(session, self.send_ahead, _call_later)
        self.observe(lambda _: ahead.start(), names="ready")
        self._closing.callback(self.link.close)
        self._closing.callback(ahead.close)

    def close(self) -> None:
        """Close the widget; the session no longer draws it, nor sends it pictures."""
        self._closing.close()
        super().close()

    @property
    def trace(self) -> Trace:
        """The displayed trace."""
        return self.session.opened.trace

    @property
    def selected_nodes(self) -> tuple[int, ...]:
        """The compiler's ids of the nodes that the selected boxes represent."""
        return self.session.selected_nodes

    def focus_match(self, step: "int | str", match: int) -> None:
        """Go to a match: select its boxes, focus its hull, describe it in the inspector.

        Raises: UnknownNameError for an unknown step or match.
        """
        session = self.session
        details = match_details(session.index, step, match)
        session.go(step)
        if session.picture().view["group_by"] == "plates":
            session.change_look(mode="before")  # the state with the layers of the match
        found = session.index.step(step).matches[match]
        session.select_nodes(session.index.nodes_of(found))
        hull = self._hull_of(found)
        attempts = hull["lens"]["attempts"] if hull is not None and "lens" in hull else []
        number = next((i for i, attempt in enumerate(attempts) if attempt["cells"] == list(found.nodes)), 0)
        self.view = {**dict(self.view), "hull": "" if hull is None else hull["id"], "match": number}
        about = session.details()
        sections = [*details["sections"], *(about["sections"] if about is not None else ())]
        self.show_details({"id": session.selection[-1], "title": details["title"], "sections": sections})

    def _hull_of(self, match: MatchFound) -> HullView | None:
        """The hull of a match's rule around exactly the boxes of its nodes, if there is one."""
        boxes = set(self.session.selection)
        for hull in self.session.picture().view["hulls"]:
            if set(hull["nodes"]) == boxes and hull.get("rule") == match.rule:
                return hull
        return None

    def _fallback(self) -> Fallback:
        return picture_fallback(self.session.picture())

    def _words(self) -> str:
        last = len(self.trace.steps) - 1
        chosen = ", ".join(self.selection) if self.selection else "nothing"
        return f"step={self.step} of {last}, selection={chosen}" + (f"; {self.note}" if self.note else "")


def _call_later(seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Run a function in the kernel after some time; return what cancels it. Nothing runs outside of a kernel."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda: None
    return loop.call_later(seconds, action).cancel


class FoldLevelWidget(SavedPicture, ipywidgets.VBox):
    """A trace to step through, with the fold level of the step below it: groups, keys, (F, H) index tables.

    `step`, `selection` and `view` belong to `graph`, the drawing.
    """

    step = traitlets.Int(0).tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, graph: TraceWidget) -> None:
        self.graph = graph
        self.table = ipywidgets.HTML()
        super().__init__([graph, self.table])
        for name in ("step", "selection", "view"):
            traitlets.link((graph, name), (self, name))
        graph.observe(lambda change: self._fill(), names="step")
        self._fill()

    @property
    def session(self) -> Session:
        """The session of the drawing."""
        return self.graph.session

    @property
    def trace(self) -> Trace:
        """The displayed trace."""
        return self.graph.trace

    @property
    def selected_nodes(self) -> tuple[int, ...]:
        """The compiler's ids of the nodes that the selected boxes represent."""
        return self.graph.selected_nodes

    @property
    def fold_level(self) -> FoldLevelView | None:
        """The level that the current step folds; None if it folds nothing."""
        folds = self.session.index.step(self.step).folds
        return fold_level(self.session.index, folds[0].level) if folds else None

    def _fill(self) -> None:
        self.table.value = fold_html(self.fold_level, self.trace)

    def close(self) -> None:
        """Close the widget and its parts, which Jupyter would keep otherwise."""
        for part in self.children:
            part.close()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with a PNG and text as fallback."""
        widget = ipywidgets.VBox._repr_mimebundle_(self, **kwargs)
        return bundle_with(widget, repr(self), self._fallback)

    def _display_(self) -> TraceWidget:
        """Return the drawing, with its index table in the close-up, for marimo, which shows no boxes of widgets."""
        level = self.fold_level
        if level is not None and not self.session.selection:
            self.session.select_nodes([level["groups"][0]["node"]])
            self.session.look_closer(replace(self.session.state.closer, closeup="table"))
        return self.graph

    def _fallback(self) -> Fallback:
        return picture_fallback(self.session.picture(), self.fold_level)

    def __repr__(self) -> str:
        return f"FoldLevelWidget({self.graph._words()})"

    def __str__(self) -> str:
        return self._fallback().text


# ---------------------------------------------------------------------- the table below the graph


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
