"""The film of a compilation: one frame per step that changed something, with its calls and its sentence."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from explorer.timings import Timing
from explorer.trace import Step
from explorer.views.costs import Measurements
from explorer.views.index import TraceIndex
from explorer.views.lanes import LANES, LayerTimes, in_order
from explorer.views.messages import rules_text
from explorer.views.plates.drawing import small_plates
from explorer.views.sentences import calls_of, sentence_of
from explorer.views.timing_words import certified_text, speed_up
from explorer.views.words import bytes_text, time_text
from explorer_widgets.schema import FrameView

MAX_OPERATORS = 20_000
"""Maximum number of operators in the small drawings of a tensor graph: placing them takes about 50 µs each."""


def film(
    index: TraceIndex,
    times: Measurements | None = None,
    layer_times: LayerTimes | None = None,
    missing: Mapping[str, str] | None = None,
) -> list[FrameView]:
    """Return a frame for the first step, and one for each that changed something or failed, in order.

    `times` are the measured times after steps, `layer_times` the times of layers; `missing` says why a device has none.
    """
    steps = [step for step in index.trace.steps if step.matters]
    undrawn = _undrawn_text(index, steps)
    frames = [
        _frame(index, step, (times or {}).get(step.index, {}), layer_times or {}, missing or {}, undrawn)
        for step in steps
    ]
    for before, after in pairwise(frames):
        known = [(times or {}).get(frame["step"], {}) for frame in (before, after)]
        after["sentence"] += _gain_text(*known)
    return frames


def _undrawn_text(index: TraceIndex, steps: Sequence[Step]) -> str:
    """Return why the steps have no small drawings; empty if they have."""
    total = 0 if index.trace.level.has_circuit else sum(len(step.snapshot.graph.nodes) for step in steps)
    if total <= MAX_OPERATORS:
        return ""
    return (
        f"No small drawings: {len(steps)} steps with {total:,} {index.trace.level.noun}s in all; at most "
        f"{MAX_OPERATORS:,} are drawn."
    )


def _gain_text(before: Mapping[str, Timing], after: Mapping[str, Timing]) -> str:
    """Say what a step bought in time, as in `CPU: 2.3 ms → 0.4 ms`, and whether that may be noise."""
    gains: list[str] = []
    for lane in in_order(after):
        old, new = before[lane].estimate if lane in before else None, after[lane].estimate
        if old is not None and new is not None:
            noise = " (no clear difference)" if speed_up(old, new).tone == "noise" else ""
            gains.append(f"{LANES[lane]}: {time_text(old.median)} → {time_text(new.median)}{noise}")
    return f" {', '.join(gains)}." if gains else ""


def _frame(
    index: TraceIndex,
    step: Step,
    times: Mapping[str, Timing],
    layers: LayerTimes,
    missing: Mapping[str, str],
    undrawn: str,
) -> FrameView:
    frame: FrameView = {
        "step": step.index,
        "label": rules_text(index, step) or step.at.words,
        "calls": calls_of(index, step.index),
        "sentence": sentence_of(index, step.index),
    }
    if step.snapshot.memory is not None:
        peak = step.snapshot.memory.size_bytes
        frame["memory"] = (bytes_text(peak), peak)
    if undrawn:
        frame["undrawn"] = undrawn
    else:
        frame["plates"] = small_plates(index, step.index, layers)
    medians = {lane: one.estimate.median for lane in in_order(times) if (one := times[lane]).estimate is not None}
    if medians:
        frame["times"] = medians
        without = {lane: one.missing for lane, one in times.items() if one.missing}
        frame["missing"] = {lane: why for lane, why in {**missing, **without}.items() if lane not in medians}
        certified = {lane: text for lane in medians if (text := certified_text(times[lane]))}
        if certified:
            frame["certified"] = certified
    return frame
