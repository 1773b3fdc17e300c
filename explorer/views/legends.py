"""The legend of a picture: the borders, hulls, badges, shapes and arrows that occur."""

from collections.abc import Sequence

from explorer.views.roles import BADGE_TEXTS, CHANGE_TEXTS, HULL_TEXTS, MISSED_FOLD, OUTPUT
from explorer.views.words import bytes_text
from explorer_widgets.schema import EdgeView, HullView, LegendItem, NodeView
from explorer_widgets.theme import CHANGES, HULLS, KINDS, MATCHED


def legend_of(
    nodes: Sequence[NodeView], edges: Sequence[EdgeView], hulls: Sequence[HullView], tried: bool, noun: str
) -> list[LegendItem]:
    """Return an entry for everything that occurs; `tried` says whether the matches are those of a trial pattern."""
    changes = {node["change"] for node in nodes} | {edge["change"] for edge in edges}
    kinds = {node["kind"] for node in nodes}
    hull_kinds = {hull["kind"] for hull in hulls}
    signs = {badge["sign"] for node in nodes for badge in node["badges"]}
    items: list[LegendItem] = []

    def add(channel: str, role: str, sign: str, text: str) -> None:
        items.append({"channel": channel, "role": role, "sign": sign, "text": text})  # pyright: ignore[reportArgumentType]

    for change, text in CHANGE_TEXTS.items():
        if change in changes:
            add("border", change, CHANGES[change].sign, text)
    if any(node["matched"] for node in nodes):
        add("fill", "matched", MATCHED, "part of a match")
    for kind, text in HULL_TEXTS.items():
        if kind in hull_kinds:
            words = "match of the pattern that is tried" if tried and kind == "match" else text
            add("hull", kind, HULLS[kind].sign, words)
    hull_signs = {HULLS[kind].sign for kind in hull_kinds}
    for sign, text in BADGE_TEXTS.items():
        if sign in signs - hull_signs:
            add("badge", "info" if sign in (MISSED_FOLD, OUTPUT) else "warning", sign, text)
    for name, kind in KINDS.items():
        if name in kinds:
            add("shape", name, kind.sign, kind.words)
    if any(node["folds"] > 1 for node in nodes):
        add("badge", "stack", "xF", "F layers folded into one")
    if any(node["count"] > 1 for node in nodes):
        add("badge", "count", "N×", f"N {noun}s in one box")
    copied = sum(edge["copied_bytes"] for edge in edges)
    if copied:
        add("edge", "copy", "n B", f"bytes copied per example, {bytes_text(copied)} in all")
    return items
