"""The questions of the story: which plates does a step fuse or fold? They are answered by clicking plates."""

from collections.abc import Sequence

from explorer.trace import Step
from explorer.views.grouping import boxes_of
from explorer.views.index import TraceIndex, cached
from explorer_widgets.schema import GuessView

MAX_PLATES = 40
"""Maximum number of plates that are asked about: more cannot be read on a slide."""


@cached
def guess_plates(index: TraceIndex, step: int) -> GuessView | None:
    """Return the question which plates of the state before a step its rewrites or folds merge.

    None if they are too many, or all of them: then there is nothing to guess.
    """
    entry = index.step(step)
    merged = _merged(entry)
    shown = [box for box in boxes_of(index, step - 1, "plates").boxes if box.after]
    wanted = [box for box in shown if not merged.isdisjoint(box.ids)]
    others = [box for box in shown if merged.isdisjoint(box.ids)]
    if not wanted or not others or len(shown) > MAX_PLATES:
        return None
    return {
        "question": _question(entry),
        "wanted": [box.id for box in wanted],
        "apart": {box.id: _reason(index, entry, box.ids) for box in others},
    }


def _merged(entry: Step) -> set[int]:
    """Return the layers that a step folds with others, or rewrites together with others."""
    if entry.folds:
        return {node for group in entry.folds if len(group.members) > 1 for node in group.members}
    rewrites = [rewrite for rewrite in entry.rewrites if not rewrite.parameter_path]
    several = [rewrite for rewrite in rewrites if len(rewrite.removed) > 1] or rewrites
    return {node for rewrite in several for node in rewrite.removed}


def _question(entry: Step) -> str:
    if entry.folds:
        return f"Level {entry.folds[0].level} is folded next; the inputs are level 0. Which plates become fewer calls?"
    return "Layers are fused next. Which plates take part?"


def _reason(index: TraceIndex, entry: Step, layers: Sequence[int]) -> str:
    """Return why the layers of a plate are not merged."""
    if entry.folds:
        level = int(index.state(entry.index - 1).level[layers[0]])
        is_near = level == entry.folds[0].level
        return f"it is the only one of its kind on level {level}" if is_near else f"it is on level {level}"
    own = set(layers)
    lost = [entry.matches[conflict.loser] for conflict in entry.lost if not conflict.parameter_path]
    loser = next((match for match in lost if not own.isdisjoint(match.nodes)), None)
    if loser is not None:
        return f"{loser.rule} matches there, but loses a conflict"
    alone = [
        rewrite for rewrite in entry.rewrites if not rewrite.parameter_path and not own.isdisjoint(rewrite.removed)
    ]
    if alone:
        return f"{alone[0].rule} replaces it alone; nothing is fused"
    near = [miss.refusal for miss in entry.refusals if not miss.parameter_path]
    near = [refusal for refusal in near if refusal.root in own or refusal.node in own]
    if not near:
        return "no pattern comes close there"
    closest = max(near, key=lambda refusal: refusal.progress)
    return f"{closest.pattern} comes closest, but {closest.describe('#')}"
