"""Timing on CPU and CUDA: any step, the four modes, the layers of a step, a sweep over batch sizes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from time import monotonic
from typing import Any
from weakref import ref

import panel as pn
import panel_material_ui as pmui
from bokeh.models import ColumnDataSource, Whisker
from bokeh.plotting import figure
from panel.viewable import Viewable

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.layout import button, column, line, number, number_input
from explorer.app.dashboard.panes.tables import html_pane, lines_html, section_html, table_html
from explorer.app.dashboard.panes.tool import OPENED, Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened, circuit_of
from explorer.app.session.session import require_live
from explorer.bench import (
    Progress,
    RecordedFile,
    measure_layers,
    measure_modes,
    measure_steps,
    measure_sweep,
    recorded_runs,
    why_no_cuda,
)
from explorer.compiler import options_of
from explorer.timings import CPU, CUDA, Run, Setup, default_steps, state_step
from explorer.trace import Trace
from explorer.views import (
    TraceIndex,
    bottlenecks,
    check_fits,
    conditions,
    crossover_text,
    layer_heat,
    layer_table,
    layers_note,
    measurements,
    memory_table,
    mode_bars,
    no_cuda_text,
    step_bars,
    sweep_bars,
    time_change_bars,
)
from widgets.dashboard import BarsPane

EVERYTHING, STEPS, WATERFALL, MODES, LAYERS, SWEEP = "everything", "steps", "waterfall", "modes", "layers", "sweep"
WHAT = {
    "Every step and its layers": EVERYTHING,
    "Every step": STEPS,
    "Gain of each step": WATERFALL,
    "Optimized and folded, or not": MODES,
    "The layers of this step": LAYERS,
    "Batch sizes": SWEEP,
}
OF_STEPS = {label: what for label, what in WHAT.items() if what in (STEPS, WATERFALL)}
"""The subjects that can be timed on a tensor graph, which has fixed shapes and no layers."""
STEPS_SHARE = 0.5
"""The share of the time that is for steps if their layers are measured, too."""
LIVE_SECONDS = 0.5
"""The minimum time between two drawings of the bars during a measurement, which waits for them."""
COLOURS = {CPU: "#0072b2", CUDA: "#d55e00"}
DEVICE_NAMES = {CPU: "CPU", CUDA: "CUDA"}


class TimeTool(Tool):
    """Choose what to time and press the button, or open a recorded run."""

    name = "time"
    title = "Time"
    help = "Measured times on this machine: medians with their confidence intervals; outputs are compared first."

    def __init__(self, workspace: Workspace) -> None:
        self.missing = why_no_cuda()
        self.what = pmui.Select(label="Subject", options=WHAT, value=EVERYTHING, size="small", width=230)
        self.kind = pmui.Select(
            label="Run", options={"forward": "forward", "training step": "training"}, size="small", width=130
        )
        self.batch = number_input("Batch", 256, 1, 1_000_000, 120)
        self.threads = number_input("Threads", 1, 1, 256, 110)
        self.seconds = number_input("Time limit, s", 10, 1, 3600, 120)
        self.start = button(workspace, "Measure", self._start)
        self.recorded = pmui.Select(label="Recorded runs", options=["none"], size="small", width=240)
        self.recorded.param.watch(workspace.guard(lambda _: self._open_recorded()), "value")
        self.bars = BarsPane()
        self.chart = column()
        self.words = html_pane()
        self.facts = html_pane()
        self.what.param.watch(workspace.guard(lambda _: self._on_what()), "value")
        self._files: dict[str, RecordedFile] = {}
        self._runs: dict[str, tuple[Run, ...]] = {}
        """The runs that can be shown, by subject: those of the open trace, measured or recorded."""
        self._so_far: tuple[Run, str] | None = None
        self._opened: Callable[[], Opened | None] = lambda: None
        super().__init__(workspace)

    def build(self) -> Viewable:
        controls: tuple[Any, ...] = (self.what, self.kind, self.batch, self.threads, self.seconds)
        return column(line(*controls, self.start, self.recorded), self.words, self.bars, self.chart, self.facts)

    def on_change(self, names: frozenset[str]) -> None:
        if "trace" in names and self._opened() is not self.workspace.session.opened:
            self._fill()
        if OPENED in names and self.workspace.is_timing_due:
            self.workspace.is_timing_due = False
            self.what.value = next(iter(self.what.options.values()))
            self._start()

    def _fill(self) -> None:
        """Offer what can be timed of another trace, and show no times."""
        opened = self.workspace.session.opened
        self._opened, self._runs = ref(opened), {}
        has_batches = opened.trace.level.has_batches
        offered = WHAT if has_batches else OF_STEPS
        kept = self.what.value if self.what.value in offered.values() else next(iter(offered.values()))
        self.what.param.update(options=offered, value=kept)
        self.batch.disabled = not has_batches
        found = recorded_runs()
        self._files = {file.path.name: file for file in found}
        self.recorded.param.update(options=["none", *self._files], value="none", disabled=not found)
        self._clear()
        self.words.object = lines_html([no_cuda_text(self.missing, len(found))]) if self.missing else ""

    # ------------------------------------------------------------------ measuring

    def _start(self) -> None:
        session = self.workspace.session
        require_live(session)
        opened, step, what = session.opened, session.step, self.what.value
        settings: dict[str, Any] = {
            "devices": self.workspace.devices,
            "kind": self.kind.value,
            "num_threads": number(self.threads, 1),
            **dict.fromkeys(("max_seconds", "total_seconds"), float(number(self.seconds, 10))),
        }
        batch = number(self.batch, 256)
        begun = _empty_run(what, opened.name, settings)
        drawn = 0.0

        def work(job: Job) -> tuple[Run, ...]:
            def on_progress(progress: Progress) -> None:
                if monotonic() - drawn < LIVE_SECONDS or not any(timing.estimate for timing in progress.timings):
                    job.show(progress.note, progress.share)
                    return
                run = replace(begun, timings=progress.timings)
                job.show(progress.note, progress.share, also=lambda: show_live(run))

            listening: dict[str, Any] = {"on_progress": on_progress, "cancelled": lambda: job.cancelled}
            return _measure(what, opened.trace, opened.name, step, batch, {**settings, **listening})

        def show_live(run: Run) -> None:
            nonlocal drawn
            drawn = monotonic()
            if session.opened is opened:
                self._show_live(run, what)

        def on_done(runs: tuple[Run, ...]) -> None:
            if session.opened is opened:
                self._add(runs)
                self._show(runs[0], what)
                if what == LAYERS:
                    session.change_look(colour_by="time")

        def on_cancel() -> None:
            if session.opened is opened:
                self._end_live(what)

        def on_error(error: Exception) -> None:
            self._clear()
            self.workspace.show_error(error)

        self.workspace.background.cancel()
        self._clear()
        self.bars.visible = what != LAYERS
        seconds = settings["total_seconds"]
        self.words.object = lines_html([f"This takes at most {seconds:.0f} s; what is not timed by then is named."])
        self.workspace.background.start("Timing", work, on_done, on_error, show_at_once=True, on_cancel=on_cancel)

    def _add(self, runs: Sequence[Run]) -> None:
        """Keep runs, measured or recorded: times of steps for the cost strip, times of layers for the graph."""
        session = self.workspace.session
        found: dict[str, Any] = {}
        layers = dict(session.findings.layer_times)
        for run in runs:
            if run.subject == STEPS:
                found.update(times=measurements(session.index, run), missing=dict(run.missing))
            if run.subject == LAYERS and run.devices:
                check_fits(session.index, run)
                layers[step_of(run)] = layer_heat(run, run.devices[-1])  # CUDA if both were measured
                found["layer_times"] = layers
        for subject in dict.fromkeys(run.subject for run in runs):
            self._runs[subject] = tuple(run for run in runs if run.subject == subject)
        if found:
            session.add_findings(**found)

    def _on_what(self) -> None:
        """Show the runs of the chosen subject that are known."""
        what = self.what.value
        runs = self._runs.get(STEPS if what in (EVERYTHING, WATERFALL) else what, ())
        if runs and self.workspace.background.job is None:
            self._show(runs[0], what)

    def _open_recorded(self) -> None:
        file = self._files.get(self.recorded.value)
        if file is None:
            return
        if file.error:
            self.workspace.note(file.error)
            return
        session = self.workspace.session
        runs = tuple(run for run in file.runs if run.circuit == session.opened.name)
        if runs:
            self._add(runs)
            is_shown = self.what.value in (EVERYTHING, WATERFALL) and STEPS in self._runs
            if not is_shown and self.what.value not in self._runs:
                self.what.value = runs[0].subject
            self._on_what()
            return
        circuits = ", ".join(dict.fromkeys(run.circuit for run in file.runs))
        self.workspace.note(f"{file.path.name} contains runs of {circuits}, but none of {session.opened.name}.")

    # ------------------------------------------------------------------ showing

    def _clear(self) -> None:
        self.chart[:] = []
        self.facts.object = self.words.object = self.bars.bars = ""
        self._so_far = None

    def _show_live(self, run: Run, what: str) -> None:
        """Draw the bars of the times so far; layers get a table at the end."""
        if what == LAYERS:
            return
        bars = _bars(self.workspace.session.index, run, what)
        bars["note"] = f"Still measuring. {bars['note']}".strip()
        self.bars.show_bars(bars)
        self._so_far = run, what

    def _end_live(self, what: str) -> None:
        """Keep the drawing after Cancel."""
        note = "Cancelled; these are the times so far."
        if self._so_far is not None:
            self.bars.show_bars(_bars(self.workspace.session.index, *self._so_far))
        elif what == LAYERS:
            note = "Cancelled; the table of layers is complete only at the end."
        else:
            note = "Cancelled before anything was timed."
        self.words.object = lines_html([note])

    def _show(self, run: Run, what: str) -> None:
        index = self.workspace.session.index
        self._so_far = None
        self.chart[:] = [sweep_chart(run)] if run.subject == "sweep" else []
        self.bars.visible = run.subject != "layers"
        if self.bars.visible:
            self.bars.show_bars(_bars(index, run, what))
        known = [run for runs in self._runs.values() for run in runs]
        step = step_of(run) if run.subject == LAYERS else self.workspace.session.step
        advice = bottlenecks(index, [one for one in known if one.subject in (run.subject, LAYERS)] or [run], step)
        advice_html = "".join(f"<p>{escape(str(bottleneck))}</p>" for bottleneck in advice)
        note = [crossover_text(run)] if run.subject == "sweep" else []
        note += [layers_note(run)] if run.subject == "layers" else []
        self.words.object = lines_html(note) + advice_html
        table = table_html(layer_table(index, run)) if run.subject == "layers" else table_html(memory_table(run))
        self.facts.object = table + section_html(conditions(run))


def step_of(run: Run) -> int:
    """The step whose layers a run timed."""
    return next((timing.step for timing in run.timings if timing.step is not None), 0)


def _measure(what: str, trace: Trace, name: str, step: int, batch: int, settings: dict[str, Any]) -> tuple[Run, ...]:
    if what == EVERYTHING:
        return tuple(_measure_everything(trace, name, step, batch, settings))
    if what == MODES:
        options = options_of(trace).non_defaults()
        return (measure_modes(circuit_of(trace), options, batch_size=batch, name=name, **settings),)
    if what == LAYERS:
        return (measure_layers(trace, step, batch_size=batch, name=name, **_of_layers(settings)),)
    if what == SWEEP:
        return (measure_sweep(trace, step, name=name, **settings),)
    return (measure_steps(trace, batch_size=batch, name=name, **settings),)


def _measure_everything(trace: Trace, name: str, step: int, batch: int, settings: dict[str, Any]) -> Iterator[Run]:
    """Time the steps, then the layers of this step and of as many others as there is time for, nearest first."""
    started, limit = monotonic(), settings["total_seconds"]
    yield measure_steps(trace, batch_size=batch, name=name, **_within(settings, STEPS_SHARE * limit))
    here = state_step(trace, step)
    tell = settings["on_progress"]
    quiet = {**_of_layers(settings), "on_progress": lambda progress: tell(replace(progress, timings=()))}
    waiting = sorted({here, *default_steps(trace)}, key=lambda other: (abs(other - here), other))
    while waiting and not settings["cancelled"]():
        left = limit - (monotonic() - started)
        if left <= 0:
            return
        share = _within(quiet, left / len(waiting))
        yield measure_layers(trace, waiting.pop(0), batch_size=batch, name=name, **share)


def _within(settings: dict[str, Any], seconds: float) -> dict[str, Any]:
    return {**settings, "max_seconds": seconds, "total_seconds": seconds}


def _of_layers(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings for timing layers, which run forward only."""
    return {key: value for key, value in settings.items() if key != "kind"}


