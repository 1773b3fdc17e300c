"""Bottlenecks of a circuit: launch-bound, gather-bound, memory-bound, with numbers and advice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from explorer.timings import DEVICES, FORWARD, LAYERS, READ, SWEEP, Limits, Run, Timing, state_step
from explorer.views.boxes import number_bytes
from explorer.views.index import TraceIndex
from explorer.views.timing_words import device_text
from explorer.views.timings import check_fits
from explorer.views.words import bytes_text, time_text

GATHER_ADVICE = (
    "See which reads gather in the fold view: other levels (levels=...) or another order of the regions may make views "
    "of them."
)
LAUNCH_SHARE = 0.5
"""Launch-bound: one row takes at least this share of the time of the whole batch ..."""
LAUNCH_FACTOR = 25
"""... and the average operator takes at most this many times as long as the smallest one on the device."""
FLAT_FACTOR, FLAT_ROWS = 1.5, 4
"""Small batches are launch-bound up to the size at which 4 times the rows or more take at most 1.5 times as long."""
GATHER_SHARE = 0.25
"""Gather-bound: copying inputs takes at least this share of the forward pass."""
MEMORY_SHARE = 0.4
"""Memory-bound: moving the bytes takes at least this share, and longer than the arithmetic would ..."""
MEMORY_ROWS = 64
"""... for batches of at least this many rows: below, parameters and launches dominate."""
CACHED_SHARE = 1.2
"""An estimate above this share of the time is refuted: the bytes stayed in the caches."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """One finding: its kind, the device, the numbers, and advice."""

    kind: str
    device: str
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.kind} on {device_text(self.device)}: {self.text} {self.advice}"


def bottlenecks(index: TraceIndex, runs: Sequence[Run], step: "int | str" = -1) -> tuple[Bottleneck, ...]:
    """Find the bottlenecks of the circuit after a step; empty if there are none.

    Times of equal states are shared. Raises: CircuitError for a run of another trace.
    """
    for run in runs:
        check_fits(index, run)
    return tuple(
        bottleneck for device in DEVICES for bottleneck in _of_device(index, runs, index.step(step).index, device)
    )


def _of_device(index: TraceIndex, runs: Sequence[Run], step: int, device: str) -> Iterator[Bottleneck]:
    state = state_step(index.trace, step)
    found: list[Bottleneck] = []
    known = any(run.subject == LAYERS and _of_state(index, run, state, device) for run in runs)
    for run in runs:
        here = _of_state(index, run, state, device)
        wholes = [t for t in here if t.node is None and t.estimate is not None and t.operators is not None]
        if not wholes or device not in run.setup.limits:
            continue
        limits = run.setup.limits[device]
        largest = max(wholes, key=lambda timing: timing.batch_size)
        fold = _advice_to_fold(index, state)
        found += _launch(largest, limits, fold) or _launch_in_sweep(wholes if run.subject == SWEEP else (), fold)
        if run.kind == FORWARD:
            if run.subject == LAYERS:
                found += _gather(largest, [t for t in here if t.what == READ])
            elif not known:
                found += _gather_by_bytes(index, state, largest, limits)
            found += _memory(index, state, largest, limits)
    seen: set[str] = set()
    for bottleneck in found:
        if bottleneck.kind not in seen:
            seen.add(bottleneck.kind)
            yield bottleneck


def _advice_to_fold(index: TraceIndex, step: int) -> str:
    """Return the advice to fold, unless the circuit is folded already."""
    return (
        ""
        if not index.trace.level.has_folds or any(one.folds for one in index.trace.steps[: step + 1])
        else "fold, or "
    )


def _launch(timing: Timing, limits: Limits, fold: str) -> list[Bottleneck]:
    if timing.estimate is None or not timing.operators or timing.one_row is None or timing.batch_size == 1:
        return []
    time = timing.estimate.median
    share, each = timing.one_row / time, time / timing.operators
    if share < LAUNCH_SHARE or each > LAUNCH_FACTOR * limits.operator_ms:
        return []
    text = (
        f"one row takes {time_text(timing.one_row)}, {timing.batch_size:,} rows {time_text(time)}; the "
        f"{timing.operators:,} operators take {time_text(each)} each, and the smallest operator on this device "
        f"takes {time_text(limits.operator_ms)}."
    )
    longer = f"only {1 / share:.2g} times as long" if 1 / share >= 1.05 else "only as long"
    advice = f"{fold}use larger batches: {timing.batch_size:,} rows take {longer} as one."
    return [Bottleneck("launch-bound", timing.device, text, advice[0].upper() + advice[1:])]


def _launch_in_sweep(timings: Sequence[Timing], fold: str) -> list[Bottleneck]:
    """Find the batch size up to which more rows cost almost nothing."""
    ordered = sorted(timings, key=lambda timing: timing.batch_size)
    times = [(timing.batch_size, timing.estimate.median) for timing in ordered if timing.estimate is not None]
    flat = list(takewhile(lambda pair: pair[1] <= FLAT_FACTOR * times[0][1], times))
    if not flat or flat[-1][0] < FLAT_ROWS * times[0][0]:
        return []
    rows, time = flat[-1]
    few = "one takes" if times[0][0] == 1 else f"{times[0][0]:,} take"
    text = f"{rows:,} rows take {time_text(time)}, and {few} {time_text(times[0][1])}."
    advice = f"Below batches of {rows:,} rows the number of operators dominates the cost: {fold}use larger batches."
    return [Bottleneck("launch-bound in small batches", ordered[0].device, text, advice)]


def _gather(timing: Timing, reads: Sequence[Timing]) -> list[Bottleneck]:
    """Judge by the measured times of the copying reads."""
    known = [(read.estimate.median, read.node) for read in reads if read.estimate is not None]
    if timing.estimate is None or not known:
        return []
    time, copying = timing.estimate.median, sum(milliseconds for milliseconds, _ in known)
    if copying < GATHER_SHARE * time:
        return []
    longest, node = max(known, key=lambda pair: pair[0])
    text = (
        f"copying inputs takes {time_text(copying)} of {time_text(time)} "
        f"({copying / time:.0%}); the slowest copy, {time_text(longest)}, is that of layer {node}."
    )
    return [Bottleneck("gather-bound", timing.device, text, GATHER_ADVICE)]


def _gather_by_bytes(index: TraceIndex, step: int, timing: Timing, limits: Limits) -> list[Bottleneck]:
    """Judge by the bytes that reads copy, if layers were not timed."""
    if timing.estimate is None:
        return []
    time, copied = timing.estimate.median, index.trace.stats(step).get("copied_bytes", 0) * timing.batch_size
    copying = 2 * copied / limits.bytes_per_second * 1000
    if not GATHER_SHARE * time <= copying <= CACHED_SHARE * time:
        return []
    text = (
        f"reads copy {bytes_text(copied)}, which takes about {time_text(copying)} of {time_text(time)} "
        f"({copying / time:.0%}) at {bytes_text(limits.bytes_per_second)} per second; time the layers to "
        f"be sure."
    )
    return [Bottleneck("gather-bound", timing.device, text, GATHER_ADVICE)]


def _memory(index: TraceIndex, step: int, timing: Timing, limits: Limits) -> list[Bottleneck]:
    if timing.estimate is None or timing.batch_size < MEMORY_ROWS or not index.trace.level.has_batches:
        return []
    time, stats = timing.estimate.median, index.trace.stats(step)
    moved = 2 * (stats["activation_bytes"] + stats["copied_bytes"]) * timing.batch_size
    moved += stats["parameters"] * number_bytes(index)
    done = (stats["flops"] + stats["transcendentals"]) * timing.batch_size
    moving, doing = moved / limits.bytes_per_second * 1000, done / limits.flops_per_second * 1000
    if not MEMORY_SHARE * time <= moving <= CACHED_SHARE * time or moving < doing:
        return []
    balance = limits.flops_per_second / limits.bytes_per_second
    text = (
        f"{done / moved:.2g} operations per byte, while this device can do {balance:.2g} per byte moved; moving "
        f"{bytes_text(moved)}, as estimated, takes about {time_text(moving)} of {time_text(time)} "
        f"({moving / time:.0%}) at {bytes_text(limits.bytes_per_second)} per second."
    )
    advice = "Fuse layers, so that less is written and read again, or try smaller batches, which may fit into caches."
    return [Bottleneck("memory-bound", timing.device, text, advice)]


def _of_state(index: TraceIndex, run: Run, state: int, device: str) -> list[Timing]:
    """Return the timings of a state on a device."""
    return [t for t in run.on(device) if t.step is not None and state_step(index.trace, t.step) == state]
