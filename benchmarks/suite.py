"""The benchmark suite: times and temporaries of the entrants of a case, interleaved in one process.

A case has no times if outputs or gradients differ from double precision, or if the samples are not quiet; it says why.
"""

import gc
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from statistics import median

import torch

from benchmarks.cases import Case
from benchmarks.suite_entrants import NAMES, OPPONENTS, Entrant, Field, enter, names_for, names_of_ours
from explorer.bench import clock_for, estimate, time_interleaved
from explorer.timings import CPU, CUDA

SUITE_CASES: Sequence[str] = ("S1", "S2", "M1", "M2", "L1", "L2", "L3", "L4", "L5", "L6", "L7")

QUIET = 0.1
"""Samples are quiet if half the distance of the quartiles of their faster half is at most this share of its median."""
ATTEMPTS = 3
"""How often samples are added until all are quiet."""

Samples = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """The times and temporaries of one case by entrant; `refused` says why they do not count, if so.

    `alone` are samples of the opponents without ours in between, as interleaving can slow them down.
    """

    case: str
    num_threads: int
    training: bool
    ours: tuple[str, ...]
    samples: Mapping[str, Samples]
    alone: Mapping[str, Samples]
    temporary_bytes: Mapping[str, int]
    difference: float
    absent: Mapping[str, str]
    peer_clamps: bool | None
    refused: str
    device: str = CPU
    device_seconds: Mapping[str, float] = dataclass_field(default_factory=dict[str, float])
    """How long a CUDA device computes in a run, where that is known."""

    def seconds(self, name: str) -> float:
        """The time of an entrant; of an opponent the smaller one of alone and interleaved."""
        return min(faster_median(samples[name]) for samples in (self.samples, self.alone) if name in samples)

    def speedup(self, name: str, opponents: Sequence[str]) -> float | None:
        """How many times as fast as the fastest of some opponents; None if one of them, or the entrant, has no time."""
        if self.refused or any(one not in self.samples for one in (name, *opponents)):
            return None
        return min(self.seconds(one) for one in opponents) / self.seconds(name)

    def memory_saving(self, name: str, opponent: str) -> float | None:
        """The temporaries of an opponent over those of an entrant; None if one of them was not measured."""
        if self.refused or name not in self.temporary_bytes or opponent not in self.temporary_bytes:
            return None
        return self.temporary_bytes[opponent] / max(self.temporary_bytes[name], 1)


def faster_median(samples: Samples) -> float:
    """The median of the faster half: the other half was slowed down by what else runs on the machine."""
    return median(_faster_half(samples))


def spread(samples: Samples) -> float:
    """Half the distance of the quartiles of the faster half, relative to its median."""
    return estimate(_faster_half(samples)).spread


def describe_noise(samples: Mapping[str, Samples]) -> str:
    """Which entrants have samples that are not quiet; empty if all are."""
    noisy = [f"{name} ±{spread(one):.0%}" for name, one in samples.items() if spread(one) > QUIET]
    return f"samples are not quiet: {', '.join(noisy)}" if noisy else ""


def measure_suite(
    case: Case,
    *,
    num_threads: int,
    repeats: int,
    training: bool = False,
    only: Collection[str] = NAMES,
    device: str = CPU,
    on_run: Callable[[str], None] = lambda name: None,
) -> SuiteRow:
    """Measure the entrants of one case that have these names, on the CPU or on CUDA.

    Samples that are not quiet refuse the row on the CPU. On CUDA, where runs are rare, the table says so.
    """
    torch.set_num_threads(num_threads)
    torch._dynamo.reset()
    if device == CUDA:  # drop the graphs of the case before, and their memory
        gc.collect()
        torch.cuda.empty_cache()
    on_run("comparing outputs")
    names = [name for name in names_for(device, training) if name in only]
    field = enter(case, training=training, only=names, device=device)
    if field.refused:
        return _row(case, num_threads, training, device, field, refused=field.refused)
    opponents = {name: one for name, one in field.entrants.items() if name in OPPONENTS}
    alone = _sample(opponents, num_threads, repeats, device, on_run)
    samples = _sample(field.entrants, num_threads, repeats, device, on_run)
    temporaries: dict[str, int] = {}
    device_seconds: dict[str, float] = {}
    for name, one in field.entrants.items():
        on_run(f"memory of {name}")
        if (found := one.temporary_bytes()) is not None:
            temporaries[name] = found
        if (seconds := one.device_seconds()) is not None:
            device_seconds[name] = seconds
    refused = describe_noise(samples) if device == CPU else ""
    return _row(case, num_threads, training, device, field, samples, alone, temporaries, refused, device_seconds)


def _row(
    case: Case,
    num_threads: int,
    training: bool,
    device: str,
    field: Field,
    samples: Mapping[str, Samples] | None = None,
    alone: Mapping[str, Samples] | None = None,
    temporaries: Mapping[str, int] | None = None,
    refused: str = "",
    device_seconds: Mapping[str, float] | None = None,
) -> SuiteRow:
    return SuiteRow(
        case.name,
        num_threads,
        training,
        tuple(names_of_ours(field.entrants)),
        samples or {},
        alone or {},
        temporaries or {},
        field.difference,
        field.absent,
        field.peer_clamps,
        refused,
        device,
        device_seconds or {},
    )


def _sample(
    entrants: Mapping[str, Entrant], num_threads: int, repeats: int, device: str, on_run: Callable[[str], None]
) -> dict[str, Samples]:
    """Interleaved samples; more are added as long as some are not quiet."""
    if not entrants:
        return {}
    jobs = {name: one.job() for name, one in entrants.items()}
    found: dict[str, Samples] = dict.fromkeys(jobs, ())
    for attempt in range(ATTEMPTS):
        clock = clock_for(num_threads, device)
        more = time_interleaved(jobs, repeats, warmups=1 if attempt else 2, clock=clock, on_run=on_run)
        found = {name: samples + more[name] for name, samples in found.items()}
        if all(spread(samples) <= QUIET for samples in found.values()):
            break
    return found


def _faster_half(samples: Samples) -> Samples:
    return tuple(sorted(samples)[: math.ceil(len(samples) / 2)])
