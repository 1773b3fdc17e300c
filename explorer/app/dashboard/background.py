"""Long work in the background of the user interface: one job at a time, with progress and Cancel.

The work runs in its own thread and reports its progress; a cancelled job ends at its next report. `deliver` passes a
function to the thread of the host, the only one that changes the page.
"""

from collections.abc import Callable
from threading import Event, Thread, Timer
from time import monotonic
from typing import Any, TypeVar

from bokeh.document import Document

from explorer.timings import PROGRESS_SECONDS
from explorer.trace import StepStarted

Result = TypeVar("Result")
Deliver = Callable[[Callable[[], None]], None]

BLINK_SECONDS = 0.3
"""A job that finishes within this time shows no progress."""
SHOWN_SECONDS = 1.0
"""The maximum time that a job waits until its progress is shown."""


class Cancelled(Exception):  # noqa: N818  # it is not an error
    """Raised in a cancelled job, at its next report."""


def show_nothing(job: "Job | None") -> None:
    """Show no progress, for work that nobody waits for."""


class Job:
    """A piece of work: its title, its progress, and whether it was cancelled."""

    def __init__(
        self, title: str, deliver: Deliver, show: Callable[["Job"], None], on_cancel: Callable[[], None]
    ) -> None:
        self.title = title
        self.text = ""
        self.fraction: float | None = None
        self.running = True
        self.on_cancel = on_cancel
        self._cancelled = Event()
        self._deliver = deliver
        self._show = show
        self._shown = monotonic()
        self._quiet = show is show_nothing

    @property
    def words(self) -> str:
        """The present activity."""
        return f"{self.title}: {self.text}" if self.text else f"{self.title} …"

    @property
    def cancelled(self) -> bool:
        """Whether the job was cancelled."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask the work to end."""
        self._cancelled.set()

    def check(self) -> None:
        """Check for cancellation; the work calls this often. Raises: Cancelled."""
        if self._cancelled.is_set():
            raise Cancelled(self.title)

    def report(self, text: str, fraction: float | None = None) -> None:
        """Report progress; the work calls this between its parts. Raises: Cancelled."""
        self.check()
        self.show(text, fraction)
        self.check()

    def on_event(self, event: object) -> None:
        """Listen to a compilation: check for cancellation at every event, report every step. Raises: Cancelled."""
        self.check()
        if isinstance(event, StepStarted):
            self.report(event.path)

    def show(self, text: str, fraction: float | None = None, also: Callable[[], None] = lambda: None) -> None:
        """Show the progress and the output of `also`; wait for both, so that nothing is sent during the next part."""
        self.text, self.fraction = text, fraction
        if self._quiet or monotonic() - self._shown < PROGRESS_SECONDS:
            return
        shown = Event()

        def show() -> None:
            try:
                if self.running and not self.cancelled:
                    self._show(self)
                    also()
            finally:
                self._deliver(shown.set)  # after the changes above have been sent

        self._deliver(show)
        shown.wait(SHOWN_SECONDS)
        self._shown = monotonic()


class Background:
    """Runs one job at a time; a new job cancels the previous one. `show(job)` draws the progress; None: idle."""

    def __init__(self, deliver: Deliver, show: Callable[[Job | None], None]) -> None:
        self._deliver = deliver
        self._show = show
        self.job: Job | None = None

    def start(
        self,
        title: str,
        work: Callable[[Job], Result],
        on_done: Callable[[Result], None],
        on_error: Callable[[Exception], None],
        *,
        show_at_once: bool = False,
        on_cancel: Callable[[], None] = lambda: None,
    ) -> Job:
        """Run `work(job)` in a thread; then, in the thread of the host, `on_done(result)` or `on_error(error)`.

        A cancelled job ends with neither; `on_cancel()` is called at once. Its progress is shown after a moment, or
        `show_at_once` for work that cannot be interrupted later.
        """
        self._stop()
        job = self.job = Job(title, self._deliver, self._show, on_cancel)
        if show_at_once:
            self._show(job)
        else:
            timer = Timer(BLINK_SECONDS, lambda: self._deliver(lambda: self._show(job) if job.running else None))
            timer.daemon = True
            timer.start()

        def run() -> None:
            try:
                result = work(job)
            except Cancelled:
                self._finish(job, lambda: None, on_error)
            except Exception as error:  # noqa: BLE001  # `on_error` shows it to the reader
                self._finish(job, lambda error=error: on_error(error), on_error)
            else:
                self._finish(job, lambda: on_done(result), on_error)

        Thread(target=run, name=title, daemon=True).start()
        return job

    def cancel(self) -> None:
        """Cancel the running job, if there is one."""
        if self._stop():
            self._show(None)

    def close(self) -> None:
        """Cancel the running job of a closed page: nothing can be shown any more."""
        job, self.job = self.job, None
        if job is not None:
            job.cancel()
            job.running = False

    def _stop(self) -> bool:
        """Cancel the running job without clearing its progress; return whether there was one."""
        job = self.job
        self.close()
        if job is not None:
            job.on_cancel()
        return job is not None

    def _finish(self, job: Job, then: Callable[[], Any], on_error: Callable[[Exception], None]) -> None:
        def finish() -> None:
            job.running = False
            if self.job is not job:
                return
            self.job = None
            if not job.cancelled:
                try:
                    then()
                except Exception as error:  # noqa: BLE001  # shown to the reader like an error of the work
                    on_error(error)
            if self.job is None:  # `then` may have started another one
                self._show(None)

        self._deliver(finish)


# ---------------------------------------------------------------------- the thread of a page


def deliver(document: Document | None, action: Callable[[], None]) -> None:
    """Run a function in the thread of the page, unless the page was closed."""
    if document is None:
        action()
    elif document.session_context is not None:
        document.add_next_tick_callback(action)


def call_later(document: Document | None, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Run a function in the thread of the page after some time; return what cancels it. Nothing runs without a page."""
    if document is None or document.session_context is None:
        return lambda: None
    due = True

    def run() -> None:
        nonlocal due
        if due:
            due = False
            action()

    document.add_timeout_callback(run, round(1000 * seconds))

    def cancel() -> None:
        nonlocal due
        due = False

    return cancel
