"""One measurement run: settings, threads, devices, progress, Cancel; one at a time in a process."""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from threading import Lock
from time import monotonic
from typing import Any

import torch

from explorer.bench.interleave import Key, Repeated, Section, repeat_until_precise
from explorer.bench.machine import busy_machine, device_name, keep_freed_memory, versions, why_no_cuda
from explorer.bench.stopwatch import clock_name, one_lap, stopwatch
from explorer.bench.usage import StoppedError, Usage, measure_usage
from explorer.errors import ValueRangeError, check_name
from explorer.timings import CPU, CUDA, DEVICES, FORWARD, KINDS, PROGRESS_SECONDS, Estimate, Limits, Run, Setup, Timing

OPERATORS = 200
"""Number of tiny operators that are timed together."""
REPEATS = 3
CPU_SIZES = (2**23, 768)
CUDA_SIZES = (2**26, 4096)
"""Numbers to copy (32 and 256 MiB, larger than caches), and rows of the square matrices to multiply."""


def measure_pytorch_limits(device: str, num_threads: int) -> Limits:
    """Measure the best that PyTorch reaches: a tiny operator, copying, matrix products; in about 0.1 seconds.

    Each is the best of three runs; the threads must be set already.
    """
    numbers, rows = CUDA_SIZES if device == CUDA else CPU_SIZES
    tiny = torch.zeros(1, device=device)
    source = torch.zeros(numbers, device=device)
    target = torch.empty_like(source)
    matrix = torch.ones(rows, rows, device=device)
    product = torch.empty_like(matrix)

    def operators() -> None:
        for _ in range(OPERATORS):
            torch.add(tiny, tiny)

    with torch.no_grad():
        operator = _best(operators, device, num_threads) / OPERATORS
        copy = _best(lambda: target.copy_(source), device, num_threads)
        multiply = _best(lambda: torch.mm(matrix, matrix, out=product), device, num_threads)
    moved = 2 * numbers * source.element_size()
    return Limits(operator * 1000, moved / copy, 2 * rows**3 / multiply)


def _best(run: Callable[[], object], device: str, num_threads: int) -> float:
    """The minimum seconds of some runs, without the first one."""
    watch = stopwatch(device, num_threads)
    return min([watch(one_lap(run), 1)[0] for _ in range(REPEATS + 1)][1:])


NAMES = {CPU: "the CPU", CUDA: "CUDA"}
"""The names of devices within a sentence."""
WAIT_SECONDS = 0.1
USAGE_SECONDS, USAGE_SHARE = 30.0, 0.2
"""Counting memory and operators, which is slow for thousands of layers, stops after this time, or share of the run."""
TINY = 1e-9
PREPARE_SHARE = 0.6
"""Preparing stops after this share of the time of the run, so that what is prepared can be timed."""
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a measurement: the elapsed share of its time from 0 to 1, a note, and the timings so far."""

    share: float
    note: str
    timings: tuple[Timing, ...] = ()


OnProgress = Callable[[Progress], None]
Cancelled = Callable[[], bool]


def ignore(progress: Progress) -> None:
    """Ignore progress."""


def never() -> bool:
    """Never cancel."""
    return False


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that all measurements have in common.

    `kind` is `forward` or `training`; `num_threads` is torch's, restored afterwards. Sections are repeated until the
    95 % interval of each median is within the relative `precision`, or `max_seconds` are over (`reached` is then
    False). The whole run, with its preparation, ends after about `total_seconds`; what has no time by then gets the
    reason. An unavailable device is in `run.missing`, with the reason. `seed` generates the inputs; `name` names
    the circuit, for views of the run.

    `on_progress` is called between timed sections, at most five times per second, and waited for. When `cancelled()`
    is true, the measurement ends after the current section, and the run contains the results so far.

    Raises: UnknownNameError, ValueRangeError.
    """

    devices: Sequence[str] = (CPU,)
    kind: str = FORWARD
    batch_size: int = 256
    num_threads: int = 1
    precision: float = 0.1
    max_seconds: float = 20.0
    total_seconds: float = inf
    seed: int = 0
    name: str = ""
    on_progress: OnProgress = ignore
    cancelled: Cancelled = never

    def __post_init__(self) -> None:
        for device in self.devices:
            check_name("device", device, DEVICES)
        if not self.devices:
            raise ValueRangeError(f"devices must name at least one of {', '.join(DEVICES)}; found none")
        check_name("kind of run", self.kind, KINDS)
        for name, value in (("batch_size", self.batch_size), ("num_threads", self.num_threads)):
            if value < 1:
                raise ValueRangeError(f"{name} must be at least 1; found {value}")
        if not 0 < self.precision < 1:
            raise ValueRangeError(f"precision must be between 0 and 1; found {self.precision}")
        for name, seconds in (("max_seconds", self.max_seconds), ("total_seconds", self.total_seconds)):
            if not seconds > 0:
                raise ValueRangeError(f"{name} must be above 0; found {seconds}")


