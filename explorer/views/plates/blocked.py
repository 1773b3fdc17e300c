"""Which matches were blocked at a plate: attempts that failed for more than the type of a layer."""

from collections import Counter
from collections.abc import Mapping, Sequence

from explorer.trace import Refusal, RefusalKind
from explorer.views.index import TraceIndex, cached
from explorer.views.plates.cells import Plate

WHOLE = (RefusalKind.DECLINED, RefusalKind.REVERTED)
"""Kinds of refusals after the whole pattern has matched."""


@cached
def _blocked(index: TraceIndex, step: int) -> Mapping[int, Sequence[Refusal]]:
    """Return the attempts of a step that were blocked, by their root."""
    found: dict[int, list[Refusal]] = {}
    for miss in index.step(step).refusals:
        refusal = miss.refusal
        is_near = refusal.entry > 0 and refusal.kind is not RefusalKind.WRONG_TYPE
        if not miss.parameter_path and (is_near or refusal.kind in WHOLE):
            found.setdefault(refusal.root, []).append(refusal)
    return found


def blocking_layers(index: TraceIndex, step: int) -> set[int]:
    """Return the layers that blocked a match of a step."""
    return {refusal.node for refusals in _blocked(index, step).values() for refusal in refusals}


def blocked_text(index: TraceIndex, step: int, plate: Plate) -> str:
    """Return how many matches with their root at a plate were blocked, for the pattern with the most; empty if none.

    `16 of 20 matched`, or `4 of 20 blocked` if none matched; with `at least` if not all were kept; `blocked` on
    a plate of one cell.
    """
    refusals = _blocked(index, step)
    counts = Counter(refusal.pattern for layer in plate.ids for refusal in refusals.get(layer, ()))
    if plate.node is not None or not counts:
        return ""
    pattern, blocked = counts.most_common(1)[0]
    layers = set(plate.ids)
    matched = sum(match.rule == pattern and match.root in layers for match in index.step(step).matches)
    least = "at least " if index.step(step).refusals_over.get(pattern) else ""
    if matched:
        return f"{matched:,} of {least}{matched + blocked:,} matched"
    if len(layers) == 1:
        return "blocked"
    return f"{least}{blocked:,} of {len(layers):,} blocked"
