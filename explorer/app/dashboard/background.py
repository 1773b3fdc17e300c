"""Long work beside the user interface: one job at a time, with progress and Cancel.

The work runs in a thread of its own and tells its progress; hearing of it is the moment at which a cancelled job ends.
`deliver` brings a function to the thread of the host, which alone touches what is shown.
"""

from collections.abc import Callable
from threading import Event, Thread, Timer
from time import monotonic
from typing import Any, TypeVar

from explorer.trace import StepStarted

Result = TypeVar("Result")
Deliver = Callable[[Callable[[], None]], None]

BLINK_SECONDS = 0.3
"""Work that is done within so long shows nothing."""
PROGRESS_SECONDS = 0.2
"""Progress is shown at most so often."""
SHOWN_SECONDS = 1.0
"""So long a job waits at most until its progress is shown."""


class Cancelled(Exception):  # noqa: N818  # it is no error
    """The job was cancelled; its work ends where it hears of it."""


def _nothing() -> None:
    """Nothing is to be done."""


def show_nothing(job: "Job | None") -> None:
    """For work that nobody waits for: nothing is shown of it, so it waits for nothing either."""


class Job:
    """One piece of work: what it is called, how far it is, and whether it was cancelled."""

    def __init__(self, title: str, deliver: Deliver, show: Callable[["Job"], None]) -> None:
        self.title = title
        self.text = ""
        self.fraction: float | None = None
        self.running = True
        self.on_cancel: Callable[[], None] = _nothing
        self._cancelled = Event()
        self._deliver = deliver
        self._show = show
        self._shown = monotonic()
        self._quiet = show is show_nothing

    @property
    def cancelled(self) -> bool:
        """Whether Cancel was asked for."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask the work to end."""
        self._cancelled.set()

    def check(self) -> None:
        """Called by the work, often. Raises: Cancelled."""
        if self._cancelled.is_set():
            raise Cancelled(self.title)

    def tell(self, text: str, fraction: float | None = None) -> None:
        """Called by the work between its parts: show how far it is. Raises: Cancelled."""
        self.check()
        self.show(text, fraction)
        self.check()

    def hear(self, event: object) -> None:
        """A listener of a compilation: every event is a moment to end at, every step is told. Raises: Cancelled."""
        self.check()
        if isinstance(event, StepStarted):
            self.tell(event.path)

    def show(self, text: str, fraction: float | None = None, also: Callable[[], None] = _nothing) -> None:
        """Show how far the work is, and what `also` shows; waits for that: nothing is sent in the next part."""
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
                self._deliver(shown.set)  # after what was changed here is on its way

        self._deliver(show)
        shown.wait(SHOWN_SECONDS)
        self._shown = monotonic()


class Background:
    """Runs jobs, one at a time; a new one cancels the one before. `show(job)` draws progress; None: nothing runs."""

    def __init__(self, deliver: Deliver, show: Callable[[Job | None], None]) -> None:
        self._deliver = deliver
        self._show = show
        self.job: Job | None = None

    def start(
        self,
        title: str,
        work: Callable[[Job], Result],
        done: Callable[[Result], None],
        failed: Callable[[Exception], None],
        *,
        show_at_once: bool = False,
        cancelled: Callable[[], None] = _nothing,
    ) -> Job:
        """Run `work(job)` beside the host; then, in the thread of the host, `done(result)` or `failed(error)`.

        A cancelled job ends with neither; `cancelled()` is called at once. That it runs is shown when it takes longer
        than a blink, or `show_at_once` for work that nothing may interrupt later.
        """
        self.cancel()
        job = self.job = Job(title, self._deliver, self._show)
        job.on_cancel = cancelled
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
                self._finish(job, _nothing, failed)
            except Exception as error:  # noqa: BLE001  # it is told to the reader by `failed`
                self._finish(job, lambda error=error: failed(error), failed)
            else:
                self._finish(job, lambda: done(result), failed)

        Thread(target=run, name=title, daemon=True).start()
        return job

    def cancel(self) -> None:
        """End the job that runs, if one does."""
        job, self.job = self.job, None
        if job is not None:
            job.cancel()
            job.running = False
            self._show(None)
            job.on_cancel()

    def _finish(self, job: Job, then: Callable[[], Any], failed: Callable[[Exception], None]) -> None:
        def finish() -> None:
            job.running = False
            if self.job is not job:
                return
            self.job = None
            self._show(None)
            if job.cancelled:
                return
            try:
                then()
            except Exception as error:  # noqa: BLE001  # as what the work raises, it is told to the reader
                failed(error)

        self._deliver(finish)
