"""Times that can be compared: jobs run in turns, so that a slow minute of the machine hits all of them alike."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any

from explorer.errors import ValueRangeError

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Job:
    """Something to time: `run` gets what `prepare` made; making it, and dropping the result, is not timed."""

    run: Callable[[Any], object]
    prepare: Callable[[], object] = lambda: None


@dataclass(frozen=True, slots=True)
class Samples:
    """The seconds that one job took, in the order of measurement. Raises: ValueRangeError if there are none.

    >>> Samples((0.3, 0.1, 0.2, 0.2)).median
    0.2
    """

    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.seconds:
            raise ValueRangeError("a job must be timed at least once")

    @property
    def median(self) -> float:
        """The middle of the samples, in seconds."""
        return median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median: half of all samples lie about so close."""
        if len(self.seconds) < 2 or self.median == 0:
            return 0.0
        low, _, high = quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / 2 / self.median


def time_interleaved(
    jobs: Mapping[str, Job],
    repeats: int,
    *,
    warmups: int = 1,
    clock: Clock = perf_counter,
    on_run: Callable[[str], None] = lambda name: None,
) -> dict[str, Samples]:
    """Time each job `repeats` times, in rounds; each round starts with another job, so that none always comes first.

    Garbage is collected before each timed run; what was alive before all of them is out of the collector's sight, so
    that it costs no job anything. `on_run` is told the name of a job before it runs. Raises: ValueRangeError.
    """
    if repeats < 1:
        raise ValueRangeError(f"repeats must be at least 1; found {repeats}")
    names = list(jobs)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    frozen = gc.get_freeze_count() > 0  # by whoever calls: it stays so, and no more of it
    if not frozen:
        gc.freeze()
    try:
        for round_number in range(warmups + repeats):
            start = round_number % max(len(names), 1)
            for name in names[start:] + names[:start]:
                on_run(name)
                taken = _time_once(jobs[name], clock)
                if round_number >= warmups:
                    seconds[name].append(taken)
    finally:
        if not frozen:
            gc.unfreeze()
    return {name: Samples(tuple(taken)) for name, taken in seconds.items()}


def ratio(numerator: Samples, denominator: Samples) -> float:
    """The median of the ratios within each round, which are as close in time as they can be."""
    return median(a / b for a, b in zip(numerator.seconds, denominator.seconds, strict=True))


def clock_for(num_threads: int) -> Clock:
    """The CPU time of this process for one thread, which other processes hardly disturb; wall time for more."""
    return process_time if num_threads == 1 else perf_counter


def _time_once(job: Job, clock: Clock) -> float:
    made = job.prepare()
    gc.collect()
    started = clock()
    result = job.run(made)
    taken = clock() - started
    del result, made
    return taken
