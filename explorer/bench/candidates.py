"""Modules that are timed against each other with equal inputs and values; outputs are compared before any timing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer.bench.interleave import Repeated, Section, out_of_memory
from explorer.bench.machine import free_bytes
from explorer.bench.measurement_run import NAMES, MeasurementRun, Timed, with_estimate
from explorer.bench.programs import Program, program, rows_of
from explorer.bench.stopwatch import one_lap, stopwatch
from explorer.bench.usage import StoppedError
from explorer.errors import LoweringError
from explorer.runtime import FastCircuit
from explorer.timings import CUDA, Timing

MEMORY_SHARE = 0.5
"""A batch is skipped if, judged by smaller ones, it needs more than this share of the free memory."""
ONE_ROW_RUNS = 3

Key = tuple[int, str]
"""Index of the candidate, device."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something to time: its name, the function that builds the module, its arguments and expected outputs on the CPU.

    Candidates with the same `build` share the module on each device. `planned_bytes` counts all activations.
    `any_rows`: the module accepts any number of rows. `own_bytes` tells, for the built module, the bytes that it
    allocates where they cannot be counted; None if it does not know. `only_on`: the one device that it runs on, if it
    does not run on any. `there` is what is made of the module once it is on its device; a LoweringError says why it
    cannot be made. `problem` is a reason why it cannot be built.
    """

    what: str
    build: Callable[[], nn.Module]
    arguments: tuple[Any, ...]
    wanted: tuple[Tensor, ...]
    layers: int | None
    planned_bytes: int
    step: int | None = None
    any_rows: bool = True
    own_bytes: Callable[[nn.Module], int | None] | None = None
    only_on: str = ""
    there: Callable[[nn.Module], nn.Module] | None = None
    problem: str = ""

    @property
    def rows(self) -> int:
        """The number of rows of its arguments."""
        return rows_of(self.arguments)


def time_candidates(measurement: MeasurementRun, candidates: Sequence[Candidate], *, last_first: bool = False) -> Timed:
    """Time every candidate on every device; also returns whether the measurement was cancelled.

    With `last_first` the last one is prepared before the others, in case there is no time for all of them.
    """
    prepared = _Prepared(measurement, candidates)
    stopped = not prepared.make(last_first)
    repeated: Repeated[Key] = Repeated({key: [] for key in prepared.sections}, cancelled=stopped)
    if not stopped:
        repeated = measurement.repeat(prepared.sections, prepared.timings_of)
    return prepared.timings_of(repeated), repeated.cancelled


class _Prepared:
    """The candidates on their devices: compared, with their memory measured, ready to be timed."""

    def __init__(self, measurement: MeasurementRun, candidates: Sequence[Candidate]) -> None:
        self.measurement = measurement
        self.candidates = candidates
        self.sections: dict[Key, Section] = {}
        self.timings: dict[Key, Timing] = {}
        for device in measurement.devices:
            for number, candidate in enumerate(candidates):
                self.timings[number, device] = Timing(
                    candidate.what,
                    device,
                    candidate.rows,
                    step=candidate.step,
                    layers=candidate.layers,
                    planned_bytes=candidate.planned_bytes,
                )
        self._modules: dict[tuple[Callable[[], nn.Module], str], nn.Module] = {}
        self._bytes_of_row: dict[tuple[Callable[[], nn.Module], str], float] = {}

    def make(self, last_first: bool) -> bool:
        """Prepare all candidates; False if the measurement was cancelled."""
        last = len(self.candidates) - 1 if last_first else -1
        for number, device in sorted(self.timings, key=lambda key: key[0] != last):
            candidate = self.candidates[number]
            self.measurement.report_progress(0.0, f"preparing {candidate.what} on {NAMES[device]}")
            if self.measurement.settings.cancelled():
                return False
            if not self.measurement.may_prepare:
                break
            missing = self._too_large(candidate, device)
            if not missing:
                try:
                    missing = self._make(number, candidate, device)
                except StoppedError:
                    return False
                except (RuntimeError, MemoryError) as error:
                    if not out_of_memory(error):
                        raise
                    missing = "out of memory"
            self.timings[number, device] = replace(self.timings[number, device], missing=missing)
        return not self.measurement.settings.cancelled()

    def timings_of(self, repeated: Repeated[Key]) -> tuple[Timing, ...]:
        """The timings so far, device by device."""
        settings = self.measurement.settings
        found: list[Timing] = []
        for key, timing in self.timings.items():
            estimate = repeated.estimate(key) if key in repeated.laps else None
            missing = timing.missing or repeated.failed.get(key, "")
            timing = replace(timing, missing=missing)
            if estimate is not None:
                timing = self._with_certificate(timing, *key)
            found.append(with_estimate(timing, estimate, settings, repeated.cancelled))
        return tuple(found)

    def _with_certificate(self, timing: Timing, number: int, device: str) -> Timing:
        """Add how many rows of the last call a backend could not certify, or why it ran the layers instead."""
        candidate = self.candidates[number]
        module = self._modules[candidate.build, device]
        if not isinstance(module, FastCircuit):
            return timing
        with torch.no_grad():
            declined = module.why_not(candidate.arguments[0].to(device))
        known = None if declined else module.certificate
        return replace(timing, declined=declined, rows_recomputed=None if known is None else known.rows_recomputed)

    def _make(self, number: int, candidate: Candidate, device: str) -> str:
        """Prepare a candidate; returns why it cannot be timed, or an empty string."""
        if candidate.problem:
            return f"no time: {candidate.problem}"
        if candidate.only_on not in ("", device):
            return f"no time: it runs on {NAMES[candidate.only_on]} only"
        try:
            module = self._module(candidate, device)
        except LoweringError as error:
            return f"no time: {error}"
        made = program(module, candidate.arguments, self.measurement.settings.kind, device)
        reason = made.disagreement(candidate.wanted)
        if reason:
            return f"no time: {reason}"
        made.prepare()
        if candidate.own_bytes is not None:
            own = candidate.own_bytes(made.module)
            one_row = self._one_row(made, device) if candidate.any_rows else None
            self.timings[number, device] = replace(
                self.timings[number, device], planned_bytes=own, peak_bytes=own, one_row=one_row
            )
        elif (usage := self.measurement.usage(made.run, device)) is not None:
            self._bytes_of_row[candidate.build, device] = usage.peak_bytes / candidate.rows
            self.timings[number, device] = replace(
                self.timings[number, device],
                peak_bytes=usage.peak_bytes,
                operators=usage.operators,
                one_row=self._one_row(made, device) if candidate.any_rows else None,
            )
        self.sections[number, device] = _section(made, device, self.measurement.settings.num_threads)
        return ""

    def _one_row(self, made: Program, device: str) -> float:
        """The minimum of three runs with one row in milliseconds: the cost that does not depend on the batch."""
        section = _section(made.with_one_row(), device, self.measurement.settings.num_threads)
        return 1000 * min([section()[0] for _ in range(ONE_ROW_RUNS + 1)][1:])

    def _module(self, candidate: Candidate, device: str) -> nn.Module:
        key = candidate.build, device
        if key not in self._modules:
            module = candidate.build()
            self._modules[key] = module if candidate.there is None else candidate.there(module.to(device))
        return self._modules[key]

    def _too_large(self, candidate: Candidate, device: str) -> str:
        of_row = self._bytes_of_row.get((candidate.build, device))
        free = torch.cuda.mem_get_info()[0] if device == CUDA else free_bytes()
        if of_row is None or free is None or of_row * candidate.rows <= MEMORY_SHARE * free:
            return ""
        needed, there = of_row * candidate.rows / 2**30, free / 2**30
        return f"no time: it would need about {needed:.1f} GiB, and {there:.1f} GiB are free"


def _section(made: Program, device: str, num_threads: int) -> Section:
    watch = stopwatch(device, num_threads)

    def section() -> Sequence[float]:
        made.prepare()
        return watch(one_lap(made.run), 1)

    return section
