"""Timing on CPU and CUDA: any step, the four modes, the layers of a step, a sweep over batch sizes, backends."""

import os
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
from bokeh.models import BasicTickFormatter, ColumnDataSource, FixedTicker, LogTicker, TeeHead, Whisker
from bokeh.plotting import figure
from panel.viewable import Viewable

from explorer.app.dashboard.measuring import EVERY_BACKEND, EVERYTHING, SUBJECTS, WATERFALL, Request, step_of
from explorer.app.dashboard.panes.tables import html_pane, lines_html, section_html, table_html
from explorer.app.dashboard.panes.tool import Tool, button, column, line, number, number_input
from explorer.app.dashboard.workspace import Workspace
from explorer.bench import RecordedFile, has_part_times, recorded_runs, runs_of, why_no_cuda
from explorer.timings import BACKENDS, CPU, CUDA, LAYERS, MODES, STEPS, SWEEP, Run
from explorer.views import (
    TraceIndex,
    backend_bars,
    bottlenecks,
    conditions,
    crossover_text,
    gain_bars,
    layer_table,
    layers_notes,
    list_text,
    memory_table,
    mode_bars,
    no_cuda_text,
    step_bars,
    sweep_bars,
)
from explorer_widgets.dashboard import BarsPane
from explorer_widgets.schema import BarsView

WHAT = {
    "Every step and its layers": EVERYTHING,
    "Every step": STEPS,
    "Gain of each step": WATERFALL,
    "Optimized and folded, or not": MODES,
    "The layers of this step": LAYERS,
    "Batch sizes": SWEEP,
    "Backends of this step": BACKENDS,
    "Backends of every step": EVERY_BACKEND,
}
OF_STEPS = (STEPS, WATERFALL)
"""The subjects that can be timed on a tensor graph, which has fixed shapes and no layers."""
OF_PARTS = (EVERYTHING, LAYERS)
"""The subjects that can be timed as well if it has layers, or kernel calls."""
MAX_SECONDS = 300
"""Maximum time of a measurement: it slows down the other readers."""
COLOURS = {CPU: "#0072b2", CUDA: "#d55e00"}
DEVICE_NAMES = {CPU: "CPU", CUDA: "CUDA"}


class TimeTool(Tool):
    """Choose what to time and press the button, or open a recorded run: a part of the tool Measure."""

    def __init__(self, workspace: Workspace) -> None:
        self.missing = why_no_cuda()
        self.what = pmui.Select(label="Subject", options=WHAT, value=EVERYTHING, size="small", width=230)
        self.kind = pmui.Select(
            label="Run", options={"forward": "forward", "training step": "training"}, size="small", width=130
        )
        self.batch = number_input("Batch", 256, 1, 1_000_000, 120)
        self.threads = number_input("Threads", 1, 1, os.cpu_count() or 1, 110)
        self.seconds = number_input("Time limit, s", 20, 1, MAX_SECONDS, 120)
        self.start = button(workspace, "Start measuring", self._start)
        self.recorded = pmui.Select(label="Recorded runs", options=["none"], size="small", width=240)
        self.recorded.param.watch(workspace.guard(lambda _: self._open_recorded()), "value")
        self.bars = BarsPane()
        self.chart = column()
        self.words = html_pane()
        self.facts = html_pane()
        self.what.param.watch(workspace.guard(lambda _: self._on_what()), "value")
        self._files: dict[str, RecordedFile] = {}
        self._so_far: tuple[Run, str] | None = None
        self.measuring = workspace.measuring
        self.measuring.watchers.append(self)
        super().__init__(workspace)

    def build(self) -> Viewable:
        controls: tuple[Any, ...] = (self.what, self.kind, self.batch, self.threads, self.seconds)
        return column(line(*controls, self.start, self.recorded), self.words, self.bars, self.chart, self.facts)

    def on_change(self, names: frozenset[str]) -> None:
        if "trace" in names and self._is_new_trace():
            self._fill()

    def _fill(self) -> None:
        """Offer what can be timed of another trace, and show no times."""
        opened = self.workspace.session.opened
        has_batches = opened.trace.level.has_batches
        subjects = (*OF_STEPS, *(OF_PARTS if has_part_times(opened.trace) else ()))
        offered = {label: what for label, what in WHAT.items() if has_batches or what in subjects}
        kept = self.what.value if self.what.value in offered.values() else next(iter(offered.values()))
        self.what.param.update(options=offered, value=kept)
        self.batch.visible = has_batches
        found = recorded_runs()
        self._files = {file.path.name: file for file in found}
        self.recorded.param.update(options=["none", *self._files], value="none", disabled=not found)
        self.clear()
        self.words.object = lines_html([no_cuda_text(self.missing, len(found))]) if self.missing else ""
        self._on_what()

    # ------------------------------------------------------------------ measuring

    def _start(self) -> None:
        what, kind, seconds = self.what.value, self.kind.value, float(number(self.seconds, 20))
        self.measuring.start(Request(what, kind, number(self.batch, 256), number(self.threads, 1), seconds))

    def show_start(self, request: Request) -> None:
        """Clear what was shown, and say how long the measurement may take."""
        self.what.value = request.what  # first, because another subject shows the runs that it has
        self.clear()
        self.bars.visible = request.what != LAYERS
        self.words.object = lines_html(
            [f"This takes at most {request.seconds:.0f} s; what is not timed by then is named."]
        )

    def _on_what(self) -> None:
        """Show the runs of the chosen subject that are known."""
        what = self.what.value
        runs = self.measuring.runs.get(SUBJECTS.get(what, what), ())
        if runs and self.workspace.background.job is None:
            self.show_run(runs[0], what)

    def _open_recorded(self) -> None:
        file = self._files.get(self.recorded.value)
        if file is None:
            return
        if file.error:
            self.workspace.note(file.error)
            return
        session = self.workspace.session
        runs = runs_of(session.opened.trace, file.runs)
        if runs:
            self.measuring.add(runs, recorded=True)
            known = self.measuring.runs
            if SUBJECTS.get(self.what.value, self.what.value) not in known:
                self.what.value = runs[0].subject
            self._on_what()
            return
        circuits = ", ".join(dict.fromkeys(run.circuit for run in file.runs))
        self.workspace.note(
            f"{file.path.name} contains runs of {circuits}, but none of {session.opened.name} as it is compiled here: "
            "its circuit or its options are different."
        )

    # ------------------------------------------------------------------ showing

    def clear(self) -> None:
        """Show no times; an error is shown elsewhere."""
        self.chart[:] = []
        self.facts.object = self.words.object = self.bars.bars = ""
        self._so_far = None

    def show_live(self, run: Run, what: str) -> None:
        """Draw the bars of the times so far; layers get a table at the end."""
        if what == LAYERS:
            return
        bars = _bars(self.workspace.session.index, run, what)
        bars["note"] = f"Still measuring. {bars['note']}".strip()
        self.bars.show_bars(bars)
        self._so_far = run, what

    def show_cancelled(self, what: str) -> None:
        """Keep the drawing after Cancel."""
        note = "Cancelled; these are the times so far."
        if self._so_far is not None:
            self.bars.show_bars(_bars(self.workspace.session.index, *self._so_far))
        elif what == LAYERS:
            note = "Cancelled; the table of layers is complete only at the end."
        else:
            note = "Cancelled before anything was timed."
        self.words.object = lines_html([note])

    def show_run(self, run: Run, what: str) -> None:
        """Show the times of a run."""
        index = self.workspace.session.index
        self._so_far = None
        self.chart[:] = [sweep_chart(run)] if run.subject == SWEEP else []
        self.bars.visible = run.subject != LAYERS
        if self.bars.visible:
            self.bars.show_bars(_bars(index, run, what))
        known = [run for runs in self.measuring.runs.values() for run in runs]
        step = step_of(run) if run.subject == LAYERS else self.workspace.session.step
        advice = bottlenecks(index, [one for one in known if one.subject in (run.subject, LAYERS)] or [run], step)
        advice_html = "".join(f"<p>{escape(str(bottleneck))}</p>" for bottleneck in advice)
        note = [_recorded_text(run)] if any(run in file.runs for file in self._files.values()) else []
        note += [crossover_text(run)] if run.subject == SWEEP else []
        note += layers_notes(run) if run.subject == LAYERS else []
        self.words.object = lines_html(note) + advice_html
        table = _layer_tables(index, run) if run.subject == LAYERS else table_html(memory_table(run))
        self.facts.object = table + section_html(conditions(run))


