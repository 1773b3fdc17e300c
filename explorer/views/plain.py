"""The plain state after a step, for a question about the next step: it must not reveal the answer."""

from explorer.views.roles import OUTPUT
from explorer.views.tables import table_of
from explorer_widgets.schema import EdgeView, LegendItem, NodeView, PictureView

TELLING_CHANNELS = ("border", "hull", "mark")
"""Channels of the legend that show what a step did."""
TELLING_ROLES = ("matched", "info", "warning", "nearMiss")
"""Signs of matches, conflicts, near misses and missed folds."""


def plain_view(after: PictureView) -> PictureView:
    """Return the picture of mode `after` without any sign of what the step did or what happens next."""
    nodes: list[NodeView] = [
        {**node, "matched": False, "badges": [one for one in node["badges"] if one["sign"] == OUTPUT]}
        for node in after["nodes"]
    ]
    edges: list[EdgeView] = [{**edge, "change": "kept"} for edge in after["edges"]]
    legend = [item for item in after["legend"] if _is_kept(item)]
    return {
        **after,
        "mode": "plain",
        "title": f"After step {after['step']}",
        "caption": "",
        "message": "",
        "actions": [],
        "nodes": nodes,
        "edges": edges,
        "hulls": [],
        "links": [],
        "legend": legend,
        "table": table_of(nodes, edges, []),
    }


def _is_kept(item: LegendItem) -> bool:
    return item["sign"] == OUTPUT or (item["channel"] not in TELLING_CHANNELS and item["role"] not in TELLING_ROLES)
