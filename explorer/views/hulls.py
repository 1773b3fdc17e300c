"""The outlines of matches: applied ones, winners and losers of conflicts, near misses, trial matches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from explorer.trace import MatchFound, MatchLost, MatchRefused, Refusal, RefusalKind
from explorer.views.boxes import Boxes, ShownMode
from explorer.views.grouping import boxes_of
from explorer.views.index import TraceIndex, owner
from explorer.views.request import PatternTrial
from explorer.views.words import ordinal, plural
from explorer_widgets.schema import GroupBy, HullKind, HullView

ORDER: tuple[HullKind, ...] = ("match", "winner", "lost", "near-miss")


@dataclass
class _Hull:
    kind: HullKind
    boxes: tuple[int, ...]
    rule: str
    reason: str
    nodes: set[int] = field(default_factory=set[int])
    count: int = 0
    varied: bool = False
    """True if one of them has a reason that differs from the given one."""
    at_least: bool = False
    """True if there may be more of them that were not kept."""
    attempts: list[MatchFound | MatchRefused] = field(default_factory=list[MatchFound | MatchRefused])


@dataclass(frozen=True, slots=True)
class Stop:
    """A hull, and the matches or near misses of the trace for which it stands."""

    view: HullView
    attempts: tuple[MatchFound | MatchRefused, ...]


class _Hulls:
    """Collects hulls: matches of one rule in the same boxes share one, and so do near misses of one kind."""

    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        self.found: dict[tuple[HullKind, str, tuple[int, ...], str], _Hull] = {}

    def add(
        self, kind: HullKind, rule: str, nodes: Sequence[int], places: Sequence[int], reason: str, sort: str = ""
    ) -> _Hull:
        """Add a match of these nodes in the boxes at these places; return its hull."""
        distinct = tuple(dict.fromkeys(places))
        hull = self.found.setdefault((kind, rule, distinct, sort), _Hull(kind, distinct, rule, reason))
        hull.nodes.update(nodes)
        hull.count += 1
        hull.varied |= hull.reason != reason
        return hull

    def add_miss(
        self, refusal: Refusal, nodes: Sequence[int], places: Sequence[int], noun: str, rule: str = ""
    ) -> _Hull:
        """Add a near miss; return its hull."""
        why = refusal.summary.replace("layer", noun)
        reason = f"stopped at its {ordinal(refusal.entry + 1)} {noun} because {why}: {refusal.reason}"
        sort = f"{refusal.entry} {refusal.kind.value} {refusal.what}"
        return self.add("near-miss", rule or refusal.pattern, nodes, places, reason, sort)

    def stops(self) -> list[Stop]:
        """Return the hulls in the order in which they are drawn."""
        ordered = sorted(self.found.values(), key=lambda hull: ORDER.index(hull.kind))
        return [Stop(_view(f"hull-{i}", hull, self.boxes), tuple(hull.attempts)) for i, hull in enumerate(ordered)]

    def views(self) -> list[HullView]:
        """Return the hulls as plain data."""
        return [stop.view for stop in self.stops()]


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
    hulls = _Hulls(boxes_of(index, step, group_by))
    _add_matches(index, step, mode, hulls)
    misses = index.step(step).refusals if refused else ()
    _add_misses(index, step, mode, hulls, [miss for miss in misses if miss.refusal.pattern == pattern])
    return hulls.views()


def stops_of(index: TraceIndex, step: int, pattern: str | None) -> tuple[list[Stop], list[Stop]]:
    """Return the hulls around plates before a step, and the hulls of near misses of other patterns.

    The near misses that came furthest are first; those that ended at the first type are not among them.
    """
    hulls = _hulls_of_matches(index, step)
    misses = index.step(step).refusals
    _add_misses(index, step, "before", hulls, [miss for miss in misses if miss.refusal.pattern == pattern])
    drawn = len(hulls.found)
    others = [miss for miss in misses if miss.refusal.pattern != pattern and not is_trivial(miss)]
    others.sort(key=lambda miss: miss.refusal.progress, reverse=True)
    _add_misses(index, step, "before", hulls, others)
    stops = hulls.stops()
    return stops[:drawn], stops[drawn:]


def stops_of_matches(index: TraceIndex, step: int) -> list[Stop]:
    """Return the hulls of matches around plates before a step: the first ones of `stops_of`, with the same ids."""
    return _hulls_of_matches(index, step).stops()


def _hulls_of_matches(index: TraceIndex, step: int) -> _Hulls:
    hulls = _Hulls(boxes_of(index, step, "plates"))
    _add_matches(index, step, "before", hulls)
    return hulls


def is_trivial(miss: MatchRefused) -> bool:
    """Whether an attempt ended at the first type that differs: most layers are of another type."""
    return miss.refusal.kind is RefusalKind.WRONG_TYPE and miss.refusal.entry <= 1


def trivial_misses(index: TraceIndex, step: int, pattern: str | None) -> int:
    """Return how many attempts ended at the first type; those of a chosen pattern are shown."""
    misses = index.step(step).refusals
    return sum(is_trivial(miss) and miss.refusal.pattern != pattern for miss in misses)


def _add_misses(index: TraceIndex, step: int, mode: ShownMode, hulls: _Hulls, misses: Sequence[MatchRefused]) -> None:
    inputs = index.step(max(step - 1, 0)).snapshot.graph.inputs
    alike: dict[tuple[object, ...], list[MatchRefused]] = {}
    for miss in misses:
        refusal = miss.refusal
        places = [_box_shown(hulls.boxes, node, mode) for node in _nodes_of_miss(inputs, miss)]
        key = (refusal.pattern, refusal.entry, refusal.kind, refusal.what, *places)
        alike.setdefault(key, []).append(miss)
    for same in alike.values():
        first = same[0].refusal
        nodes = _nodes_of_miss(inputs, same[0])
        hull = hulls.add_miss(first, nodes, [_box_shown(hulls.boxes, node, mode) for node in nodes], index.noun)
        hull.count, hull.attempts = len(same), [*same]
        hull.varied = any(miss.refusal.reason != first.reason for miss in same[1:])
        hull.at_least = bool(index.step(step).refusals_over.get(first.pattern))


def _trial_hulls(
    index: TraceIndex, step: int, group_by: GroupBy, mode: ShownMode, trial: PatternTrial
) -> list[HullView]:
    """Return the hulls of a trial; if a box also has other layers, with the number that match."""
    if mode == ("before" if trial.after else "after"):
        return []
    boxes = boxes_of(index, step, group_by)
    inputs = index.step(step if trial.after else max(step - 1, 0)).snapshot.graph.inputs
    hulls = _Hulls(boxes)

    def places(nodes: Sequence[int]) -> list[int]:
        return [int(boxes.after[node]) if trial.after else _box_shown(boxes, node, mode) for node in nodes]

    for nodes in trial.matches:
        hulls.add("match", trial.name, nodes, places(nodes), "")
    for refusal in trial.refusals:
        chain = _chain(inputs, refusal)
        hulls.add_miss(refusal, chain, places(chain), index.noun, trial.name)
    for hull in hulls.found.values():
        layers = sum(len(boxes.boxes[place].ids) for place in hull.boxes)
        if hull.kind == "match" and len(hull.nodes) < layers:
            hull.reason = f"{len(hull.nodes):,} of the {layers:,} layers in these boxes"
    return hulls.views()


def _add_matches(index: TraceIndex, step: int, mode: ShownMode, hulls: _Hulls) -> None:
    entry = index.step(step)
    losses: dict[int, MatchLost] = {conflict.loser: conflict for conflict in entry.lost}
    wins: dict[int, list[MatchLost]] = {}
    for conflict in entry.lost:
        wins.setdefault(conflict.winner, []).append(conflict)
    for match in entry.matches:
        nodes = index.nodes_of(match)
        places = [_box_shown(hulls.boxes, node, mode) for node in nodes]
        if match.number in losses:
            conflict = losses[match.number]
            winner = entry.matches[conflict.winner].rule
            hull = hulls.add(
                "lost", match.rule, nodes, places, f"lost to {winner} ({conflict.strategy}: {conflict.reason})"
            )
        elif match.number in wins:
            losers = list(dict.fromkeys(entry.matches[conflict.loser].rule for conflict in wins[match.number]))
            why = wins[match.number][0].strategy
            hull = hulls.add("winner", match.rule, nodes, places, f"won against {', '.join(losers)} ({why})")
        else:
            where = f"in {match.parameter_path}" if match.parameter_path else ""
            hull = hulls.add("match", match.rule, nodes, places, where)
        hull.attempts.append(match)


def near_miss_nodes(index: TraceIndex, step: int, miss: MatchRefused) -> tuple[int, ...]:
    """Return the nodes from the root of an attempt to the node where it stopped."""
    return _nodes_of_miss(index.step(max(step - 1, 0)).snapshot.graph.inputs, miss)


def _nodes_of_miss(inputs: Mapping[int, Sequence[int]], miss: MatchRefused) -> tuple[int, ...]:
    return (owner(miss.parameter_path),) if miss.parameter_path else _chain(inputs, miss.refusal)


def _chain(inputs: Mapping[int, Sequence[int]], refusal: Refusal) -> tuple[int, ...]:
    chain = [refusal.root]
    while chain[-1] != refusal.node and len(chain) <= refusal.entry and inputs[chain[-1]]:
        chain.append(inputs[chain[-1]][0])
    return tuple(chain) if chain[-1] == refusal.node else (refusal.root, refusal.node)


def _box_shown(boxes: Boxes, node: int, mode: ShownMode) -> int:
    place = int(boxes.before[node])
    merged = boxes.boxes[place].merged
    return merged if mode == "diff" and merged is not None else place


def _view(name: str, hull: _Hull, boxes: Boxes) -> HullView:
    what = "near miss" if hull.kind == "near-miss" else "match"
    least = "at least " if hull.at_least else ""
    counted = f": {least}{plural(hull.count, what, what + 'es')}" if hull.count > 1 or hull.kind == "near-miss" else ""
    if hull.count > 1 and hull.varied:
        reason = f"for example: {hull.reason}"
    else:
        reason = hull.reason
    return {
        "id": name,
        "kind": hull.kind,
        "nodes": [boxes.boxes[place].id for place in hull.boxes],
        "rule": hull.rule,
        "label": hull.rule + counted,
        "reason": reason,
        "count": hull.count,
    }