def _recorded_text(run: Run) -> str:
    """Name the machine of a recorded run, and the day."""
    return f"A recorded run: {list_text(list(run.setup.devices.values()))}, {run.setup.date.partition('T')[0]}."


def _layer_tables(index: TraceIndex, run: Run) -> str:
    """Return a table for each device with times; its caption names the device if there are several."""
    devices = run.devices or (CPU,)
    captions = [DEVICE_NAMES[device] if len(devices) > 1 else "" for device in devices]
    tables = [table_html(layer_table(index, run, device), text) for device, text in zip(devices, captions, strict=True)]
    return f'<div class="side">{"".join(tables)}</div>'


def _bars(index: TraceIndex, run: Run, what: str) -> BarsView:
    if run.subject == STEPS:
        return gain_bars(index, run) if what == WATERFALL else step_bars(index, run)
    return {MODES: mode_bars, BACKENDS: backend_bars, SWEEP: sweep_bars}[run.subject](run)


def sweep_chart(run: Run) -> pn.pane.Bokeh:
    """Plot time against batch size on logarithmic axes, one line per device."""
    chart: Any = figure(
        height=240,
        sizing_mode="stretch_width",
        x_axis_type="log",
        y_axis_type="log",
        x_axis_label="batch size",
        y_axis_label="ms",
        toolbar_location=None,
    )
    for device in dict.fromkeys(timing.device for timing in run.timings):
        found = [(one.batch_size, one.estimate) for one in run.timings if one.device == device and one.estimate]
        ends = {name: [getattr(estimate, name) for _, estimate in found] for name in ("median", "low", "high")}
        source: Any = ColumnDataSource({"batch": [size for size, _ in found], **ends})
        style = {"color": COLOURS[device], "legend_label": DEVICE_NAMES[device], "source": source}
        chart.line("batch", "median", line_width=2, line_dash="solid" if device == CPU else "dashed", **style)
        chart.scatter("batch", "median", size=7, marker="circle" if device == CPU else "square", **style)
        heads: dict[str, Any] = {
            end: TeeHead(size=8, line_color=COLOURS[device]) for end in ("upper_head", "lower_head")
        }
        whisker = Whisker(base="batch", upper="high", lower="low", source=source, line_color=COLOURS[device], **heads)
        chart.add_layout(whisker)
    chart.xaxis.ticker = FixedTicker(ticks=sorted({timing.batch_size for timing in run.timings}))
    chart.yaxis.ticker = LogTicker(mantissas=[1, 2, 5])
    chart.xaxis.formatter = chart.yaxis.formatter = BasicTickFormatter(use_scientific=False)
    chart.legend.location = "top_left"
    return pn.pane.Bokeh(chart, sizing_mode="stretch_width")
