"""Results of running a trace: checks, and times that were measured here or recorded on another machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from explorer.timings import BACKENDS, LAYERS, STEPS, PartTime, Run, Timing
from explorer.trace import StepCheck
from explorer.views import (
    RECORDED,
    LayerTimes,
    Measurements,
    TraceIndex,
    check_fits,
    lane_of,
    measurements,
    part_times,
    with_lanes,
    with_more_lanes,
)

Outer = TypeVar("Outer", int, str)
Inner = TypeVar("Inner", int, str)


@dataclass(frozen=True)
class Findings:
    """Results of running a trace: checked outputs, times after steps, times of layers, by lane.

    `missing` says why a device of this machine has no times; `sources` has the run that the times of a lane are of.
    """

    checks: Mapping[int, StepCheck] = field(default_factory=dict[int, StepCheck])
    times: Measurements = field(default_factory=dict[int, Mapping[str, Timing]])
    layer_times: LayerTimes = field(default_factory=dict[str, Mapping[int, Mapping[int, PartTime]]])
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    sources: Mapping[str, Run] = field(default_factory=dict[str, Run])


def with_runs(index: TraceIndex, known: Findings, runs: Sequence[Run], *, recorded: bool) -> Findings:
    """Return findings with runs of this machine, or of the one that they were recorded on.

    Times of steps or layers replace those of the same machine. Times of the two machines are kept only if both ran the
    same: otherwise those of this machine. Raises: CircuitError for a run of another trace.
    """
    found = known
    layers: dict[int, dict[str, Mapping[int, PartTime]]] = {}
    for run in sorted(runs, key=lambda run: run.subject == BACKENDS):
        check_fits(index, run)
        if run.subject not in (STEPS, BACKENDS, LAYERS):
            continue
        if not _is_like(run, found.sources, recorded=not recorded):
            if recorded:
                continue
            found = _of_machine(found, recorded=False)
        if run.subject == LAYERS:
            if run.devices:
                step = next((timing.step for timing in run.timings if timing.step is not None), 0)
                layers[step] = {device: part_times(run, device) for device in run.devices}
            continue
        found = _with_steps(index, found, run, recorded=recorded)
    if not layers:
        return found
    by_lane = transpose(with_lanes(transpose(found.layer_times), layers, recorded=recorded))
    return replace(found, layer_times=by_lane)


def _with_steps(index: TraceIndex, known: Findings, run: Run, *, recorded: bool) -> Findings:
    """Return findings with the times of steps, which replace all of this machine, or of backends, which add to them.

    A run of backends times the layers too: only where the run of steps, whose times are compared, has not.
    """
    measured = measurements(index, run)
    lanes = {lane_of(lane, recorded=recorded): run for one in measured.values() for lane in one}
    if run.subject == STEPS:
        kept = {lane: one for lane, one in known.sources.items() if lane.startswith(RECORDED) != recorded}
        times = with_lanes(known.times, measured, recorded=recorded)
        return replace(
            known, times=times, sources={**kept, **lanes}, missing=known.missing if recorded else run.missing
        )
    if not _is_like(run, known.sources, recorded=recorded):
        known = _of_machine(known, recorded=not recorded)
    of_steps = {lane for lane, one in known.sources.items() if one.subject == STEPS}
    times = {step: dict(one) for step, one in known.times.items()}
    for step, one in with_more_lanes({}, measured, recorded=recorded).items():
        here = times.setdefault(step, {})
        here |= {lane: timing for lane, timing in one.items() if lane not in here or lane not in of_steps}
    return replace(known, times=times, sources={**lanes, **known.sources})


def _is_like(run: Run, sources: Mapping[str, Run], *, recorded: bool) -> bool:
    """Whether a run is of the same kind and batch as what is known of a machine, or nothing is known of it."""
    known = [one for lane, one in sources.items() if lane.startswith(RECORDED) == recorded]
    return all((run.kind, _batches(run)) == (one.kind, _batches(one)) for one in known)


def _batches(run: Run) -> frozenset[int]:
    return frozenset(timing.batch_size for timing in run.timings)


def _of_machine(known: Findings, *, recorded: bool) -> Findings:
    """Return findings with the times of one machine only."""

    def kept(lanes: Mapping[str, Any]) -> dict[str, Any]:
        return {lane: one for lane, one in lanes.items() if lane.startswith(RECORDED) == recorded}

    times = {step: kept(lanes) for step, lanes in known.times.items()}
    return replace(known, times=times, layer_times=kept(known.layer_times), sources=kept(known.sources))


def transpose(layers: Mapping[Outer, Mapping[Inner, Any]]) -> dict[Inner, dict[Outer, Any]]:
    """Return times of layers by lane and step as those by step and lane, and the other way round."""
    found: dict[Inner, dict[Outer, Any]] = {}
    for outer, times in layers.items():
        for inner, one in times.items():
            found.setdefault(inner, {})[outer] = one
    return found
