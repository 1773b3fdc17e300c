"""Folding: the groups of a level, their fold keys, the inputs of each slice, missed folds; and the costs of steps."""

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.tables import html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import Tool, button, column, columns, line
from explorer.app.dashboard.panes.values import check_values
from explorer.app.dashboard.workspace import Workspace
from explorer.errors import UnknownNameError
from explorer.trace import COMPILED
from explorer.views import STATS, fold_level, fold_levels, missed_folds, stat_bars, stat_change_bars
from explorer_widgets.dashboard import BarsPane
from explorer_widgets.schema import FoldGroupView, SectionView, TableView

MAX_SLICES = 64


class FoldsTool(Tool):
    """The groups of a level with their keys and (F, H) index tables."""

    name = "folds"
    title = "Folds"
    help = (
        "Which layers were folded, by which key, where each slice reads its inputs, and which folds were missed. "
        "Point at a row to see its cell in the picture."
    )
    supported_levels = (COMPILED,)
    elsewhere = "only layers are folded"

    def __init__(self, workspace: Workspace) -> None:
        self.level = pmui.Select(label="Level", options=[], size="small", width=110)
        self.group = pmui.Select(label="Group", options={}, size="small", width=260)
        self.all_slices = pmui.Checkbox(label="All slices", value=False)
        self.facts = html_pane()
        self.index = html_pane()
        self.missed = html_pane()
        self._shown: tuple[int | None, int | None] = None, None
        """The level and the group that are drawn; others in the controls were chosen by the reader."""
        self.level.param.watch(
            workspace.guard(lambda event: event.new == self._shown[0] or self._fill([*self.level.options], event.new)),
            "value",
        )
        self.group.param.watch(
            workspace.guard(lambda event: event.new == self._shown[1] or self._draw(event.new)), "value"
        )
        self.all_slices.param.watch(workspace.guard(lambda _: self._draw(self.group.value)), "value")
        super().__init__(workspace)

    def build(self) -> Viewable:
        left = column(line(self.level, self.group, self.all_slices), self.facts)
        right = column(self.index, self.missed)
        return columns(left, right)

    def on_change(self, names: frozenset[str]) -> None:
        if not names & {"trace", "step", "selection"}:
            return
        session = self.workspace.session
        levels, level = list(fold_levels(session.index)), self.level.value
        if "trace" in names:
            level = levels[0] if levels else None
        here = session.index.step(session.step).folds
        if names & {"trace", "step"} and here:
            level = here[0].level
        self._fill(levels, level)

    def _groups(self) -> list[FoldGroupView]:
        return [] if self.level.value is None else fold_level(self.workspace.session.index, self.level.value)["groups"]

    def _fill(self, levels: list[int], level: int | None) -> None:
        """Offer the groups of a level, and draw the one of the selected nodes, or else the one that was drawn."""
        self._shown = level, None
        self.level.param.update(options=levels, value=level)
        groups, nodes = self._groups(), self.workspace.session.selected_nodes
        options = {group["title"]: group["node"] for group in groups}
        chosen = self.group.value if self.group.value in options.values() else next(iter(options.values()), None)
        for group in groups:
            if not {group["node"], *group["members"]}.isdisjoint(nodes):
                chosen = group["node"]
        self._shown = level, chosen
        self.group.param.update(options=options, value=chosen)
        self._draw(chosen)

    def _draw(self, chosen: int | None) -> None:
        index = self.workspace.session.index
        self._shown = self.level.value, chosen
        group = next((g for g in self._groups() if g["node"] == chosen), None)
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


# ---------------------------------------------------------------------- costs


STRIP_STYLE = """
:host{font:12.5px/1.3 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
dl{display:flex;flex-wrap:wrap;gap:2px 18px;margin:0;padding:5px 2px}
div{display:flex;gap:6px;align-items:baseline;white-space:nowrap}
dt{opacity:.78}
dd{margin:0;font-weight:600;font-variant-numeric:tabular-nums}
"""


def strip_html(costs: SectionView) -> str:
    """The statistics of a step in one line that wraps."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in costs["rows"])
    return f"<dl aria-label='Cost of this step'>{rows}</dl>"


class CostStrip:
    """The line under the graph: statistics of the step, measured times, the difference of the output."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.stats = pn.pane.HTML("", stylesheets=[STRIP_STYLE], margin=(0, 8), styles={"flex": "1 1 400px"})
        self.check = button(workspace, "Check values", lambda: check_values(workspace), "text")
        self.time = button(workspace, "Time it", workspace.measuring.start_everything, "text")
        self.view = pn.FlexBox(
            self.stats, self.check, self.time, flex_wrap="nowrap", align_items="center", sizing_mode="stretch_width"
        )

    def on_change(self, names: frozenset[str]) -> None:
        """Show the statistics of the state that is shown."""
        session = self.workspace.session
        if names & {"trace", "step", "look", "times", "checks"}:
            self.stats.object = strip_html(session.costs())
            self.check.visible = session.opened.is_live and not session.findings.checks


class CostTool(Tool):
    """A statistic after each step, or its change by each step."""

    name = "cost"
    title = "Cost"
    help = "Cost and gain of each step: calls, layers, parameters, operations, bytes."

    def __init__(self, workspace: Workspace) -> None:
        self.stat = pmui.Select(label="Statistic", options={}, size="small", width=230)
        self.kind = pmui.RadioButtonGroup(
            label="Show", options={"After each step": "course", "Change by each step": "waterfall"}, value="course"
        )
        self.levels = pmui.Checkbox(label="Each level of folding", value=False)
        self.bars = BarsPane()
        for control in (self.stat, self.kind, self.levels):
            control.param.watch(workspace.guard(lambda _: self.draw()), "value")
        super().__init__(workspace)

    def build(self) -> Viewable:
        controls: Any = line(self.stat, self.kind, self.levels)
        return column(controls, self.bars)

    def on_change(self, names: frozenset[str]) -> None:
        if "trace" not in names:
            return
        has = self.workspace.session.index.trace.stats(0)
        known = {title.capitalize(): name for name, (title, _, _) in STATS.items() if name in has}
        first = "peak_bytes" if "peak_bytes" in has else next(iter(known.values()))
        kept = self.stat.value if self.stat.value in known.values() else first
        self.levels.visible = self.workspace.session.opened.trace.level.has_folds
        is_drawn = kept != self.stat.value
        self.stat.param.update(options=known, value=kept)
        if not is_drawn:
            self.draw()

    def draw(self) -> None:
        """Draw the bars."""
        draw = stat_bars if self.kind.value == "course" else stat_change_bars
        self.bars.show_bars(draw(self.workspace.session.index, self.stat.value, fold_levels=self.levels.value))
