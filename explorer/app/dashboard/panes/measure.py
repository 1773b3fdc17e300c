"""Measuring: on which device; times of steps, layers, batches and backends; the costs of steps."""

from typing import Any

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.tables import html_pane
from explorer.app.dashboard.panes.timing import TimeTool
from explorer.app.dashboard.panes.tool import Tool, column, line
from explorer.app.dashboard.workspace import Workspace
from explorer.bench import why_no_cuda
from explorer.timings import CPU, CUDA
from explorer.views import STATS, stat_bars, stat_change_bars
from explorer_widgets.dashboard import BarsPane

DEVICES = {"CPU": (CPU,), "CUDA": (CUDA,), "CPU and CUDA": (CPU, CUDA)}


class MeasureTool(Tool):
    """The device, the times, and below them the costs."""

    name = "measure"
    title = "Measure"
    help = (
        "Times on this machine, after the outputs were compared: medians with 95 % confidence intervals; below, what "
        "each step costs."
    )

    def __init__(self, workspace: Workspace) -> None:
        self.time, self.cost = TimeTool(workspace), CostTool(workspace)
        reason = why_no_cuda()
        missing = [] if reason is None else [devices for devices in DEVICES.values() if CUDA in devices]
        self.device = pmui.Select(
            label="Device",
            options={f"{name}: {reason}" if devices in missing else name: devices for name, devices in DEVICES.items()},
            value=workspace.measuring.devices,
            disabled_options=missing,
            size="small",
            width=150,
        )
        self.device.param.watch(
            workspace.guard(lambda event: setattr(workspace.measuring, "devices", event.new)), "value"
        )
        super().__init__(workspace)

    def build(self) -> Viewable:
        costs = html_pane("<h3>Costs</h3><p>Calls, parameters, operations and bytes after each step, counted.</p>")
        return column(self.device, self.time.view, costs, self.cost.view)

    def on_change(self, names: frozenset[str]) -> None:
        self.time.on_change(names)
        self.cost.on_change(names)


class CostTool(Tool):
    """A statistic after each step, or its change by each step: a part of the tool Measure."""

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
