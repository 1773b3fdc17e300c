"""What if it were not so? The answers beside the near misses of the rule lens.

They are added to a picture, because a trace that was loaded from a file has no layers to search. A page without Python
has all answers; a live host offers them and answers on request, because each may search all layers again.
"""

from explorer.trace import MatchRefused
from explorer.views.hulls import stops_of
from explorer.views.index import TraceIndex
from explorer_widgets.schema import LensView, PictureView, WhatIfView

WHAT_IF = "what-if:"
"""Begins the request of an answer; the id of the hull follows."""
MAX_MARKED = 500
"""Maximum number of matches of an answer that are marked."""


def add_what_ifs(index: TraceIndex, view: PictureView, near_misses: str | None = None, only: str | None = None) -> None:
    """Add to the near misses of a picture what their rules would match if they were not refused.

    `near_misses` is the pattern whose near misses are drawn, `only` the id of a single hull. Pictures without a rule
    lens do not change.
    """
    lenses = _lenses(view)
    wanted = lenses if only is None else {name: lens for name, lens in lenses.items() if name == only}
    if not wanted:
        return
    for stop in (stop for stops in stops_of(index, view["step"], near_misses) for stop in stops):
        first, lens = stop.attempts[0], wanted.get(stop.view["id"])
        if isinstance(first, MatchRefused) and lens is not None:
            lens["what_if"] = _what_if(index, view["step"], first)


def offer_what_ifs(view: PictureView) -> None:
    """Let a reader ask what the rules of the near misses of a picture would match."""
    for lens in _lenses(view).values():
        lens["what_if"] = {"text": "", "matches": []}


def _lenses(view: PictureView) -> dict[str, LensView]:
    """The lenses of the near misses, by the id of the hull."""
    hulls = (*view["hulls"], *view.get("misses", ()))
    return {hull["id"]: hull["lens"] for hull in hulls if hull["kind"] == "near-miss" and "lens" in hull}


def _what_if(index: TraceIndex, step: int, miss: MatchRefused) -> WhatIfView:
    answer = index.trace.what_if(miss, step)
    marked = answer.matches[:MAX_MARKED]
    cut = f" The first {MAX_MARKED} are marked." if len(answer.matches) > MAX_MARKED else ""
    return {"text": answer.reason + cut, "matches": [[*nodes] for nodes in marked]}
