"""The recording of a trace for a page without Python, with values of inputs and parameters if few, and its size."""

from explorer.app.session.code import add_code
from explorer.app.session.parameters import add_parameters
from explorer.app.session.running import values_for_page
from explorer.trace import Trace
from explorer.views import TraceIndex, add_what_ifs, recording
from explorer_widgets.page import RECORDED_MODES
from explorer_widgets.schema import RecordingView

MAX_PLATE_NUMBERS, MAX_NUMBERS = 5_000, 40_000
"""Maximum number of values of parameters that a page holds for a plate, and in total."""
NOT_IN_PAGE = "The values are not in this page; the dashboard and a notebook show them."
OTHERS_NOT_IN_PAGE = "Only the first are in this page; the dashboard and a notebook show the others."

EMPTY_PAGE_BYTES = 240_000
"""Size of a page without steps: the code that draws."""
SECONDS_PER_MB, MEMORY_PER_BYTE = 1.5, 30
"""Measured with pages of 5 to 177 MB."""
LARGE_PAGE_BYTES = 20_000_000
"""From this size on, a page needs half a minute and half a gigabyte."""


def page_bytes(trace: Trace) -> int:
    """Estimate the size of the page of a trace from its numbers of nodes, within a factor of about two."""
    nodes = sum(step.snapshot.size[0] for step in trace.steps)
    return EMPTY_PAGE_BYTES + len(RECORDED_MODES) * nodes * trace.level.page_bytes_per_node


def note_on_size(trace: Trace) -> str:
    """Say how large the page of a trace will be, and what is smaller; empty if it is not large."""
    size = page_bytes(trace)
    if size < LARGE_PAGE_BYTES:
        return ""
    megabytes = size / 1e6
    return (
        f"the page will have about {_rough(megabytes)} MB, and needs about {_duration(megabytes * SECONDS_PER_MB)} "
        f"and {_rough(size * MEMORY_PER_BYTE / 1e9)} GB of memory: it holds {len(trace.steps):,} steps of up "
        f"to {max(step.snapshot.size[0] for step in trace.steps):,} nodes; `svg --step N` writes one step, `show` "
        "prints all, and `serve` draws those that are looked at"
    )


def _duration(seconds: float) -> str:
    """A time in seconds, or in minutes if it is long.

    >>> _duration(38.0), _duration(100.0)
    ('40 seconds', '2 minutes')
    """
    return f"{_rough(seconds)} seconds" if seconds < 90 else f"{_rough(seconds / 60)} minutes"


def _rough(number: float) -> str:
    """A number with one digit that counts.

    >>> _rough(0.26), _rough(34.8), _rough(162.0)
    ('0.3', '30', '200')
    """
    return f"{float(f'{number:.1g}'):,g}"


def page_recording(index: TraceIndex, title: str) -> RecordingView:
    """Record all steps of a trace, as they are before and after, and what changed."""
    recorded = recording(index, title, modes=RECORDED_MODES)
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
