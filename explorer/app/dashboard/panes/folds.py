"""Folding: the groups of a level, their fold keys, the inputs of each slice, and missed folds."""

from html import escape

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import column, columns, line
from explorer.app.dashboard.panes.tables import html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.errors import UnknownNameError
from explorer.trace.ladder import COMPILED
from explorer.views import fold_level, fold_levels, missed_folds
from explorer_widgets.schema import FoldGroupView, TableView

MAX_SLICES = 64


class FoldsTool(Tool):
    """The groups of a level with their keys and (F, H) index tables."""

    name = "folds"
    title = "Folds"
    help = (
        "Which layers were folded, by which key, where each slice reads its inputs, and which folds were missed. "
        "Point at a row to see its cell in the picture."
    )
    supported_levels = (COMPILED.name,)
    elsewhere = "only layers are folded"

    def __init__(self, workspace: Workspace) -> None:
        self.level = pmui.Select(label="Level", options=[], size="small", width=110)
        self.group = pmui.Select(label="Group", options={}, size="small", width=260)
        self.all_slices = pmui.Checkbox(label="All slices", value=False)
        self.facts = html_pane()
        self.index = html_pane()
        self.missed = html_pane()
        self._filling = False
        self.level.param.watch(workspace.guard(lambda _: self._on_level()), "value")
        self.group.param.watch(workspace.guard(lambda _: self._on_group()), "value")
        self.all_slices.param.watch(workspace.guard(lambda _: self._draw()), "value")
        super().__init__(workspace)

    def build(self) -> Viewable:
        left = column(line(self.level, self.group, self.all_slices), self.facts)
        right = column(self.index, self.missed)
        return columns(left, right)

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        levels = list(fold_levels(session.index))
        self._filling = True
        if "trace" in names:
            self.level.param.update(options=levels, value=levels[0] if levels else None)
        here = session.index.step(session.step).folds
        if names & {"trace", "step"} and here:
            self.level.value = here[0].level
        self._fill_groups()
        for group in self._groups():
            held = {group["node"], *group["members"]}
            if not held.isdisjoint(session.selected_nodes):
                self.group.value = group["node"]
        self._filling = False
        self._draw()

    def _groups(self) -> list[FoldGroupView]:
        return [] if self.level.value is None else fold_level(self.workspace.session.index, self.level.value)["groups"]

    def _fill_groups(self) -> None:
        groups = self._groups()
        options = {f"{group['title']}": group["node"] for group in groups}
        kept = self.group.value if self.group.value in options.values() else next(iter(options.values()), None)
        self.group.param.update(options=options, value=kept)

    def _on_level(self) -> None:
        if self._filling:
            return
        self._filling = True
        self._fill_groups()
        self._filling = False
        self._draw()

    def _on_group(self) -> None:
        if not self._filling:
            self._draw()

    def _draw(self) -> None:
        index = self.workspace.session.index
        group = next((g for g in self._groups() if g["node"] == self.group.value), None)
        if group is None:
            self.facts.object = "<p>Nothing was folded: folding is disabled, or no two layers had equal keys.</p>"
            self.index.object = self.missed.object = ""
            return
        level = fold_level(index, self.level.value)
        key: TableView = {"columns": ["key", "value"], "rows": group["key"]}
        self.facts.object = (
            f"<h3>{escape(level['title'])}</h3>{lines_html([group['title'], *self._pair()])}{table_html(key)}"
        )
        table = group["table"]
        rows = table["rows"] if self.all_slices.value else table["rows"][:MAX_SLICES]
        more = len(table["rows"]) - len(rows)
        cut = [f"{more:,} more slices; check “All slices” to see them."] if more else []
        read = f"Reads by {group['read']}: {group['reason']}." if group["read"] else "Reads the data."
        self.index.object = (
            lines_html([read])
            + table_html(
                {"columns": table["columns"], "rows": rows},
                "Inputs of each slice: (folded layer, slice)",
                group["node"],
            )
            + lines_html(cut)
        )
        missed = missed_folds(index)
        self.missed.object = table_html(missed, "Missed folds") if missed["rows"] else "<p>No fold was missed.</p>"

    def _pair(self) -> list[str]:
        """Whether two selected layers were folded together, and if not, why."""
        session = self.workspace.session
        before = {group.node: group.members[0] for group in session.opened.trace.fold_groups()}
        nodes = session.selected_layers
        if len(nodes) < 2:
            return ["Select two layers (Shift-click) to ask why they were not folded together."]
        one, other = (before.get(node, node) for node in nodes[-2:])
        try:
            return [session.opened.trace.why_not_folded(one, other).reason]
        except UnknownNameError as error:
            return [str(error)]
