"""Times that can be compared: sections run interleaved, so that a slow minute of the machine affects all of them alike.

`repeat_until_precise` is the engine; `time_interleaved` runs jobs a fixed number of times on it.
"""

import gc
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from statistics import median
from time import monotonic, perf_counter
from typing import Any, Generic, TypeVar

import torch

from explorer.bench.stopwatch import Clock
from explorer.errors import ValueRangeError
from explorer.timings import Estimate, estimate

Key = TypeVar("Key", bound=Hashable)
Section = Callable[[], Sequence[float]]
"""Runs once and returns the seconds of each lap; preparing the run is not included."""

WARMUPS = 2
WARMUP_SHARE = 0.1
"""The second warm-up round is skipped if the first one takes more than this share of the time."""
FIRST_LOOK, NEXT_LOOK = 6, 1.4
"""Precision is checked after 6 repeats, then each time there are 1.4 times as many: checking after every repeat would
make the intervals less certain than they claim."""
MAX_REPEATS = 1000


@dataclass
class Repeated(Generic[Key]):
    """The seconds of each lap of each run by section, and why a section has none."""

    laps: dict[Key, list[tuple[float, ...]]]
    failed: dict[Key, str] = field(default_factory=dict)
    cancelled: bool = False

    def seconds(self, key: Key) -> tuple[float, ...]:
        """The seconds of each run, all laps together."""
        return tuple(map(sum, self.laps[key]))

    def estimate(self, key: Key) -> Estimate | None:
        """The estimate of all laps together; None if there was no run."""
        return estimate(self.seconds(key)) if self.laps[key] else None

    def lap_estimate(self, key: Key, lap: int) -> Estimate | None:
        """The estimate of one lap."""
        return estimate([laps[lap] for laps in self.laps[key]]) if self.laps[key] else None


def repeat_until_precise(
    sections: Mapping[Key, Section],
    *,
    precision: float,
    max_seconds: float,
    max_repeats: int = MAX_REPEATS,
    warmups: int = WARMUPS,
    between: Callable[[Repeated[Key], float, str], None] = lambda repeated, share, note: None,
    cancelled: Callable[[], bool] = lambda: False,
    whole_rounds: bool = True,
    freeze_heap: bool = True,
) -> Repeated[Key]:
    """Run the sections interleaved until each median is precise or the time is over.

    With `whole_rounds`, at least one round is run. Otherwise the time may be over before every section has run; a
    section that has only run to warm up has the seconds of that run.

    Each round starts with a different section, so that none always comes first. `between` is called before each
    section, never inside one, with the results so far, the elapsed share of the time and a note. A section that runs
    out of memory is left out from then on. Garbage is collected before each section; with `freeze_heap`, objects that
    were alive before the first one are hidden from the collector.
    """
    repeated: Repeated[Key] = Repeated({key: [] for key in sections})
    alive = list(sections)
    started = monotonic()
    warm: dict[Key, tuple[float, ...]] = {}
    look, rounds = FIRST_LOOK, -warmups
    with _freeze_heap() if freeze_heap else nullcontext():
        while alive and rounds < max_repeats:
            start = rounds % len(alive)
            for key in alive[start:] + alive[:start]:
                share = min((monotonic() - started) / max_seconds, 1.0)
                between(repeated, share, "warming up" if rounds < 0 else f"repeat {rounds + 1}")
                if cancelled():
                    repeated.cancelled = True
                    return repeated
                if share >= 1.0 and (rounds > 0 or not whole_rounds):
                    return _with_warmups(repeated, warm)
                laps = _run(key, sections[key], repeated)
                if laps is not None and rounds < 0:
                    warm[key] = laps
                elif laps is not None:
                    repeated.laps[key].append(laps)
            alive = [key for key in alive if key not in repeated.failed]
            rounds += 1
            if rounds < 0 and monotonic() - started >= WARMUP_SHARE * max_seconds:
                rounds = 0  # a section that takes this long is warm after one round
            if rounds >= look:
                look = round(look * NEXT_LOOK)
                if all(_is_precise(repeated, key, precision) for key in alive):
                    return repeated
    return repeated


@dataclass(frozen=True, slots=True)
class Job:
    """Something to time: `run` receives the result of `prepare`; preparing and dropping the result are not timed."""

    run: Callable[[Any], object]
    prepare: Callable[[], object] = lambda: None


def time_interleaved(
    jobs: Mapping[str, Job],
    repeats: int,
    *,
    warmups: int = 1,
    clock: Clock = perf_counter,
    on_run: Callable[[str], None] = lambda name: None,
    freeze_heap: bool = True,
) -> dict[str, tuple[float, ...]]:
    """The seconds of `repeats` runs of each job, interleaved; `on_run` receives the name of a job before it runs.

    `freeze_heap` is passed to `repeat_until_precise`.
    `explorer.bench.estimate` turns them into a median with its interval, `ratio` compares two jobs.
    Raises: ValueRangeError if there are no repeats; MemoryError if a job runs out of memory.
    """
    if repeats < 1:
        raise ValueRangeError(f"repeats must be at least 1; found {repeats}")

    def section(name: str, job: Job) -> Section:
        def run() -> Sequence[float]:
            on_run(name)
            made = job.prepare()
            gc.collect()
            started = clock()
            result = job.run(made)
            seconds = clock() - started
            del result, made
            return (seconds,)

        return run

    sections = {name: section(name, job) for name, job in jobs.items()}
    repeated = repeat_until_precise(
        sections,
        precision=-1.0,
        max_seconds=math.inf,
        max_repeats=repeats,
        warmups=warmups,
        freeze_heap=freeze_heap,
    )
    if repeated.failed:
        raise MemoryError("; ".join(f"{name}: {reason}" for name, reason in repeated.failed.items()))
    return {name: repeated.seconds(name) for name in jobs}


def ratio(numerator: Sequence[float], denominator: Sequence[float]) -> float:
    """The median of the ratios within each round, where the two times are as close to each other as possible."""
    return median(a / b for a, b in zip(numerator, denominator, strict=True))


def out_of_memory(error: BaseException) -> bool:
    """Whether an error reports exhausted memory; the CPU's allocator says so in its message only."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)


@contextmanager
def _freeze_heap() -> Iterator[None]:
    """Hide the objects that are alive now from the collector; they stay hidden if the caller has frozen its heap."""
    gc.collect()
    was_frozen = gc.get_freeze_count() > 0
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()


def _with_warmups(repeated: Repeated[Key], warm: Mapping[Key, tuple[float, ...]]) -> Repeated[Key]:
    """Add the warm-up of each section that has not run otherwise."""
    for key, laps in warm.items():
        if not repeated.laps[key] and key not in repeated.failed:
            repeated.laps[key].append(laps)
    return repeated


def _run(key: Key, section: Section, repeated: Repeated[Key]) -> tuple[float, ...] | None:
    """Run a section once; None if it ran out of memory."""
    gc.collect()
    try:
        return tuple(section())
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        repeated.failed[key] = "out of memory"
        repeated.laps[key] = []
        return None


def _is_precise(repeated: Repeated[Key], key: Key, precision: float) -> bool:
    found = repeated.estimate(key)
    return found is not None and found.is_precise(precision)
