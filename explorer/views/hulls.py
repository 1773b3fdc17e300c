"""The outlines of matches: applied ones, winners and losers of conflicts, near misses of a chosen pattern.

Or those of a trial pattern.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from explorer.trace import MatchLost, MatchRefused, Refusal
from explorer.views.grouping import Boxes, ShownMode, boxes_of
from explorer.views.index import TraceIndex, owner
from explorer.views.trials import PatternTrial
from explorer.views.words import ordinal, plural
from widgets.schema import GroupBy, HullKind, HullView


@dataclass
class _Hull:
    kind: HullKind
    boxes: tuple[int, ...]
    rule: str
    count: int
    reason: str
    others: int = 0
    """How many of them have a reason that differs from the given one."""


def hulls_of(
    index: TraceIndex,
    step: int,
    group_by: GroupBy,
    mode: ShownMode,
    pattern: str | None = None,
    trial: PatternTrial | None = None,
) -> list[HullView]:
    """Return the hulls of a picture; matches of one rule in the same boxes share one. There are none after the step.

    With a trial, return its hulls instead. Raises: UnknownNameError for an unknown pattern.
    """
    if trial is not None:
        return _trial_hulls(index, step, group_by, mode, trial)
    refused = () if pattern is None else index.trace.near_misses(pattern, step)[0].refusals
    if mode == "after":
        return []
    boxes = boxes_of(index, step, group_by)
    found: dict[tuple[str, str, tuple[int, ...], str], _Hull] = {}

    def add(kind: HullKind, rule: str, nodes: Sequence[int], reason: str, sort: str = "") -> None:
        places = tuple(dict.fromkeys(_shown(boxes, node, mode) for node in nodes))
        hull = found.setdefault((kind, rule, places, sort), _Hull(kind, places, rule, 0, reason))
        hull.count += 1
        hull.others += hull.reason != reason

    _add_matches(index, step, add)
    if refused:
        for miss in index.step(step).refusals:
            if miss.refusal.pattern == pattern:
                sort = f"{miss.refusal.entry} {miss.refusal.kind.value} {miss.refusal.what}"
                add(
                    "near-miss",
                    miss.refusal.pattern,
                    near_miss_nodes(index, step, miss),
                    _miss_text(miss.refusal, index.noun),
                    sort,
                )
    ordered = sorted(found.values(), key=lambda hull: ORDER.index(hull.kind))
    return [_view(f"hull-{i}", hull, boxes) for i, hull in enumerate(ordered)]


def _trial_hulls(
    index: TraceIndex, step: int, group_by: GroupBy, mode: ShownMode, trial: PatternTrial
) -> list[HullView]:
    """Return the hulls of a trial; if a box also has other layers, with the number that match."""
    if mode == ("before" if trial.after else "after"):
        return []
    boxes = boxes_of(index, step, group_by)
    inputs = index.step(step if trial.after else max(step - 1, 0)).snapshot.graph.inputs
    found: dict[tuple[tuple[int, ...], str], _Hull] = {}
    nodes_of: dict[tuple[tuple[int, ...], str], set[int]] = {}

    def add(kind: HullKind, nodes: Sequence[int], reason: str, sort: str) -> None:
        all_places = [int(boxes.after[node]) if trial.after else _shown(boxes, node, mode) for node in nodes]
        places = tuple(dict.fromkeys(all_places))
        hull = found.setdefault((places, sort), _Hull(kind, places, trial.name, 0, reason))
        hull.count += 1
        hull.others += hull.reason != reason
        nodes_of.setdefault((places, sort), set()).update(nodes)

    for nodes in trial.matches:
        add("match", nodes, "", "")
    for refusal in trial.refusals:
        chain = _chain(inputs, refusal)
        add("near-miss", chain, _miss_text(refusal, index.noun), f"{refusal.entry} {refusal.kind.value} {refusal.what}")
    for (places, sort), hull in found.items():
        layers = sum(len(boxes.boxes[place].ids) for place in places)
        count = len(nodes_of[(places, sort)])
        if hull.kind == "match" and count < layers:
            hull.reason = f"{count:,} of the {layers:,} layers in these boxes"
    ordered = sorted(found.values(), key=lambda hull: ORDER.index(hull.kind))
    return [_view(f"hull-{i}", hull, boxes) for i, hull in enumerate(ordered)]


class _Add(Protocol):
    """Return a function that adds a match to the hulls."""

    def __call__(self, kind: HullKind, rule: str, nodes: Sequence[int], reason: str, sort: str = "") -> None: ...


ORDER: tuple[HullKind, ...] = ("match", "winner", "lost", "near-miss")


def _add_matches(index: TraceIndex, step: int, add: _Add) -> None:
    entry = index.step(step)
    losses: dict[int, MatchLost] = {conflict.loser: conflict for conflict in entry.lost}
    wins: dict[int, list[MatchLost]] = {}
    for conflict in entry.lost:
        wins.setdefault(conflict.winner, []).append(conflict)
    for match in entry.matches:
        nodes = index.nodes_of(match)
        if match.number in losses:
            conflict = losses[match.number]
            winner = entry.matches[conflict.winner].rule
            add("lost", match.rule, nodes, f"lost to {winner} ({conflict.strategy}: {conflict.reason})")
        elif match.number in wins:
            losers = list(dict.fromkeys(entry.matches[conflict.loser].rule for conflict in wins[match.number]))
            why = wins[match.number][0].strategy
            add("winner", match.rule, nodes, f"won against {', '.join(losers)} ({why})")
        else:
            add("match", match.rule, nodes, f"in {match.parameter_path}" if match.parameter_path else "")


def near_miss_nodes(index: TraceIndex, step: int, miss: MatchRefused) -> tuple[int, ...]:
    """Return the nodes from the root of an attempt to the node where it stopped."""
    if miss.parameter_path:
        return (owner(miss.parameter_path),)
    return _chain(index.step(max(step - 1, 0)).snapshot.graph.inputs, miss.refusal)


def _chain(inputs: Mapping[int, Sequence[int]], refusal: Refusal) -> tuple[int, ...]:
    chain = [refusal.root]
    while chain[-1] != refusal.node and len(chain) <= refusal.entry and inputs[chain[-1]]:
        chain.append(inputs[chain[-1]][0])
    return tuple(chain) if chain[-1] == refusal.node else (refusal.root, refusal.node)


def _miss_text(refusal: Refusal, noun: str) -> str:
    why = refusal.summary.replace("layer", noun)
    return f"stopped at its {ordinal(refusal.entry + 1)} {noun} because {why}: {refusal.reason}"


def _shown(boxes: Boxes, node: int, mode: ShownMode) -> int:
    place = int(boxes.before[node])
    merged = boxes.boxes[place].merged
    return merged if mode == "diff" and merged is not None else place


def _view(name: str, hull: _Hull, boxes: Boxes) -> HullView:
    what = "near miss" if hull.kind == "near-miss" else "match"
    counted = f": {plural(hull.count, what, what + 'es')}" if hull.count > 1 or hull.kind == "near-miss" else ""
    if hull.count > 1 and hull.others:
        reason = f"for example: {hull.reason}"
    else:
        reason = hull.reason
    return {
        "id": name,
        "kind": hull.kind,
        "nodes": [boxes.boxes[place].id for place in hull.boxes],
        "label": hull.rule + counted,
        "reason": reason,
    }
