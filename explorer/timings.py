"""Measured times as plain data: estimates, subjects and conditions. No torch.

A `Run` is one measurement. Views show it, and files of recorded runs contain it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import comb, exp, log
from statistics import median, quantiles
from typing import Any

from explorer.errors import ValueRangeError
from explorer.trace import Trace

CPU, CUDA = "cpu", "cuda"
DEVICES: tuple[str, ...] = (CPU, CUDA)
FORWARD, TRAINING = "forward", "training"
KINDS: tuple[str, ...] = (FORWARD, TRAINING)
STEPS, MODES, LAYERS, SWEEP, BACKENDS = "steps", "modes", "layers", "sweep", "backends"
SUBJECTS: tuple[str, ...] = (STEPS, MODES, LAYERS, SWEEP, BACKENDS)
LAYERS_AS_THEY_ARE = "layers"
"""The first row of a run of backends: the layers of the circuit in PyTorch, without `fast()`."""
COMPARED = "parameters compared"
"""A backend of kernels on parameters that may change: it compares them in each call with those that it has packed."""
WHOLE, SUM, LAYER, READ = "whole forward", "sum of layers", "layer", "read"
"""The parts of a run of layers: the forward pass by itself, its layers one by one, the copying of their inputs."""
CONFIDENCE = 0.95
PROGRESS_SECONDS = 0.2
"""The minimum time between two reports of progress, except the last."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The median of `count` times, in milliseconds.

    `low` to `high` covers the true median with probability `confidence`, whatever the distribution of the times; below
    six repeats that is less than 95 %. Half of the times lie between `lower_quartile` and `upper_quartile`.
    """

    median: float
    low: float
    high: float
    lower_quartile: float
    upper_quartile: float
    count: int
    confidence: float

    @property
    def half_width(self) -> float:
        """Half the width of the confidence interval, relative to the median."""
        return (self.high - self.low) / 2 / self.median if self.median > 0 else 0.0

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, relative to the median."""
        return (self.upper_quartile - self.lower_quartile) / 2 / self.median if self.median > 0 else 0.0

    @property
    def is_known(self) -> bool:
        """Whether there were enough repeats (six) for a 95 % interval."""
        return self.confidence >= CONFIDENCE

    def is_precise(self, precision: float) -> bool:
        """Whether the 95 % interval is known and within the relative `precision` of the median."""
        return self.is_known and self.half_width <= precision

    def overlaps(self, other: "Estimate") -> bool:
        """Whether the intervals overlap, so that a difference of the medians may be noise."""
        return self.low <= other.high and other.low <= self.high


def estimate(seconds: Sequence[float]) -> Estimate:
    """The estimate from repeated times in seconds. Raises: ValueRangeError if there are none.

    >>> estimate([0.002, 0.001, 0.003, 0.002, 0.004, 0.002, 0.003]).median
    2.0
    """
    if not seconds:
        raise ValueRangeError("expected at least one measured time, got none")
    ordered = sorted(second * 1000 for second in seconds)
    first, confidence = interval_rank(len(ordered))
    lower, _, upper = quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    return Estimate(median(ordered), ordered[first], ordered[-1 - first], lower, upper, len(ordered), confidence)


