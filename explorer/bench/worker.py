"""A measurement beside a user interface: one thread, with progress, Cancel, and the error if there is one.

The progress callback runs in the measuring thread, between timed sections, and measuring goes on when it returns: a
host pushes to the browser there and waits until that is done, so nothing is pushed inside a timed section.
"""

from collections.abc import Callable
from enum import Enum
from threading import Event, Thread
from typing import Generic, TypeVar

from explorer.bench.measurement_run import Cancelled, OnProgress, Progress, ignore
from explorer.errors import CircuitError

Result = TypeVar("Result")


class WorkerState(Enum):
    """What a worker does."""

    IDLE = "idle"
    RUNNING = "running"
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"


class Worker(Generic[Result]):
    """Runs one measuring function in a daemon thread.

    `measure` takes `on_progress` and `cancelled` and gives the result, as in
    `Worker(lambda on_progress, cancelled: measure_steps(trace, on_progress=on_progress, cancelled=cancelled))`.
    `on_end` is called in the thread when it is over, in whatever way. A cancelled measurement may have a `result`: what
    was there until then. An error is kept in `error`.
    """

    def __init__(
        self,
        measure: Callable[[OnProgress, Cancelled], Result],
        on_progress: OnProgress = ignore,
        on_end: "Callable[[Worker[Result]], None] | None" = None,
    ) -> None:
        self.state = WorkerState.IDLE
        self.result: Result | None = None
        self.error: Exception | None = None
        self.progress: Progress | None = None
        self._measure = measure
        self._on_progress = on_progress
        self._on_end = on_end
        self._cancelled = Event()
        self._thread = Thread(target=self._run, name="timing", daemon=True)

    def start(self) -> None:
        """Begin. Raises: CircuitError if it began before: a worker runs once."""
        if self.state is not WorkerState.IDLE or self._thread.ident is not None:
            raise CircuitError(f"this worker is {self.state.value}, and runs only once; make a new one")
        self.state = WorkerState.RUNNING
        self._thread.start()

    def cancel(self) -> None:
        """Ask it to stop; it does after the timed section that runs. One that has not begun never begins."""
        self._cancelled.set()
        if self.state is WorkerState.IDLE:
            self.state = WorkerState.CANCELLED

    def join(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.result = self._measure(self._tell, self._cancelled.is_set)
        except Exception as error:  # noqa: BLE001  # it is kept, and shown by whoever waits
            self.error = error
        if self.error is not None:
            self.state = WorkerState.FAILED
        else:
            self.state = WorkerState.CANCELLED if self._cancelled.is_set() else WorkerState.DONE
        if self._on_end is not None:
            self._on_end(self)

    def _tell(self, progress: Progress) -> None:
        self.progress = progress
        self._on_progress(progress)
