"""The measurements of a session: one runs in the background, and its times become findings of the session."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Protocol, TypeVar
from weakref import ref

from explorer.app.dashboard.background import Background, Job
from explorer.app.session.opening import Opened, circuit_of
from explorer.app.session.session import Session
from explorer.bench import (
    BATCH_SIZES,
    Progress,
    has_part_times,
    measure_backends,
    measure_layers,
    measure_modes,
    measure_steps,
    measure_sweep,
    why_no_cuda,
)
from explorer.compiler import options_of
from explorer.errors import ValueRangeError
from explorer.timings import (
    BACKENDS,
    CPU,
    CUDA,
    FORWARD,
    LAYERS,
    MODES,
    STEPS,
    SWEEP,
    Run,
    Setup,
    default_steps,
    state_step,
)
from explorer.trace import Trace
from explorer.views import bytes_text

Outer = TypeVar("Outer", int, str)
Inner = TypeVar("Inner", int, str)

NO_CUDA = "not available on this machine"
"""Short for what the Time tool says at length."""
TIMING = "Timing"
"""The title of the job."""
EVERYTHING, WATERFALL, EVERY_BACKEND = "everything", "waterfall", "every-backend"
"""Every step and its layers; the gain of each step; the backends of every step. Others are the subjects of runs."""
SUBJECTS: Mapping[str, str] = {EVERYTHING: STEPS, WATERFALL: STEPS, EVERY_BACKEND: BACKENDS}
"""The subjects of the runs of these."""
STEPS_SHARE = 0.5
"""The share of the time that is for steps if their layers are measured, too."""
FIRST_SHARE = 0.1
"""The share of the time that the layers of this step get even if the steps took all of it."""
MAX_BATCH_BYTES = 2 * 2**30
"""Maximum memory of a batch, as it is estimated before anything runs: other readers use the same machine."""
LIVE_SECONDS = 0.5
"""The minimum time between two drawings of the bars during a measurement, which waits for them."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to measure something; `seconds` limits the whole measurement."""

    what: str = EVERYTHING
    kind: str = FORWARD
    batch_size: int = 256
    num_threads: int = 1
    seconds: float = 20.0


class Watcher(Protocol):
    """Shows the measurements of the open trace while they run."""

    def show_start(self, request: Request) -> None: ...
    def show_live(self, run: Run, what: str) -> None: ...
    def show_run(self, run: Run, what: str) -> None: ...
    def show_cancelled(self, what: str) -> None: ...
    def clear(self) -> None: ...


class Measuring:
    """Measures the open trace of a session, one measurement at a time, and keeps its runs.

    `show_note` and `show_error` tell the reader of a limit that was reached, and of a measurement that failed.
    """

    def __init__(
        self,
        session: Session,
        background: Background,
        show_note: Callable[[str], None],
        show_error: Callable[[Exception], None],
    ) -> None:
        self._session, self._background = session, background
        self._show_note, self._show_error = show_note, show_error
        self.devices: tuple[str, ...] = (CPU,)
        """The devices to time."""
        self.settings = Request()
        """The settings of the last measurement; "Time it" uses them for every step and its layers."""
        self.watchers: list[Watcher] = []
        self._runs: dict[str, tuple[Run, ...]] = {}
        self._opened: Callable[[], Opened | None] = lambda: None

    @property
    def runs(self) -> dict[str, tuple[Run, ...]]:
        """The runs of the open trace that can be shown, measured or recorded, by subject."""
        opened = self._session.opened
        if self._opened() is not opened:
            self._opened, self._runs = ref(opened), {}
        return self._runs

    def start_everything(self) -> None:
        """Measure every step and its layers; of a tensor graph, which has no layers, its steps."""
        what = EVERYTHING if has_part_times(self._session.opened.trace) else STEPS
        self.start(replace(self.settings, what=what))

    def start(self, request: Request) -> None:
        """Start a measurement in the background.

        Raises: CircuitError for a trace from a file; ValueRangeError for a batch that needs too much memory.
        """
        session = self._session
        session.opened.require_live()
        _check_batch(session.opened.trace, request)
        self.settings = request
        opened, step = session.opened, session.step
        settings: dict[str, Any] = {
            "name": opened.name,
            "batch_size": request.batch_size,
            "devices": self.devices,
            "kind": request.kind,
            "num_threads": request.num_threads,
            "max_seconds": request.seconds,
            "total_seconds": request.seconds,
        }
        begun = _empty_run(request, opened.name, self.devices)
        drawn = 0.0

        def work(job: Job) -> tuple[Run, ...]:
            def on_progress(progress: Progress) -> None:
                if monotonic() - drawn < LIVE_SECONDS or not any(timing.estimate for timing in progress.timings):
                    job.show(progress.note, progress.share)
                    return
                run = replace(begun, timings=progress.timings)
                job.show(progress.note, progress.share, also=lambda: show_live(run))

            listening: dict[str, Any] = {"on_progress": on_progress, "cancelled": lambda: job.cancelled}
            return tuple(_measure(request.what, opened.trace, step, {**settings, **listening}))

        def tell(show: Callable[[Watcher], None]) -> None:
            for watcher in self.watchers if session.opened is opened else ():
                show(watcher)

        def show_live(run: Run) -> None:
            nonlocal drawn
            drawn = monotonic()
            tell(lambda watcher: watcher.show_live(run, request.what))

        def on_done(runs: tuple[Run, ...]) -> None:
            if session.opened is not opened:
                return
            self.add(runs)
            tell(lambda watcher: watcher.show_run(runs[0], request.what))
            if request.what == LAYERS:
                session.change_look(colour_by="time")
            if not any(run.devices for run in runs):
                reasons = dict.fromkeys(reason for run in runs for reason in run.missing.values())
                limit = f"Nothing was timed within {request.seconds:.0f} s."
                advice = f"{limit} Open Time for a longer limit, or a smaller batch."
                self._show_note(f"Nothing was timed: {'; '.join(reasons)}." if reasons else advice)

        def on_error(error: Exception) -> None:
            tell(lambda watcher: watcher.clear())
            self._show_error(error)

        self._background.cancel()
        tell(lambda watcher: watcher.show_start(request))
        cancel: Callable[[], None] = lambda: tell(lambda watcher: watcher.show_cancelled(request.what))  # noqa: E731
        self._background.start(TIMING, work, on_done, on_error, show_at_once=True, on_cancel=cancel)

    def add(self, runs: Sequence[Run], *, recorded: bool = False) -> None:
        """Keep runs of the open trace, to compare with times of another machine.

        Raises: CircuitError for a run of another trace.
        """
        unavailable = {CUDA: NO_CUDA} if not recorded and why_no_cuda() else {}
        told = [replace(run, missing={**unavailable, **run.missing}) for run in runs]
        self._session.add_runs(told, recorded=recorded)
        for subject in dict.fromkeys(run.subject for run in runs):
            self.runs[subject] = tuple(run for run in runs if run.subject == subject)


