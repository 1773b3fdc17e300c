"""Stopwatches of devices: the thread's own CPU time, wall time, or CUDA events.

A stopwatch runs through an iterator and returns the seconds of each lap: the time to the next item.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from time import perf_counter, thread_time

import torch

from explorer.timings import CPU, CUDA

Clock = Callable[[], float]
Stopwatch = Callable[[Iterable[object], int], list[float]]
"""(laps, their number) -> seconds of each."""


def stopwatch(device: str, num_threads: int) -> Stopwatch:
    """The stopwatch for a device: CUDA events, or `clock_for` the number of threads."""
    if device == CUDA:
        return _cuda_laps
    clock = clock_for(num_threads)

    def laps(items: Iterable[object], count: int) -> list[float]:
        seconds: list[float] = []
        before = clock()
        for _ in items:
            now = clock()
            seconds.append(now - before)
            before = now
        return seconds

    return laps


def moments(device: str, num_threads: int) -> tuple[Callable[[], None], Callable[[], list[float]]]:
    """A function to call at each moment, and one that returns the seconds between them; for laps that are not items."""
    if device == CUDA:
        events: list[torch.cuda.Event] = []

        def record() -> None:
            events.append(torch.cuda.Event(enable_timing=True))
            events[-1].record()

        def elapsed() -> list[float]:
            torch.cuda.synchronize()
            return [before.elapsed_time(after) / 1000 for before, after in pairwise(events)]

        return record, elapsed
    clock = clock_for(num_threads)
    times: list[float] = []
    return lambda: times.append(clock()), lambda: [after - before for before, after in pairwise(times)]


def clock_for(num_threads: int, device: str = CPU) -> Clock:
    """The CPU time of the calling thread for one thread, wall time for more; on CUDA `synchronized_time`.

    Other processes, and other threads of this one (a server's), hardly disturb the CPU time of a thread.
    """
    if device == CUDA:
        return synchronized_time
    return thread_time if num_threads == 1 else perf_counter


def synchronized_time() -> float:
    """Wall time, read once the CUDA device has finished its work: what a caller waits for."""
    torch.cuda.synchronize()
    return perf_counter()


def clock_name(num_threads: int, device: str = CPU) -> str:
    """The name of the clock of `clock_for`."""
    if device == CUDA:
        return "wall time between synchronizations of the device"
    return "CPU time of the measuring thread" if num_threads == 1 else "wall time"


def one_lap(run: Callable[[], object]) -> Iterator[object]:
    """A whole run as a single lap; its result is dropped after the lap."""
    yield run()


def _cuda_laps(items: Iterable[object], count: int) -> list[float]:
    """Record events between the laps on the device's own timeline; only the last one is waited for."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    torch.cuda.synchronize()
    events[0].record()
    for event, _ in zip(events[1:], items, strict=True):
        event.record()
    torch.cuda.synchronize()
    return [before.elapsed_time(after) / 1000 for before, after in pairwise(events)]