@dataclass(eq=False)
class MeasurementRun:
    """A measurement in progress. `report_progress` is called between timed sections only, in the measuring thread."""

    settings: Settings
    devices: tuple[str, ...]
    missing: dict[str, str]
    malloc: str = ""
    limits: dict[str, Limits] = field(default_factory=dict)
    date: str = ""
    warning: str = ""
    started: float = field(default_factory=monotonic)
    _reported_at: float = -PROGRESS_SECONDS

    def report_progress(self, share: float, note: str, timings: Callable[[], tuple[Timing, ...]] = tuple) -> None:
        """Report progress, unless the last report is recent; returns when the listener has returned."""
        if monotonic() - self._reported_at >= PROGRESS_SECONDS:
            self.settings.on_progress(Progress(share, note, timings()))
            self._reported_at = monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    @property
    def may_prepare(self) -> bool:
        """Whether there is time to prepare something else to be timed."""
        return self.seconds < PREPARE_SHARE * self.settings.total_seconds

    def keep_only(self, device: str) -> bool:
        """Note for all devices but this one why they have no times; return whether it is timed itself."""
        reason = f"this trace runs on {NAMES.get(device, device)} only"
        self.missing |= {other: reason for other in self.devices if other != device}
        return device in self.devices

    def usage(self, run: Callable[[], object], device: str) -> Usage | None:
        """Count the memory and operators of a run; None if there is no time for it. Raises: StoppedError."""
        limit = min(USAGE_SECONDS, USAGE_SHARE * self.settings.total_seconds)
        if self.seconds >= limit:
            return None
        try:
            return measure_usage(run, device, lambda: self.settings.cancelled() or self.seconds >= limit)
        except StoppedError:
            if self.settings.cancelled():
                raise
            return None

    def repeat(
        self, sections: Mapping[Key, Section], report: Callable[[Repeated[Key]], tuple[Timing, ...]]
    ) -> Repeated[Key]:
        """Time the sections in the time that is left; `report` returns the timings so far."""
        settings = self.settings
        left = settings.total_seconds - self.seconds
        return repeat_until_precise(
            sections,
            precision=settings.precision,
            max_seconds=max(min(settings.max_seconds, left), TINY),
            between=lambda repeated, share, note: self.report_progress(share, note, lambda: report(repeated)),
            cancelled=settings.cancelled,
            whole_rounds=settings.max_seconds < left,
        )

    def setup(self) -> Setup:
        """The conditions of the measurement."""
        settings = self.settings
        return Setup(
            self.date,
            settings.num_threads,
            clock_name(settings.num_threads),
            self.malloc,
            settings.precision,
            settings.max_seconds,
            settings.seed,
            {device: device_name(device) for device in self.devices},
            versions(),
            platform.platform(),
            dict(self.limits),
            self.warning,
        )


Timed = tuple[tuple[Timing, ...], bool]
"""The timings of a measurement, and whether it was cancelled."""


def measure(
    settings: Settings, subject: str, options: Mapping[str, Any], time: Callable[[MeasurementRun], Timed]
) -> Run:
    """Run a measurement of a subject, unless it is cancelled before it begins, with a last report of progress."""
    with _measurement_run(settings) as begun:
        timings, stopped = ((), True) if settings.cancelled() else time(begun)
        settings.on_progress(Progress(1.0, "cancelled" if stopped else "done", timings))
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
        seconds = begun.seconds
        missing = dict(begun.missing)
        return Run(subject, settings.kind, settings.name, plain, timings, begun.setup(), missing, stopped, seconds)


@contextmanager
def _measurement_run(settings: Settings) -> Iterator[MeasurementRun]:
    """Start a measurement: wait until no other one runs in this process, set the threads, measure the limits.

    The threads are restored at the end; malloc continues to keep freed memory. The number of threads holds for the
    calling thread.
    """
    reason = why_no_cuda() if CUDA in settings.devices else None
    missing = {} if reason is None else {CUDA: reason}
    devices = tuple(device for device in DEVICES if device in settings.devices and device not in missing)
    begun = MeasurementRun(settings, devices, missing)
    with _alone(begun):
        if settings.cancelled():
            yield begun
            return
        begun.started = monotonic()
        begun.malloc = keep_freed_memory()
        begun.date = datetime.now(UTC).isoformat(timespec="seconds")
        begun.warning = busy_machine() or ""
        threads = torch.get_num_threads()
        torch.set_num_threads(settings.num_threads)
        try:
            for device in devices:
                with suppress(torch.OutOfMemoryError):  # then bottlenecks on this device are unknown
                    begun.limits[device] = measure_pytorch_limits(device, settings.num_threads)
            yield begun
        finally:
            torch.set_num_threads(threads)


@contextmanager
def _alone(begun: MeasurementRun) -> Iterator[None]:
    """Exclude other measurements, which would disturb the times."""
    while not _ONE_AT_A_TIME.acquire(timeout=WAIT_SECONDS):
        begun.report_progress(0.0, "waiting: something else is being timed")
        if begun.settings.cancelled():
            yield  # nothing is timed after Cancel
            return
    try:
        yield
    finally:
        _ONE_AT_A_TIME.release()


def with_estimate(timing: Timing, found: Estimate | None, settings: Settings, stopped: bool) -> Timing:
    """Add an estimate to a timing, or the reason why there is none."""
    if found is not None:
        return replace(timing, estimate=found, reached=found.is_precise(settings.precision))
    if timing.missing:
        return timing
    over = "not timed yet" if settings.total_seconds == inf else f"not timed within {settings.total_seconds:.3g} s"
    return replace(timing, missing="cancelled before it was timed" if stopped else over)
