"""A measurement in the background of a user interface: one thread, with progress, Cancel, and its error.

The progress callback runs in the measuring thread, between timed sections, and the measurement continues when it
returns: a host pushes to the browser there and waits for it, so nothing is pushed inside a timed section.
"""

from collections.abc import Callable
from enum import Enum
from threading import Event, Thread
from typing import Generic, TypeVar

from explorer.bench.measurement_run import Cancelled, OnProgress, Progress, ignore
from explorer.errors import CircuitError

Result = TypeVar("Result")


class WorkerState(Enum):
    """The state of a worker."""

    IDLE = "idle"
    RUNNING = "running"
    CANCELLED = "cancelled"
    DONE = "done"
    FAILED = "failed"


class Worker(Generic[Result]):
    """Runs one measuring function in a daemon thread.

    `measure` accepts `on_progress` and `cancelled` and returns the result, as in
    `Worker(lambda on_progress, cancelled: measure_steps(trace, on_progress=on_progress, cancelled=cancelled))`.
    `on_end` is called in the thread at the end in any case. A cancelled measurement may have a partial `result`. An
    error is kept in `error`.
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
        """Start. Raises: CircuitError if it was started before: a worker runs once."""
        if self.state is not WorkerState.IDLE or self._thread.ident is not None:
            raise CircuitError(f"this worker is {self.state.value}, and runs only once; create a new one")
        self.state = WorkerState.RUNNING
        self._thread.start()

    def cancel(self) -> None:
        """Request a stop after the current timed section. A worker that has not started never starts."""
        self._cancelled.set()
        if self.state is WorkerState.IDLE:
            self.state = WorkerState.CANCELLED

    def join(self, timeout_seconds: float | None = None) -> bool:
        """Wait for the end; returns whether it was reached."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.result = self._measure(self._tell, self._cancelled.is_set)
        except Exception as error:  # noqa: BLE001  # it is kept, and shown by the host
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
