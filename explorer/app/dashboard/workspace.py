"""What the panes of a dashboard share: session, library, background work, messages, address of the page."""

import logging
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from explorer.app.dashboard.background import Background, Deliver, Job, show_nothing
from explorer.app.dashboard.measuring import Measuring
from explorer.app.dashboard.panes.tables import STYLE
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, foreign_rules, forms_of, unused_skips
from explorer.app.session.reproduce import python_of, tensor_python_of
from explorer.app.session.sending_ahead import open_drawn
from explorer.app.session.session import Session
from explorer.app.session.view_state import CloserLook, ViewState, trace_of, view_state_of_query
from explorer.errors import CircuitError
from explorer.options import CompilerOptions
from explorer_widgets.dashboard import BrowserHost


class Workspace:
    """One reader's workspace. The `open` functions compile in the background and then show the result.

    `show_job` shows the job that the reader waits for; `open_tool` opens a tool by name, and none with an empty name.
    """

    def __init__(
        self,
        session: Session,
        library: Library,
        deliver: Deliver,
        show_job: Callable[[Job | None], None],
        open_tool: Callable[[str], None],
    ) -> None:
        self.session = session
        self.library = library
        self.open_tool = open_tool
        self.messages = Messages(self.cancel)
        self.browser = BrowserHost()
        self.background = Background(deliver, show_job)
        self.quiet_background = Background(deliver, show_nothing)
        """For work that nobody waits for."""
        self.drawing_background = Background(deliver, show_nothing)
        """For drawings that a tool adds to what is open: they do not end the checks."""
        self.inputs_background = Background(deliver, self._show_inputs)
        """For the inputs of the close-up: they run while a trace is opened, and neither ends the other."""
        self.other: Session | None = None
        """The session of the trace that is compared with."""
        self.measuring = Measuring(session, self.background, self.note, self.show_error)
        self._opening: Job | None = None

    def guard(self, action: Callable[..., Any]) -> Callable[..., None]:
        """Wrap the action of a button, so that its errors are shown in the page."""

        @wraps(action)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            try:
                action(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # a silent page is worse
                self.show_error(error)

        return wrapper

    def show_error(self, error: Exception) -> None:
        """Show an error to the reader; an internal error is logged as well."""
        if isinstance(error, CircuitError):
            self.messages.show(str(error), "error")
            return
        report = "".join(traceback.format_exception(error))
        logging.getLogger("explorer").error(report)
        text = f"Something went wrong in the explorer itself: {type(error).__name__}: {error}"
        self.messages.show(text, "error", report)

    def note(self, text: str) -> None:
        """Show a note to the reader."""
        self.messages.show(text, "info")

    def python(self, **more: Any) -> str:
        """Return code that reproduces the open trace; `more` as in `python_of`."""
        state, opened = self.session.state, self.session.opened
        if not opened.trace.is_compilation:
            name = self.library.file_name(opened.name)
            return tensor_python_of(
                *(name, state.options, opened.tensor, self.session.step),
                is_live=opened.is_live,
                is_trace=self.library.is_trace(opened.name),
                applied=forms_of(state),
            )
        foreign = foreign_rules(opened.trace, known=[form.name for form, _ in forms_of(state)])
        note = f"# The trace uses rules that this code does not define: {', '.join(foreign)}\n" if foreign else ""
        return note + python_of(
            self.library.file_name(opened.name),
            opened.options,
            applied=forms_of(state),
            is_trace=self.library.is_trace(opened.name),
            **{"step": self.session.step, **more},
        )

    # ------------------------------------------------------------------ opening

    def open(self, state: ViewState) -> None:
        """Compile or read what a link names in the background, and show it."""

        def on_open(opened: Opened) -> None:
            self.messages.clear()
            self.session.open(opened, state)
            unused = unused_skips(opened.trace)
            if unused:
                self.note(f"Nothing to disable at {', '.join(unused)}.")
            if state.other is not None:
                self.open_other(state.other)

        self._start_opening(state, on_open, self.show_error)

    def open_another(self, state: ViewState) -> None:
        """Open another circuit or level; beliefs stay shown."""
        self.open(replace(state, closer=CloserLook(beliefs=self.session.state.closer.beliefs)))

    def recompile(self, options: CompilerOptions) -> None:
        """Compile the same circuit with different options; the step and the display are kept where possible."""
        state = self.session.state
        self.open(replace(state, options=options, again=True, other=None))

    def compare(self, options: CompilerOptions) -> None:
        """Compile the same circuit with different options, and show it next to the open trace."""
        self.open_other(replace(self.session.state, options=options, again=True, step=0))
        self.open_tool("compare")

    def open_other(self, state: ViewState) -> None:
        """Open the trace to compare with."""
        plain = replace(state, other=None)

        def on_error(error: Exception) -> None:
            self.show_other(None)
            self.show_error(error)

        self._start_opening(plain, lambda opened: self.show_other(Session(opened, plain)), on_error)

    def _start_opening(
        self, state: ViewState, on_open: Callable[[Opened], None], on_error: Callable[[Exception], None]
    ) -> None:
        title = f"Opening {state.circuit}"
        self._opening = self.background.start(
            title, lambda job: open_drawn(self.library, state, job.on_event), on_open, on_error
        )

    def cancel(self) -> None:
        """Cancel the work that the reader waits for."""
        self.background.cancel()
        self.inputs_background.cancel()

    def close(self) -> None:
        """Cancel all work of a closed page."""
        for background in (self.background, self.quiet_background, self.drawing_background, self.inputs_background):
            background.close()

    def _show_inputs(self, job: Job | None) -> None:
        """Show the run of the inputs, unless another job is shown."""
        if self.background.job is None:
            self.messages.show_job(job)

    def stop_opening(self) -> None:
        """Cancel the opening of a trace, but no other work."""
        if self._opening is not None and self._opening is self.background.job:
            self.background.cancel()

    def show_other(self, other: Session | None) -> None:
        """Show a second trace next to the first; None ends the comparison."""
        self.other = other
        self.session.compare_with(None if other is None else replace(other.state, other=None))


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
        row: dict[str, Any] = {"align_items": "center", "flex_wrap": "nowrap", "sizing_mode": "stretch_width"}
        self.message = pn.FlexBox(self.text, self.close, **row, visible=False)
        self.job = pn.FlexBox(self.progress, self.bar, self.cancel, **row, visible=False)
        self.view = pn.Column(visible=False, margin=0, styles=TOAST)

    def show(self, text: str, tone: str, report: str = "") -> None:
        """Show a message until it is closed; an error, with its report to copy, is announced assertively."""
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


# ---------------------------------------------------------------------- the address of the page


class Address:
    """The address of a reader's page. `deliver` runs an action after the present one; `show` shows view states.

    `show` receives the view state of the session, and of the second session if it is to be shown too.
    """

    def __init__(
        self,
        workspace: Workspace,
        browser: BrowserHost,
        deliver: Callable[[Callable[[], None]], None],
        show: Callable[[ViewState, ViewState | None], None],
    ) -> None:
        self._workspace, self._browser, self._deliver, self._show = workspace, browser, deliver, show
        self._known = self._written = ""
        """The address that the browser has, as far as is known here, and the one that was written last."""
        self._shown = workspace.session.state
        browser.param.watch(workspace.guard(lambda event: self._on_address(event.new)), "address")

    def write(self) -> None:
        """Write the address after the present action; a second time for the same action changes nothing."""
        self._deliver(self._write)

    def _write(self) -> None:
        """Add an entry to the history; replace one to which the browser went, if it could not be opened as it is.

        Until it is known whether the trace to compare with can be opened, nothing is written.
        """
        state = self._workspace.session.state
        if state.other is not None and self._workspace.other is None:
            return
        replaces = self._known != self._written or self._is_turning(state)
        self._shown, self._written = state, f"?{state.query()}"
        if self._written != self._known:
            self._known = self._written
            self._browser.show_address(self._written, replaces=replaces)

    def _is_turning(self, state: ViewState) -> bool:
        """Whether only another match is shown in the lens, or another part of the close-up: Back goes past them."""
        before, after = self._shown.closer, state.closer
        return replace(self._shown, closer=after) == state and bool(before.hull) == bool(after.hull)

    def _on_address(self, address: str) -> None:
        """Open the view state of the address after Back or Forward; one that was written here is known."""
        if address == self._known:
            return
        self._known = address
        workspace = self._workspace
        session, other = workspace.session, workspace.other
        if address == f"?{session.state.query()}":
            workspace.stop_opening()
            return
        try:
            state = view_state_of_query(address)
        except CircuitError:
            self.write()
            raise
        if trace_of(replace(state, other=None)) != trace_of(replace(session.state, other=None)):
            workspace.open(state)
            return
        workspace.stop_opening()
        shown = state.other
        keeps_other = other is not None and shown is not None and trace_of(shown) == trace_of(other.state)
        self._show(state, shown if keeps_other else None)
        if shown is None:
            workspace.show_other(None)
        elif not keeps_other:
            workspace.open_other(shown)
