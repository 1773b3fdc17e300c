"""A whole trace for a page without Python: steps, pictures, and the details of every box."""

import base64
from collections.abc import Mapping, Sequence

from explorer.trace import StepCheck
from explorer.views.details import details
from explorer.views.index import TraceIndex
from explorer.views.picture import picture
from explorer.views.steps import steps
from widgets.schema import VERSION, ColourBy, DetailsView, GroupBy, Mode, PictureView, RecordingView


def recording(
    index: TraceIndex,
    title: str,
    *,
    modes: Sequence[Mode] = ("diff",),
    colour_by: ColourBy = "change",
    group_by: GroupBy = "fold",
    checks: Mapping[int, StepCheck] | None = None,
) -> RecordingView:
    """Every step in these modes; keys are `step/mode` and, for details, `step/box`."""
    pictures: dict[str, PictureView] = {}
    coordinates: dict[str, str] = {}
    found: dict[str, DetailsView] = {}
    for step in index.trace.steps:
        for mode in modes:
            made = picture(index, step.index, mode, colour_by, group_by)
            key = f"{step.index}/{mode}"
            pictures[key] = made.view
            coordinates[key] = base64.b64encode(made.coordinates.astype("<f4").tobytes()).decode()
            shown = [*made.view["nodes"], *(made.view["other"]["nodes"] if "other" in made.view else ())]
            for node in shown:
                name = f"{step.index}/{node['id']}"
                if name not in found:
                    found[name] = details(index, step.index, node["ids"])
    return {
        "version": VERSION,
        "title": title,
        "steps": steps(index, checks),
        "pictures": pictures,
        "coordinates": coordinates,
        "details": found,
    }
