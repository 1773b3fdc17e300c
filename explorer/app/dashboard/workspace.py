"""The state that the panes of a dashboard share: session, library, background work, messages to the reader."""

import logging
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from explorer.app.dashboard.background import Background, Deliver, Job, show_nothing
from explorer.app.dashboard.measuring import Measuring
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, foreign_rules, forms_of, unused_skips
from explorer.app.session.reproduce import python_of, tensor_python_of
from explorer.app.session.sending_ahead import open_drawn
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError
from explorer.options import CompilerOptions
from explorer.timings import CPU

ShowMessage = Callable[[str, str, str], None]
"""(text, tone, report): a line for the reader; tone is info or error; `report` is the text of an error to copy."""


class Workspace:
    """One reader's workspace. The `open` functions compile in the background and then show the result."""

    def __init__(
        self, session: Session, library: Library, deliver: Deliver, show_job: Callable[[Job | None], None]
    ) -> None:
        self.session = session
        self.library = library
        self.background = Background(deliver, show_job)
        self.quiet_background = Background(deliver, show_nothing)
        """For work that nobody waits for."""
        self.drawing_background = Background(deliver, show_nothing)
        """For drawings that a tool adds to what is open: they do not end the checks."""
        self.inputs_background = Background(deliver, self._show_inputs)
        """For the inputs of the close-up: they run while a trace is opened, and neither ends the other."""
        self.other: Session | None = None
        """The session of the trace that is compared with."""
        self.devices: tuple[str, ...] = (CPU,)
        """The devices to time."""
        self.show_message: ShowMessage = lambda text, tone, report: None
        self.clear_message: Callable[[], None] = lambda: None
        self.show_progress: Callable[[Job | None], None] = show_nothing
        """Shows the progress of a job, and nothing else: the end of a job of `background` has further effects."""
        self.copy: Callable[[str], None] = lambda text: None
        self.open_tool: Callable[[str], None] = lambda name: None
        self.measuring = Measuring(self)
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
            self.show_message(str(error), "error", "")
            return
        report = "".join(traceback.format_exception(error))
        logging.getLogger("explorer").error(report)
        self.show_message(
            f"Something went wrong in the explorer itself: {type(error).__name__}: {error}", "error", report
        )

    def note(self, text: str) -> None:
        """Show a note to the reader."""
        self.show_message(text, "info", "")

    def python(self, **more: Any) -> str:
        """Return code that reproduces the open trace; `more` as in `python_of`."""
        state, opened = self.session.state, self.session.opened
        if not opened.trace.is_compilation:
            name = self.library.file_name(opened.name)
            kind = {"is_live": opened.is_live, "is_trace": self.library.is_trace(opened.name)}
            return tensor_python_of(name, state.options, opened.tensor, self.session.step, **kind)
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
            self.clear_message()
            self.session.open(opened, state)
            unused = unused_skips(opened.trace)
            if unused:
                self.note(f"Nothing to disable at {', '.join(unused)}.")
            if state.other is not None:
                self.open_other(state.other)

        self._start_opening(state, on_open, self.show_error)

    def recompile(self, options: CompilerOptions) -> None:
        """Compile the same circuit with different options; the step and the display are kept where possible."""
        state = self.session.state
        self.open(replace(state, options=options, again=True, other=None))

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
        for background in (
            self.background,
            self.quiet_background,
            self.drawing_background,
            self.inputs_background,
        ):
            background.close()

    def _show_inputs(self, job: Job | None) -> None:
        """Show the run of the inputs, unless another job is shown."""
        if self.background.job is None:
            self.show_progress(job)

    def stop_opening(self) -> None:
        """Cancel the opening of a trace, but no other work."""
        if self._opening is not None and self._opening is self.background.job:
            self.background.cancel()

    def show_other(self, other: Session | None) -> None:
        """Show a second trace next to the first; None ends the comparison."""
        self.other = other
        self.session.compare_with(None if other is None else replace(other.state, other=None))