def _check_batch(trace: Trace, request: Request) -> None:
    """Raises: ValueRangeError for a batch that is too large for the dashboard."""
    if not trace.level.has_batches or request.what == SWEEP:
        return
    most, row_bytes = _max_batch(trace)
    if request.batch_size > most:
        needed, limit = bytes_text(request.batch_size * row_bytes), bytes_text(MAX_BATCH_BYTES)
        raise ValueRangeError(
            f"a batch of {request.batch_size:,} rows needs about {needed}; the dashboard uses at most {limit}: "
            f"choose at most {most:,} rows, or measure with the command circuit-explorer time"
        )


def _max_batch(trace: Trace) -> tuple[int, int]:
    """Return the maximum number of rows, and the bytes of activations and copies of one row in any step."""
    stats = [trace.stats(step.index) for step in trace.steps if step.error is None]
    row_bytes = max(one["activation_bytes"] + one["copied_bytes"] for one in stats)
    return max(1, MAX_BATCH_BYTES // row_bytes), row_bytes


def step_of(run: Run) -> int:
    """The step of the layers that a run timed."""
    return next((timing.step for timing in run.timings if timing.step is not None), 0)


def _measure(what: str, trace: Trace, step: int, settings: dict[str, Any]) -> Iterator[Run]:
    if what == EVERYTHING:
        yield from _measure_everything(trace, step, settings)
    elif what == EVERY_BACKEND:
        yield from _measure_every_backend(trace, step, settings)
    elif what == MODES:
        yield measure_modes(circuit_of(trace), options_of(trace).non_defaults(), **settings)
    elif what == BACKENDS:
        yield measure_backends(trace, step, **settings)
    elif what == LAYERS:
        yield measure_layers(trace, step, **_without("kind", settings))
    elif what == SWEEP:
        most, _ = _max_batch(trace)
        sizes = [size for size in BATCH_SIZES if size <= most]
        yield measure_sweep(trace, step, sizes, **_without("batch_size", settings))
    else:
        yield measure_steps(trace, **settings)


def _measure_everything(trace: Trace, step: int, settings: dict[str, Any]) -> Iterator[Run]:
    """Time the steps, then the layers of this step and of as many others as there is time for, nearest first.

    Each layer of this step is timed at least once, even if that takes longer than its share of the time.
    """
    started, limit = monotonic(), settings["total_seconds"]
    yield measure_steps(trace, **_within(settings, STEPS_SHARE * limit))
    here = state_step(trace, step)
    tell = settings["on_progress"]
    quiet = {**_without("kind", settings), "on_progress": lambda progress: tell(replace(progress, timings=()))}
    timed = (at for at in {here, *default_steps(trace)} if has_part_times(trace, at))
    waiting = sorted(timed, key=lambda other: (abs(other - here), other))
    while waiting and not settings["cancelled"]():
        at, left = waiting.pop(0), limit - (monotonic() - started)
        if at == here:
            left = max(left, FIRST_SHARE * limit)
        if left <= 0:
            return
        share = _within(quiet, left / (len(waiting) + 1))
        if at == here:
            share["total_seconds"] = left  # one round is run to its end, whatever its share is
        yield measure_layers(trace, at, **share)


def _measure_every_backend(trace: Trace, step: int, settings: dict[str, Any]) -> Iterator[Run]:
    """Time the backends of this step, then of the steps that are timed by default; of folding the last level only."""
    here = state_step(trace, step)
    others = [at for at in default_steps(trace) if not trace.steps[at].folds or at == default_steps(trace)[-1]]
    chosen = [here, *(at for at in others if at != here)]
    share = _within(settings, settings["total_seconds"] / len(chosen))
    for at in chosen:
        if not settings["cancelled"]():
            yield measure_backends(trace, at, **share)


def _within(settings: dict[str, Any], seconds: float) -> dict[str, Any]:
    return {**settings, "max_seconds": seconds, "total_seconds": seconds}


def _without(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Drop a setting: layers run forward only, a sweep has batches of its own."""
    return {key: value for key, value in settings.items() if key != name}


def _empty_run(request: Request, name: str, devices: Sequence[str]) -> Run:
    """A run in progress, without times; its conditions are not read before its end."""
    setup = Setup("", request.num_threads, "", "", 0.0, request.seconds, 0, {}, {}, "")
    reason = why_no_cuda() if CUDA in devices else None
    subject = SUBJECTS.get(request.what, request.what)
    return Run(subject, request.kind, name, {}, (), setup, {} if reason is None else {CUDA: reason})
