"""The signs at boxes: outputs, lost conflicts, near misses and missed folds."""

from collections.abc import Sequence

from explorer.views.box import Box
from explorer.views.index import TraceIndex
from explorer.views.roles import LOST, MISSED_FOLD, NEAR_MISS, OUTPUT
from explorer.views.words import plural
from explorer_widgets.schema import BadgeView, HullView

Texts = dict[str, list[str]]
"""Lines of text by box."""


def badges_of(
    index: TraceIndex, step: int, boxes: Sequence[Box], hulls: Sequence[HullView]
) -> dict[str, list[BadgeView]]:
    """Return the badges of each box that has any."""
    found: dict[str, list[BadgeView]] = {}
    for sign, tone, texts in (
        (LOST, "warning", _texts_of_hulls(hulls, "lost")),
        (NEAR_MISS, "warning", _texts_of_hulls(hulls, "near-miss")),
        (OUTPUT, "info", _outputs(index, step, boxes)),
        (MISSED_FOLD, "info", _missed_folds(index, step, boxes)),
    ):
        for name, lines in texts.items():
            found.setdefault(name, []).append({"sign": sign, "text": "; ".join(lines), "tone": tone})  # pyright: ignore[reportArgumentType]
    return found


def _texts_of_hulls(hulls: Sequence[HullView], kind: str) -> Texts:
    texts: Texts = {}
    for hull in hulls:
        if hull["kind"] == kind and hull["nodes"]:
            texts.setdefault(hull["nodes"][0], []).append(f"{hull['label']}, {hull['reason']}")
    return texts


def _outputs(index: TraceIndex, step: int, boxes: Sequence[Box]) -> Texts:
    """Return the outputs of a circuit that has several; otherwise the output is the topmost box."""
    if not index.trace.level.has_circuit:
        return {}
    states = (index.before(step), index.state(step))
    outputs = {output for state in states if len(state.outputs) > 1 for output in state.outputs}
    counts = {box: len(outputs.intersection(box.ids)) for box in boxes}
    return {
        box.id: ["an output of the circuit" if len(box.ids) == 1 else f"{plural(count, 'output')} of the circuit"]
        for box, count in counts.items()
        if count
    }


def _missed_folds(index: TraceIndex, step: int, boxes: Sequence[Box]) -> Texts:
    """Return for each folded layer why it was not folded together with similar ones."""
    folded = [box for box in boxes if len(box.ids) == 1 and box.after and index.folded_at[box.ids[0]] <= step]
    single = {box.ids[0]: box.id for box in folded}
    texts: Texts = {}
    for miss in index.missed_folds if single else ():
        for node in miss.nodes:
            if node in single:
                other = miss.nodes[1 - miss.nodes.index(node)]
                texts.setdefault(single[node], []).append(f"Not folded together with node {other}: {miss.reason}")
    return texts
