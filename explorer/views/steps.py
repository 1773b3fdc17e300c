"""The steps of a trace, for the stepper and the tree of steps, and its film.

The film has a frame per step that changed something, with its calls and its sentence.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypedDict

from explorer.timings import Timing
from explorer.trace import Step, StepCheck, outcome_text
from explorer.views.clock import Sources, clock_view
from explorer.views.costs import Measurements
from explorer.views.hulls import is_trivial
from explorer.views.index import TraceIndex
from explorer.views.lanes import LANES, RECORDED, LayerTimes, in_order
from explorer.views.messages import rules_text, step_name, step_title, step_words
from explorer.views.plates.drawing import small_plates
from explorer.views.sentences import calls_of, sentence_of
from explorer.views.states import folds_of
from explorer.views.story import story
from explorer.views.timing_words import certified_text, speed_up
from explorer.views.words import bytes_text, time_text
from explorer_widgets.schema import FrameView, StepView

MAX_OPERATORS = 20_000
"""Maximum number of operators in the small drawings of a tensor graph: placing them takes about 50 µs each."""


class Counted(TypedDict, total=False):
    """The noun of a step's count, if not layers."""

    counted: str


def steps(
    index: TraceIndex,
    checks: Mapping[int, StepCheck] | None = None,
    times: Measurements | None = None,
    layer_times: LayerTimes | None = None,
    missing: Mapping[str, str] | None = None,
    sources: Sources | None = None,
) -> list[StepView]:
    """Return all steps, and with the first one the clock.

    `checks` maps steps to the results of `trace.check()`; `sources` are the runs that times are of, by lane; the others
    are passed to `film()`.
    """
    frames = {frame["step"]: frame for frame in film(index, times, layer_times, missing)}
    scenes = story(index, times, sources)
    found: list[StepView] = []
    layers = folds = 0
    level = index.trace.level
    counted: Counted = {} if index.noun == "layer" else {"counted": f"{index.noun}s".capitalize()}
    for before, step in zip((None, *index.trace.steps), index.trace.steps, strict=False):
        layers, folds = _counts(step, layers, folds)
        check = (checks or {}).get(step.index)
        found.append(
            {
                "index": step.index,
                "path": step.path,
                "name": step_name(index, step.index),
                "title": step_title(index, step.index),
                "label": ": ".join(filter(None, (_names(step)[-1], rules_text(index, step)))),
                "groups": _names(step)[:-1],
                "summary": outcome_text(step, before),
                "changed": step.changed or step.index == 0,
                "ok": None if check is None or check.has_no_value else check.ok,
                "error": step.error or "",
                "layers": step.snapshot.stats[level.count_stat] if level.uncalled else layers,
                **counted,
                "folds": folds,
                "matches": len(step.matches),
                "near_misses": len(step.refusals) + sum(step.refusals_over.values()),
                "near_stops": sum(not is_trivial(miss) for miss in step.refusals),
                "seconds": step.seconds,
            }
        )
        if check is not None:
            found[-1]["verdict"] = verdict_of(step, check)
        if step.index in frames:
            found[-1]["frame"] = frames[step.index]
        if step.index in scenes:
            found[-1]["scenes"] = scenes[step.index]
    if found:
        found[0]["clock"] = clock_view(index, times, sources, missing)
    return found


def verdict_of(step: Step, check: StepCheck) -> str:
    """Say in a few words what the check of a step found."""
    if check.has_no_value:
        return "" if check.unknown else "no value"
    if step.operator is not None:
        return "values as defined" if check.ok else "values not as defined"
    return "same values" if check.ok else "values differ"


def _names(step: Step) -> list[str]:
    """Return the names of a step's path in the tree: `Optimize`, `Round 1`, `fuse`."""
    *groups, label = step.at.labels
    return [*(name[:1].upper() + name[1:] for name in groups), label]


def _counts(step: Step, layers: int, folds: int) -> tuple[int, int]:
    """Return layers and folds after a step. Folding only stacks slices, so its graph is not needed."""
    if step.folds:
        return layers - sum(len(group.members) - 1 for group in step.folds), folds
    if step.index and not step.changed:
        return layers, folds
    nodes = step.snapshot.graph.nodes.values()
    return len(nodes), sum(map(folds_of, nodes))


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
        if lane.startswith(RECORDED):  # the clock names the machine
            continue
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
        "label": rules_text(index, step) or step_words(step),
        "calls": calls_of(index, step.index),
        "sentence": sentence_of(index, step.index),
    }
    if step.snapshot.memory is not None and not index.trace.level.is_memory_modelled:
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
