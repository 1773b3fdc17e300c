"""The recording of a trace for a page without Python, with values of inputs and parameters if they are few."""

from explorer.app.session.code import add_code
from explorer.app.session.parameters import add_parameters
from explorer.app.session.running import values_for_page
from explorer.views import TraceIndex, add_what_ifs, recording
from explorer_widgets.schema import RecordingView

MAX_PLATE_NUMBERS, MAX_NUMBERS = 5_000, 40_000
"""Maximum number of values of parameters that a page holds for a plate, and in total."""
NOT_IN_PAGE = "The values are not in this page; the dashboard and a notebook show them."
OTHERS_NOT_IN_PAGE = "Only the first are in this page; the dashboard and a notebook show the others."


def page_recording(index: TraceIndex, title: str) -> RecordingView:
    """Record all steps of a trace, as they are before and after, and what changed."""
    recorded = recording(index, title, modes=("diff", "before", "after"))
    recorded["values"] = values_for_page(index)
    left = MAX_NUMBERS
    for key, view in recorded["pictures"].items():
        add_what_ifs(index, view)
        step, mode = int(key.split("/")[0]), key.split("/")[1]
        for node in view["nodes"]:
            name, before = f"{step}/{node['id']}", mode == "before"
            if before and f"{name}/before" in recorded["details"]:
                name += "/before"
            found = add_code(index, step, node["ids"], recorded["details"][name], before=before)
            recorded["details"][name] = found
            if "closeup" not in found or found["closeup"]["parameters"]["sheets"]:
                continue
            filled = add_parameters(index, step, node["ids"], 0, found, before=before)
            shown = filled["closeup"]["parameters"] if "closeup" in filled else None
            if shown is None or not shown["sheets"]:
                continue
            count = sum(len(sheet["values"]) for sheet in (*shown["sheets"], *shown["overview"]))
            if count > min(left, MAX_PLATE_NUMBERS):
                found["closeup"]["parameters"]["missing"] = NOT_IN_PAGE
                continue
            left -= count
            shown["missing"] = OTHERS_NOT_IN_PAGE if shown["count"] > 1 and not shown["overview"] else ""
            recorded["details"][name] = filled
    return recorded
