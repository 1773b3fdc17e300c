"""How seconds are taken on a device: the thread's own CPU time, wall time, or CUDA events.

A stopwatch goes through an iterator and gives the seconds of each lap: what it took to come to the next item.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from time import perf_counter, thread_time

import torch

from explorer.timings import CUDA

Clock = Callable[[], float]
Stopwatch = Callable[[Iterable[object], int], list[float]]
"""(laps, how many there are) -> seconds of each."""


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


def clock_for(num_threads: int) -> Clock:
    """The CPU time of the calling thread for one thread, wall time for more.

    Other processes, and other threads of this one (a server's), hardly disturb the former.
    """
    return thread_time if num_threads == 1 else perf_counter


def clock_name(num_threads: int) -> str:
    """In words what is measured on the CPU."""
    return "CPU time of the measuring thread" if num_threads == 1 else "wall time"


def one_lap(run: Callable[[], object]) -> Iterator[object]:
    """A whole run as a single lap; its result is dropped after the lap."""
    yield run()


def _cuda_laps(items: Iterable[object], count: int) -> list[float]:
    """Events stand between the laps on the device's own time line; nothing waits until the last one."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    torch.cuda.synchronize()
    events[0].record()
    for event, _ in zip(events[1:], items, strict=True):
        event.record()
    torch.cuda.synchronize()
    return [before.elapsed_time(after) / 1000 for before, after in pairwise(events)]
