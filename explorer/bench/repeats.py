"""Sections are run in turns until every median is known well enough, the time is over, or somebody cancels."""

import gc
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

import torch

from explorer.timings import Estimate, estimate

Key = TypeVar("Key", bound=Hashable)
Section = Callable[[], Sequence[float]]
"""Runs once and gives the seconds of each lap; what prepares the run is not in them."""

WARMUPS = 2
WARMUP_SHARE = 0.1
"""A second round to warm up is left out if the first one takes more than this share of the time."""
FIRST_LOOK, NEXT_LOOK = 6, 1.4
"""Precision is looked at after 6 repeats, then each time there are 1.4 times as many: looking after every one would
make the intervals less sure than they claim."""
MAX_REPEATS = 1000
OUT_OF_MEMORY = (torch.OutOfMemoryError, MemoryError)


@dataclass
class Repeated(Generic[Key]):
    """The seconds of each lap of each run by section, and why a section has none or no more."""

    laps: dict[Key, list[tuple[float, ...]]]
    failed: dict[Key, str] = field(default_factory=dict)
    cancelled: bool = False

    def estimate(self, key: Key) -> Estimate | None:
        """The estimate of all laps together; None if there was no run."""
        return estimate([sum(laps) for laps in self.laps[key]]) if self.laps[key] else None

    def lap_estimate(self, key: Key, lap: int) -> Estimate | None:
        """The estimate of one lap."""
        return estimate([laps[lap] for laps in self.laps[key]]) if self.laps[key] else None


def repeat_until_precise(
    sections: Mapping[Key, Section],
    *,
    precision: float,
    max_seconds: float,
    between: Callable[[Repeated[Key], float, str], None] = lambda repeated, share, note: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Repeated[Key]:
    """Run all sections in turns, each round starting with another one, until each median is precise or time is over.

    There is at least one round. `between` is called before each section, never inside one, with what is there, the
    share of the time that is over and a note; a section that runs out of memory is left out from then on. Garbage is
    collected before each section; what was alive before all is out of the collector's sight.
    """
    repeated: Repeated[Key] = Repeated({key: [] for key in sections})
    alive = list(sections)
    started = monotonic()
    look, rounds = FIRST_LOOK, -WARMUPS
    gc.collect()
    frozen = gc.get_freeze_count() > 0  # by whoever calls: it stays so, and no more of it
    if not frozen:
        gc.freeze()
    try:
        while alive and rounds < MAX_REPEATS:
            start = rounds % len(alive)
            for key in alive[start:] + alive[:start]:
                share = min((monotonic() - started) / max_seconds, 1.0)
                between(repeated, share, "warming up" if rounds < 0 else f"repeat {rounds + 1}")
                if cancelled():
                    repeated.cancelled = True
                    return repeated
                if share >= 1.0 and rounds > 0:
                    return repeated
                _run(key, sections[key], repeated, keep=rounds >= 0)
            alive = [key for key in alive if key not in repeated.failed]
            rounds += 1
            if rounds < 0 and monotonic() - started >= WARMUP_SHARE * max_seconds:
                rounds = 0  # what takes so long is warm after one round
            if rounds >= look:
                look = round(look * NEXT_LOOK)
                if all(_is_precise(repeated, key, precision) for key in alive):
                    return repeated
    finally:
        if not frozen:
            gc.unfreeze()
    return repeated


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is over; the CPU's allocator says it in words only."""
    return isinstance(error, OUT_OF_MEMORY) or (isinstance(error, RuntimeError) and "allocate memory" in str(error))


def _run(key: Key, section: Section, repeated: Repeated[Key], keep: bool) -> None:
    gc.collect()
    try:
        laps = tuple(section())
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        repeated.failed[key] = "out of memory"
        repeated.laps[key] = []
        return
    if keep:
        repeated.laps[key].append(laps)


def _is_precise(repeated: Repeated[Key], key: Key, precision: float) -> bool:
    found = repeated.estimate(key)
    return found is not None and found.is_precise(precision)
