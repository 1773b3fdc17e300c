"""A whole trace for a page without Python: steps, pictures, and the details of every box."""

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from explorer.trace import Step
from explorer.views.details import details
from explorer.views.index import TraceIndex
from explorer.views.lanes import LayerTimes
from explorer.views.layer_timings import heat_at, roofs_at
from explorer.views.messages import caption_of, message_of, step_title
from explorer.views.picture import picture
from explorer.views.steps import steps
from explorer_widgets.schema import (
    VERSION,
    ByteScaleView,
    ColourBy,
    GroupBy,
    Mode,
    PictureView,
    RecordingView,
    StepView,
)

NO_SCALE: ByteScaleView = {"height": 0, "ticks": []}
"""In place of the scale of a state, which each picture has."""
PictureKey = tuple[int, Mode, ColourBy, GroupBy]
"""Identifies a picture: step, mode, colouring, grouping."""


def recording(
    index: TraceIndex,
    title: str,
    *,
    modes: Sequence[Mode] = ("diff",),
    colour_by: ColourBy = "change",
    group_by: GroupBy | None = None,
    known: Sequence[StepView] | None = None,
    drawn: Sequence[int] | None = None,
    near_misses: str | None = None,
    layer_times: LayerTimes | None = None,
    full_ms: float | None = None,
) -> RecordingView:
    """Record every step in these modes; without `group_by`, in the grouping of the level.

    `known` are the steps with their times, as `steps` returns them; `drawn` are the steps that have pictures, if not
    all have; the rest is passed to `add_looks`.
    """
    group_by = group_by or index.trace.level.grouping
    result = empty_recording(index, title, known)
    numbers = range(len(index.trace.steps)) if drawn is None else drawn
    looks: list[PictureKey] = [(step, mode, colour_by, group_by) for step in numbers for mode in modes]
    add_looks(result, index, looks, near_misses=near_misses, layer_times=layer_times, full_ms=full_ms)
    return result


def empty_recording(index: TraceIndex, title: str, known: Sequence[StepView] | None = None) -> RecordingView:
    """Return a recording with the steps of a trace and no pictures; `known` are the steps with checks and times."""
    return {
        "version": VERSION,
        "title": title,
        "steps": steps(index) if known is None else list(known),
        "pictures": {},
        "coordinates": {},
        "details": {},
    }


def add_looks(
    recorded: RecordingView,
    index: TraceIndex,
    looks: Iterable[PictureKey],
    *,
    near_misses: str | None = None,
    layer_times: LayerTimes | None = None,
    full_ms: float | None = None,
) -> None:
    """Add pictures to a recording, under the keys `step/mode/colour_by/group_by`; existing ones are skipped.

    `near_misses` names the pattern with drawn near misses; `layer_times` are the times of layers, and `full_ms` the
    milliseconds of a whole bar.
    """
    for look in looks:
        key = "/".join(map(str, look))
        if key not in recorded["pictures"]:
            _add(recorded, index, key, look, near_misses, layer_times or {}, full_ms)


def _add(
    recorded: RecordingView,
    index: TraceIndex,
    key: str,
    look: PictureKey,
    near_misses: str | None,
    layer_times: LayerTimes,
    full_ms: float | None,
) -> None:
    step, mode, colour_by, group_by = look
    source = "/".join(map(str, (step - 1, mode, colour_by, group_by)))
    if source in recorded["pictures"] and not layer_times and near_misses is None and _repeats(index, step, mode):
        _repeat(recorded, index, look, source)
        return
    times, roofs = heat_at(index, step, layer_times), roofs_at(index, step, layer_times)
    more: dict[str, Any] = {"near_misses": near_misses, "times": times, "layer_times": layer_times, "full_ms": full_ms}
    drawn = picture(index, step, mode, colour_by, group_by, **more)
    _store_buffers(recorded, drawn.view)
    recorded["pictures"][key] = drawn.view
    recorded["coordinates"][key] = base64.b64encode(drawn.coordinates.astype("<f4").tobytes()).decode()
    shown = [*drawn.view["nodes"], *(drawn.view["other"]["nodes"] if "other" in drawn.view else ())]
    for node in shown:
        name = f"{step}/{node['id']}"
        if name not in recorded["details"]:
            recorded["details"][name] = details(index, step, node["ids"], times=times, roofs=roofs)
        if mode == "before":
            before = details(index, step, node["ids"], times=times, roofs=roofs, before=True)
            if before != recorded["details"][name]:
                recorded["details"][f"{name}/before"] = before


def _repeats(index: TraceIndex, step: int, mode: Mode) -> bool:
    """Whether a picture is that of the step before, but for words about the step: none that they show did anything."""
    first = step - (2 if mode == "before" else 1)
    return mode != "side" and first >= 0 and all(map(_is_idle, index.trace.steps[first : step + 1]))


def _is_idle(step: Step) -> bool:
    told = (step.matches, step.refusals, step.lost, step.folds, step.limits, step.error, step.reads, step.notes)
    return not (step.changed or step.operator or any(told))


def _repeat(recorded: RecordingView, index: TraceIndex, look: PictureKey, source: str) -> None:
    """Add the picture and the details of the step before, as those of a step that repeats it."""
    step, mode, key = look[0], look[1], "/".join(map(str, look))
    view = recorded["pictures"][source].copy()
    view["step"], view["title"] = step, step_title(index, step)
    view["caption"], view["message"] = caption_of(index, step), message_of(index, step)
    recorded["pictures"][key], recorded["coordinates"][key] = view, recorded["coordinates"][source]
    details, ends = recorded["details"], ("", "/before") if mode == "before" else ("",)
    for name in (f"{node['id']}{end}" for node in view["nodes"] for end in ends):
        if (found := details.get(f"{step - 1}/{name}")) is not None and f"{step}/{name}" not in details:
            details[f"{step}/{name}"] = found.copy()
            details[f"{step}/{name}"]["id"] = f"{step}/{found['id'].partition('/')[2]}"


def _store_buffers(recorded: RecordingView, view: PictureView) -> None:
    """Move the buffers of a picture into the recording, which stores each state once."""
    for part in (view, *([view["other"]] if "other" in view else [])):
        if "buffers" not in part:
            continue
        shown = part.pop("buffers")
        scale, state = shown["scale"], shown.copy()
        state["scale"] = NO_SCALE
        known = recorded.setdefault("buffers", [])
        if state not in known:
            known.append(state)
        part["recorded_buffers"] = {"state": known.index(state), "scale": scale}
