"""The legend of plates: what cells, frames, lines and marks mean, as far as they occur."""

from collections.abc import Iterable, Sequence

from explorer_widgets.schema import EdgeView, LegendItem, LinkView, NodeView
from explorer_widgets.theme import KINDS

MARKS = {
    "matched": "part of a match",
    "new": "made by this step",
    "lost": "lost a conflict",
    "near-miss": "near miss",
}


def plates_legend(nodes: Sequence[NodeView], edges: Sequence[EdgeView], coloured: bool) -> list[LegendItem]:
    """Return the legend of a picture; `coloured` says whether cells have the colours of something but their kind."""
    plates = [node["plate"] for node in nodes if "plate" in node]
    kinds = {node["kind"] for node in nodes}
    marks = {mark for plate in plates for mark in plate.get("marks", {})}
    items = [] if coloured else _items("cell", ((name, kind.words) for name, kind in KINDS.items() if name in kinds))
    if any(plate["gap"] for plate in plates):
        items += _items("cell", [("apart", "apart: each is a call")])
    if any(not plate["gap"] for plate in plates):
        items += _items("cell", [("folded", "closed up: slices of one call")])
    if any(edge["read"] is None for edge in edges):
        items += _items("line", [("edge", "read by a separate call")])
    if any(edge["read"] and not edge["copied_bytes"] for edge in edges):
        items += _items("line", [("viewLine", "read as a view, nothing is copied")])
    if any(edge["copied_bytes"] for edge in edges):
        items += _items("line", [("copyLine", "read by copying")])
    return items + _items("mark", ((mark, text) for mark, text in MARKS.items() if mark in marks))


def link_legend(links: Sequence[LinkView]) -> list[LegendItem]:
    """Return the entry of the legend for missed folds, if there are any."""
    return _items("line", [("nearMiss", "nearly folded together")] if links else [])


def _items(channel: str, texts: Iterable[tuple[str, str]]) -> list[LegendItem]:
    return [{"channel": channel, "role": role, "sign": "", "text": text} for role, text in texts]  # pyright: ignore[reportReturnType]
