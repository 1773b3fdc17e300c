"""The cost and gain of each step: the strip under the graph, and the tool that plots a statistic over the steps."""

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, line
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.panes.values import check_values
from explorer.app.dashboard.workspace import Workspace
from explorer.views import STATS, stat_bars, stat_change_bars
from explorer_widgets.dashboard import BarsPane
from explorer_widgets.schema import SectionView

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
        self._filling = False
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
        self._filling = True
        self.stat.param.update(options=known, value=kept)
        self.levels.visible = self.workspace.session.opened.trace.level.has_folds
        self._filling = False
        self.draw()

    def draw(self) -> None:
        """Draw the bars."""
        if self._filling:
            return
        draw = stat_bars if self.kind.value == "course" else stat_change_bars
        self.bars.show_bars(draw(self.workspace.session.index, self.stat.value, fold_levels=self.levels.value))
