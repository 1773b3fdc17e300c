"""The line at the top: circuit, semiring, preset, device; and messages below it."""

from collections.abc import Callable
from dataclasses import replace
from html import escape

import panel as pn
import panel_material_ui as pmui

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.tables import STYLE
from explorer.app.dashboard.panes.tool import button, line
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.view_state import LEVEL_NAMES, ViewState
from explorer.backend import SEMIRINGS
from explorer.bench import why_no_cuda
from explorer.options import PRESETS
from explorer.timings import CPU, CUDA

DEVICES = {"CPU": (CPU,), "CUDA": (CUDA,), "CPU and CUDA": (CPU, CUDA)}

CIRCUIT_WIDTH = 180


class Header:
    """Selects the circuit and options to open; follows the session."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.circuit = pmui.Select(label="Circuit", options=[], size="small", width=CIRCUIT_WIDTH, searchable=False)
        self.semiring = pmui.Select(
            label="Semiring", options=[semiring.name for semiring in SEMIRINGS], size="small", width=150
        )
        self.level = pmui.Select(label="Level", options=list(LEVEL_NAMES), size="small", width=110)
        self.preset = pmui.Select(label="Pipeline", options=list(PRESETS), size="small", width=130)
        self.edit = button(workspace, "Edit", lambda: workspace.open_tool("pipeline"), "outlined")
        reason = why_no_cuda()
        missing = [] if reason is None else [devices for devices in DEVICES.values() if CUDA in devices]
        self.device = pmui.Select(
            label="Device",
            options={f"{name}: {reason}" if devices in missing else name: devices for name, devices in DEVICES.items()},
            value=(CPU,),
            disabled_options=missing,
            size="small",
            width=150,
        )
        self.device.param.watch(
            workspace.guard(lambda event: setattr(workspace.measuring, "devices", event.new)), "value"
        )
        self._filling = False
        for control in (self.circuit, self.level, self.semiring, self.preset):
            control.param.watch(workspace.guard(lambda event: self._on_select(event.obj)), "value")
        self.items = [self.circuit, self.level, self.semiring, self.preset, self.edit, self.device]

    def on_change(self, names: frozenset[str]) -> None:
        """Show the open circuit and its options."""
        if "trace" not in names:
            return
        opened = self.workspace.session.opened
        self._filling = True
        known = list(self.workspace.library.names())
        self.circuit.param.update(options=known, value=opened.name if opened.name in known else None)
        self.level.value = opened.tensor.level
        self.level.disabled = not opened.has_compiler
        for control in (self.semiring, self.preset):
            control.visible = opened.has_compiler
        self.semiring.value = opened.options.semiring
        self.preset.value = opened.options.preset
        self._filling = False

    def _on_select(self, control: object) -> None:
        if self._filling:
            return
        if control is self.circuit:
            self.workspace.open(ViewState.of_circuit(self.circuit.value))
            return
        if control is self.level:
            state = self.workspace.session.state
            tensor = replace(state.tensor, level=self.level.value, passes=())
            self.workspace.open(ViewState(circuit=state.circuit, options=state.options, tensor=tensor))
            return
        options = self.workspace.session.opened.options
        if control is self.preset:
            options = options.with_preset(self.preset.value)
        else:
            options = replace(options, semiring=self.semiring.value)
        self.workspace.recompile(options)


# ---------------------------------------------------------------------- messages


TOAST = {
    "position": "fixed",
    "top": "6px",
    "right": "12px",
    "z-index": "1300",
    "width": "max-content",
    "max-width": "min(640px, 60vw)",
    "max-height": "40vh",
    "overflow": "auto",
    "padding": "2px 6px",
    "border": "1px solid var(--mui-palette-divider, GrayText)",
    "border-radius": "8px",
    "background": "var(--mui-palette-background-paper, Canvas)",
    "box-shadow": "0 2px 10px rgba(0,0,0,.25)",
}


class Messages:
    """The last message and, below it, the running job; over a corner of the graph, so that nothing moves."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._is_note = False
        self.text, self.progress = _words(), _words()
        self.close = pmui.Button(label="Close", size="small", variant="text", on_click=lambda _: self.clear())
        self.bar = pmui.LinearProgress(value=0, max=100, width=90, margin=(14, 10))
        self.cancel = pmui.Button(label="Cancel", size="small", variant="outlined", on_click=lambda _: cancel())
        self.message = line(self.text, self.close)
        self.job = line(self.progress, self.bar, self.cancel)
        for part in (self.message, self.job):
            part.param.update(flex_wrap="nowrap", visible=False)
        self.view = pn.Column(visible=False, margin=0, styles=TOAST)

    def show(self, text: str, tone: str, report: str) -> None:
        """Show a message until it is closed; an error is announced assertively, a note politely."""
        role = "alert" if tone == "error" else "status"
        sign = "bad" if tone == "error" else "good"
        more = f"<details><summary>Report</summary><pre>{escape(report)}</pre></details>" if report else ""
        self.text.object = f'<div role="{role}"><p class="{sign}">{escape(text)}</p>{more}</div>'
        self.message.visible = True
        self._is_note = tone != "error"
        self._update_visibility()

    def clear_note(self) -> None:
        """Clear a note, which is about the previous picture."""
        if self._is_note:
            self.clear()

    def clear(self) -> None:
        """Clear the message."""
        self.text.object = ""
        self.message.visible = self._is_note = False
        self._update_visibility()

    def show_job(self, job: Job | None) -> None:
        """Show the running job and its progress; None: no job is running."""
        self.job.visible = job is not None
        if job is None:
            self.progress.object = ""
        else:
            self.progress.object = f'<div role="status"><p>{escape(job.words)}</p></div>'
            self.bar.param.update(
                variant="indeterminate" if job.fraction is None else "determinate",
                value=0 if job.fraction is None else round(100 * job.fraction),
            )
        self._update_visibility()

    def _update_visibility(self) -> None:
        """Place what is visible: parts that are not on the page do not delay its loading."""
        shown = [part for part in (self.message, self.job) if part.visible]
        if self.view.objects != shown:
            self.view[:] = shown
        self.view.visible = bool(shown)


def _words() -> pn.pane.HTML:
    return pn.pane.HTML("", stylesheets=[STYLE], margin=(6, 10), styles={"flex": "1 1 auto", "min-width": "0"})