@cache
def interval_rank(count: int) -> tuple[int, float]:
    """The number of samples below (and above) the interval of the median of `count` samples, and its confidence.

    The narrowest interval between two samples of equal rank from both ends that covers the median with at least 95 %:
    each sample is below the median with probability 1/2, so ranks follow the binomial distribution. With fewer than
    six samples even the widest covers less.

    >>> interval_rank(6), interval_rank(20)
    ((0, 0.96875), (5, 0.9586105346679688))
    """
    tail, rank = 1, 0  # tail: number of the 2^count cases in which at most `rank` samples are below the median
    while 2 * (rank + 1) < count:
        wider = tail + comb(count, rank + 1)
        if 1 - 2 * wider / 2**count < CONFIDENCE:
            break
        tail, rank = wider, rank + 1
    return rank, max(0.0, 1 - 2 * tail / 2**count)


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of one subject on one device; if `estimate` is None, `missing` is the reason.

    `what` is a path of a step, a mode, a batch, a part of a run of layers. `reached`: the interval is as narrow as
    requested. `layers` counts the layers of the circuit, or the operators of a tensor graph; `operators` what one run
    executes; `planned_bytes` is the memory of all activations by the trace, `peak_bytes` the most that was alive at
    once, in addition to parameters and input; `one_row` is the time with one row instead of the batch, in milliseconds.
    `rows_recomputed` is the number of rows that a backend could not certify and evaluated in double precision, None
    where rows are not certified; `declined` is why a backend ran the layers of the circuit instead. `roof_ms` is the
    time that no program undercuts for this work on this machine.
    """

    what: str
    device: str
    batch_size: int
    estimate: Estimate | None = None
    missing: str = ""
    reached: bool = False
    step: int | None = None
    node: int | None = None
    layers: int | None = None
    operators: int | None = None
    planned_bytes: int | None = None
    peak_bytes: int | None = None
    one_row: float | None = None
    rows_recomputed: int | None = None
    declined: str = ""
    roof_ms: float | None = None

    @property
    def median(self) -> float | None:
        """The median in milliseconds; None if there is no time."""
        return None if self.estimate is None else self.estimate.median


@dataclass(frozen=True, slots=True)
class PartTime:
    """The time of a layer or kernel call, and the time that no program undercuts for its work, if that is known."""

    estimate: Estimate
    roof_ms: float | None = None

    @property
    def median(self) -> float:
        """The median in milliseconds."""
        return self.estimate.median


@dataclass(frozen=True, slots=True)
class Limits:
    """The best performance of a device, measured together with the times: a tiny operator, copying, matrix products."""

    operator_ms: float
    bytes_per_second: float
    flops_per_second: float


@dataclass(frozen=True, slots=True)
class Setup:
    """The conditions of a measurement; `devices` are names by kind, `date` is UTC in ISO form.

    `warning` is a reason to doubt the times, such as a busy machine; empty if there is none.
    """

    date: str
    num_threads: int
    clock: str
    malloc: str
    precision: float
    max_seconds: float
    seed: int
    devices: Mapping[str, str]
    versions: Mapping[str, str]
    system: str
    limits: Mapping[str, Limits] = field(default_factory=dict[str, Limits])
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one measurement.

    `subject` is one of SUBJECTS, `kind` one of KINDS; `circuit` and `options` describe the compilation; `missing`
    has the reason for each requested device without times. `cancelled`: it was stopped, and contains partial results.
    """

    subject: str
    kind: str
    circuit: str
    options: Mapping[str, Any]
    timings: tuple[Timing, ...]
    setup: Setup
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    cancelled: bool = False
    seconds: float = 0.0

    def on(self, device: str) -> tuple[Timing, ...]:
        """The timings on one device, in order."""
        return tuple(timing for timing in self.timings if timing.device == device)

    def of_step(self, step: int, device: str) -> Timing | None:
        """The timing of a step on a device."""
        return next((timing for timing in self.on(device) if timing.step == step), None)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices with times, in order."""
        return tuple(device for device in DEVICES if any(timing.estimate for timing in self.on(device)))


def state_step(trace: Trace, step: "int | str") -> int:
    """The step that made the state after `step`: the last one up to it that changed something. Equal states run alike.

    The state after the last operator on circuits is that with which the compilation starts. Raises: UnknownNameError.
    """
    index, start = trace.step(step).index, trace.start
    if index + 1 < start:
        return index
    return next((known.index for known in reversed(trace.steps[start : index + 1]) if known.changed), start)


def default_steps(trace: Trace) -> tuple[int, ...]:
    """The steps that are timed by default: first, each round or pass, each fold level, last; each state once."""
    compiled = trace.steps[trace.start :]
    last_of_part = {step.at.stages[: trace.level.stage_depth]: step.index for step in compiled}
    folds = [step.index for step in trace.steps if step.folds]
    wanted = (trace.start, *last_of_part.values(), *folds, trace.steps[-1].index)
    return tuple(sorted({state_step(trace, step) for step in wanted}))


def crossover(run: Run) -> float | None:
    """The batch size from which on CUDA is faster than the CPU (or the other way round), where the medians cross.

    Between two measured sizes both times are taken to follow powers of the size. None if they do not cross, or one
    device has no times. Of several crossings the last one.
    """
    found: float | None = None
    before: tuple[int, float] | None = None
    for size, cpu, cuda in both_devices(run):
        gap = log(cpu / cuda)
        if before is not None and gap * before[1] < 0:
            share = before[1] / (before[1] - gap)
            found = exp(log(before[0]) + share * (log(size) - log(before[0])))
        before = (size, gap) if gap else before
    return found


def both_devices(run: Run) -> list[tuple[int, float, float]]:
    """Batch size, CPU and CUDA median of every size that has both, in order of size."""
    cuda = {timing.batch_size: timing.median for timing in run.on(CUDA)}
    rows = [(timing.batch_size, timing.median, cuda.get(timing.batch_size)) for timing in run.on(CPU)]
    return sorted((size, one, other) for size, one, other in rows if one and other)