def _empty_run(what: str, name: str, settings: dict[str, Any]) -> Run:
    """A run in progress, without times; its conditions are not read before its end."""
    setup = Setup("", settings["num_threads"], "", "", 0.0, settings["max_seconds"], 0, {}, {}, "")
    reason = why_no_cuda() if CUDA in settings["devices"] else None
    subject = STEPS if what in (EVERYTHING, WATERFALL) else what
    return Run(subject, settings["kind"], name, {}, (), setup, {} if reason is None else {CUDA: reason})


def _bars(index: TraceIndex, run: Run, what: str) -> Any:
    makers: dict[str, Callable[[], Any]] = {
        "modes": lambda: mode_bars(run),
        "sweep": lambda: sweep_bars(run),
        "steps": lambda: time_change_bars(index, run, *run.devices[:1]) if what == WATERFALL else step_bars(index, run),
    }
    return makers[run.subject]()


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
        source = ColumnDataSource(_columns([t for t in run.timings if t.device == device and t.estimate is not None]))
        style = {"color": COLOURS[device], "legend_label": DEVICE_NAMES[device], "source": source}
        chart.line("batch", "median", line_width=2, line_dash="solid" if device == CPU else "dashed", **style)
        chart.scatter("batch", "median", size=7, marker="circle" if device == CPU else "square", **style)
        chart.add_layout(Whisker(base="batch", upper="high", lower="low", source=source))
    chart.legend.location = "top_left"
    return pn.pane.Bokeh(chart, sizing_mode="stretch_width")


def _columns(timings: Sequence[Any]) -> Any:
    return {
        "batch": [timing.batch_size for timing in timings],
        "median": [timing.estimate.median for timing in timings],
        "low": [timing.estimate.low for timing in timings],
        "high": [timing.estimate.high for timing in timings],
    }
