"""Views of the measured times of single layers: a heat map, the slowest ones, and their sum."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import TypeVar

from explorer.errors import CircuitError
from explorer.timings import CPU, LAYER, READ, SUM, WHOLE, PartTime, Run, Timing
from explorer.trace.ladder import level_of
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes, main_lane
from explorer.views.layer_spans import layer_words
from explorer.views.plates.cells import plates_of
from explorer.views.timing_words import UNMEASURED, device_text, roof_share_text, share_text, timed_noun
from explorer.views.timings import check_fits
from explorer.views.words import number_text, plural, time_text
from explorer_widgets.schema import TableView

Time = TypeVar("Time")
"""Milliseconds, or a time with its interval."""


def layer_heat(run: Run, device: str = CPU) -> dict[int, float]:
    """Return milliseconds by layer id, for `picture(times=...)` and `details(times=...)`."""
    return {node: found.median for node, found in part_times(run, device).items()}


def part_times(run: Run, device: str) -> dict[int, PartTime]:
    """Return the time of each layer or kernel call of a run by its id."""
    timings = [timing for timing in run.on(device) if timing.what == LAYER]
    return {t.node: PartTime(t.estimate, t.roof_ms) for t in timings if t.node is not None and t.estimate is not None}


def layer_times_at(index: TraceIndex, step: int, measured: Mapping[int, Mapping[int, Time]]) -> dict[int, Time]:
    """Return the time of each layer at a step, from layers measured at some steps, nearest first.

    A layer keeps its time at every step at which it has the same inputs and settings.
    """
    state, inputs = index.state(step), index.step(step).snapshot.graph.inputs
    found: dict[int, Time] = {}
    for known in sorted(measured, key=lambda other: (abs(other - step), other)):
        there, inputs_there = index.state(known), index.step(known).snapshot.graph.inputs
        for node, time in measured[known].items():
            is_here = node not in found and node in inputs and inputs.get(node) == inputs_there.get(node)
            if is_here and index.same(int(state.node[node]), int(there.node[node])):
                found[node] = time
    return found


def heat_at(index: TraceIndex, step: int, measured: LayerTimes) -> dict[int, float] | None:
    """Return milliseconds by layer id at a step, of one lane; None if no layer was measured."""
    lane = main_lane(measured)
    if lane is None:
        return None
    return {node: found.median for node, found in layer_times_at(index, step, measured[lane]).items()}


def roofs_at(index: TraceIndex, step: int, measured: LayerTimes) -> dict[int, float]:
    """Return the least possible milliseconds by id at a step, of one lane, of the kernel calls where it is known."""
    lane = main_lane(measured)
    found = {} if lane is None else layer_times_at(index, step, measured[lane])
    return {node: time.roof_ms for node, time in found.items() if time.roof_ms is not None}


def layer_table(index: TraceIndex, run: Run, device: str = CPU, limit: int = 10) -> TableView:
    """Return the slowest layers, the rest together, the sum, and the whole forward pass for comparison.

    Kernel calls are listed by the plates that they are in, with the share of the roof that these reach.
    Raises: CircuitError for a run of another trace.
    """
    check_fits(index, run)
    if not index.trace.level.has_circuit:
        return _call_table(index, run, device)
    heat, noun = layer_heat(run, device), timed_noun(level_of(run.options))
    reads = {t.node: t.estimate.median for t in run.on(device) if t.what == READ and t.estimate is not None}
    whole, total = (_part(run, device, what) for what in (WHOLE, SUM))
    longest = sorted(heat, key=lambda node: (-heat[node], node))
    rows = [_layer_row(index, run, node, heat, reads) for node in longest[:limit]]
    rest = longest[limit:]
    all_of_it = sum(heat.values())
    if rest:
        text = f"{plural(len(rest), f'other {noun}')}"
        rows.append(_sum_row(text, sum(heat[node] for node in rest), all_of_it, [reads.get(n, 0.0) for n in rest]))
    why = run.missing.get(device, "not measured")
    for name, part in ((f"sum of {noun}s", total), ("whole forward pass", whole)):
        if part is None or part.estimate is None:
            rows.append([name, (part.missing if part else "") or why, "", ""])
            continue
        row = _sum_row(name, part.estimate.median, part.estimate.median, list(reads.values()))
        rows.append(row if part is total else [row[0], row[1], "", ""])
    return {"columns": [noun, "time", "share", "copying its inputs"], "rows": rows}


def _call_table(index: TraceIndex, run: Run, device: str) -> TableView:
    """Return the plates of kernel calls, the slowest first, their sum, and the whole forward pass."""
    step = next(timing.step for timing in run.timings if timing.step is not None)
    timings = {timing.node: timing for timing in run.on(device) if timing.what == LAYER and timing.median is not None}
    whole, total = (_part(run, device, what) for what in (WHOLE, SUM))
    all_of_it = fsum(timing.median or 0.0 for timing in timings.values())
    found: list[tuple[float, list[str]]] = []
    for plate in plates_of(index, step).plates:
        own = [timings[node] for node in plate.ids if node in timings]
        if not own:
            continue
        time, roof = fsum(timing.median or 0.0 for timing in own), fsum(timing.roof_ms or 0.0 for timing in own)
        reached = roof_share_text(roof, time) if roof else UNMEASURED
        label = f"{plate.record.title} of {layer_words(index, plate.record)}"
        flops = number_text(plate.record.config["flops"] * len(own))
        found.append((time, [label, f"{len(own):,}", flops, time_text(time), share_text(time, all_of_it), reached]))
    rows = [row for _, row in sorted(found, key=lambda one: -one[0])]
    for name, part in (("sum of kernel calls", total), ("whole forward pass", whole)):
        median = None if part is None else part.median
        rows.append([name, "", "", UNMEASURED if median is None else time_text(median), "", ""])
    return {"columns": ["kernel calls", "calls", "FLOP", "time", "share", "share of the roof"], "rows": rows}


def layers_note(run: Run, device: str = CPU) -> str:
    """Compare the sum of the layers with the whole forward pass, on one device."""
    whole, total = (_part(run, device, what) for what in (WHOLE, SUM))
    noun = f"{timed_noun(level_of(run.options))}s"
    if whole is None or total is None or whole.estimate is None or total.estimate is None:
        return f"The {noun} were not timed on {device_text(device)}: {run.missing.get(device, 'not measured')}."
    together = f"The {noun} one by one take {time_text(total.estimate.median)} on {device_text(device)}"
    return f"{together}, the whole forward pass {time_text(whole.estimate.median)}."


def layers_notes(run: Run) -> list[str]:
    """Return `layers_note` for each device with times; for the CPU if there is none."""
    return [layers_note(run, device) for device in run.devices or (CPU,)]


def _layer_row(
    index: TraceIndex, run: Run, node: int, heat: Mapping[int, float], reads: Mapping[int | None, float]
) -> list[str]:
    step = next(timing.step for timing in run.timings if timing.step is not None)
    state = index.state(step)
    number = int(state.node[node]) if node < index.size else -1
    if number < 0:
        raise CircuitError(f"the recorded run names layer {node}, which is not in step {step} of this trace")
    record = index.record(number)
    folds = f" ×{record.num_folds}" if record.num_folds > 1 else ""
    return _sum_row(f"{node}: {record.title}{folds}", heat[node], sum(heat.values()), [reads.get(node, 0.0)])


def _sum_row(name: str, milliseconds: float, whole: float, reads: Sequence[float]) -> list[str]:
    copied = sum(reads)
    return [
        name,
        time_text(milliseconds),
        f"{share_text(milliseconds, whole)}",
        time_text(copied) if copied else "nothing",
    ]


def _part(run: Run, device: str, what: str) -> Timing | None:
    return next((timing for timing in run.on(device) if timing.what == what), None)
