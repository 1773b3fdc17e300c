"""The film of a compilation: one frame per step that changed something, with its calls and its sentence."""

from collections.abc import Mapping

from explorer.timings import CPU, Timing
from explorer.trace import Step
from explorer.views.costs import Measurements
from explorer.views.index import TraceIndex
from explorer.views.plates.drawing import small_plates
from explorer.views.sentences import calls_of, sentence_of
from widgets.schema import FrameView

LayerTimes = Mapping[int, Mapping[int, float]]
"""Milliseconds of layers, by step and layer."""
MAX_DRAWN = 10_000
"""Larger circuits have no small drawings, which would take seconds."""


def film(
    index: TraceIndex, times: Measurements | None = None, layer_times: LayerTimes | None = None
) -> list[FrameView]:
    """Return a frame for the first step, and one for each that changed something or failed, in order.

    `times` are the measured times after steps, `layer_times` the milliseconds of their layers.
    """
    return [
        _frame(index, step, (times or {}).get(step.index, {}), (layer_times or {}).get(step.index, {}))
        for step in index.trace.steps
        if _is_shown(step)
    ]


def _frame(index: TraceIndex, step: Step, times: Mapping[str, Timing], layers: Mapping[int, float]) -> FrameView:
    frame: FrameView = {
        "step": step.index,
        "label": step.at.words,
        "calls": calls_of(index, step.index),
        "sentence": sentence_of(index, step.index),
    }
    if index.trace.level.has_circuit and index.size <= MAX_DRAWN:
        on_cpu = set(times) <= {CPU}  # otherwise the layers were measured on the other device
        frame["plates"] = small_plates(index, step.index, layers if on_cpu else {})
    medians = {device: one.estimate.median for device, one in times.items() if one.estimate is not None}
    if medians:
        frame["times"] = medians
    return frame


def _is_shown(step: Step) -> bool:
    """Return whether a step has a frame; a fold level on which no two layers are equal changed nothing to see."""
    if step.index == 0 or step.error is not None:
        return True
    return any(len(group.members) > 1 for group in step.folds) if step.folds else step.changed
