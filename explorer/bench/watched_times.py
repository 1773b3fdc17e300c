"""The time of each call that another compiler has written, in its place in the whole program."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch

from explorer.adapters.snapshot import WatchedSnapshot
from explorer.bench.circuit_times import Reference
from explorer.bench.measurement_run import MeasurementRun, Timed, with_estimate
from explorer.bench.programs import Program, program
from explorer.bench.stopwatch import moments, one_lap, stopwatch
from explorer.timings import FORWARD, LAYER, SUM, WHOLE, Timing, estimate
from explorer.trace import Trace

Calls = dict[int | None, float]
"""The seconds of each call of a run; those of None are between calls."""


def time_watched(begun: MeasurementRun, trace: Trace, step: int) -> Timed:
    """Time the calls of the generated code after the last step, each with the outputs of the calls before it.

    The code has a mark before and behind each call; what is between calls, such as allocation and checks, belongs to
    none. A call that the code does not name has no time. The whole program runs interleaved, without marks.
    Raises: CircuitError for a step whose code is not known.
    """
    snapshot = trace.steps[step].snapshot
    assert isinstance(snapshot, WatchedSnapshot)
    candidate = Reference(begun, trace, None, 1).candidate(step)
    if not begun.keep_only(candidate.only_on):
        return (), False
    device, threads = candidate.only_on, begun.settings.num_threads
    made = program(candidate.build(), candidate.arguments, FORWARD, device)
    whole = Timing(WHOLE, device, candidate.rows, step=step)
    if reason := made.disagreement(candidate.wanted):
        return (replace(whole, missing=f"no time: {reason}"),), False
    run = partial(_run_calls, made, snapshot, device, threads)
    order = tuple(one for one in run() if one is not None)
    sections = {
        WHOLE: lambda: stopwatch(device, threads)(one_lap(made.run), 1),
        SUM: lambda: [found.get(one, 0.0) for found in (run(),) for one in order],
    }

    def with_time(timing: Timing, found: Sequence[float]) -> Timing:
        return with_estimate(timing, estimate(found) if found else None, begun.settings, repeated.cancelled)

    repeated = begun.repeat(sections, lambda repeated: ())
    found = [[laps[place] for laps in repeated.laps[SUM]] for place in range(len(order))]
    times: dict[int | None, list[float]] = dict(zip(order, found, strict=True))
    unnamed = "no time: the generated code does not name what it writes"
    calls = (replace(whole, what=LAYER, node=one, missing="" if one in order else unnamed) for one in snapshot.calls)
    return (
        with_time(whole, repeated.seconds(WHOLE)),
        with_time(replace(whole, what=SUM), repeated.seconds(SUM)),
        *(with_time(one, times.get(one.node, [])) for one in calls),
    ), repeated.cancelled


def _run_calls(made: Program, snapshot: WatchedSnapshot, device: str, num_threads: int) -> Calls:
    note, seconds = moments(device, num_threads)
    begins: list[int | None] = [None]

    def mark(number: int | None) -> None:
        note()
        begins.append(number)

    found: Calls = {}
    with snapshot.marked(mark), torch.autograd.set_multithreading_enabled(False):  # marks are those of one thread
        note()
        made.run()
        note()
    for number, lap in zip(begins, seconds(), strict=True):
        found[number] = found.get(number, 0.0) + lap
    return found
