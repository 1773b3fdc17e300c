"""What if it were not so? The answers beside the near misses of the rule lens.

They are added to a picture, because a trace that was loaded from a file has no layers to search.
"""

from explorer.trace import MatchRefused
from explorer.views.hulls import stops_of
from explorer.views.index import TraceIndex
from widgets.schema import PictureView, WhatIfView

MAX_MARKED = 500
"""Maximum number of matches of an answer that are marked."""


def add_what_ifs(index: TraceIndex, view: PictureView, near_misses: str | None = None) -> None:
    """Add to the near misses of a picture what their rules would match if they were not refused.

    `near_misses` is the pattern whose near misses are drawn. Pictures without a rule lens do not change.
    """
    hulls = {hull["id"]: hull for hull in (*view["hulls"], *view.get("misses", ()))}
    if not any(hull["kind"] == "near-miss" and "lens" in hull for hull in hulls.values()):
        return
    for stop in (stop for stops in stops_of(index, view["step"], near_misses) for stop in stops):
        first, hull = stop.attempts[0], hulls.get(stop.view["id"])
        if isinstance(first, MatchRefused) and hull is not None and "lens" in hull:
            hull["lens"]["what_if"] = _what_if(index, view["step"], first)


def _what_if(index: TraceIndex, step: int, miss: MatchRefused) -> WhatIfView:
    answer = index.trace.what_if(miss, step)
    marked = answer.matches[:MAX_MARKED]
    cut = f" The first {MAX_MARKED} are marked." if len(answer.matches) > MAX_MARKED else ""
    return {"text": answer.reason + cut, "matches": [[*nodes] for nodes in marked]}
