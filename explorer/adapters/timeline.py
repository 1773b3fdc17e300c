"""The recorder of a compiler that is watched: states, and the changes, candidates and refusals between two of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from explorer.adapters.snapshot import WatchedSnapshot
from explorer.graph import Graph
from explorer.levels import Change, Recording
from explorer.trace import (
    WATCHED,
    AttemptsRefused,
    Check,
    Listener,
    MatchFound,
    MatchLost,
    NodeRecord,
    Noted,
    Refusal,
    RefusalKind,
    Rewritten,
    Stage,
    StepEnded,
    StepPath,
    StepStarted,
    Trace,
)

K = TypeVar("K", int, str)


class Candidate(NamedTuple):
    """A pair that fits, with the parts of its score; `winner` is the position of the pair that was fused instead.

    `why` says in the compiler's words, or in ours where it has none, why it was not fused; empty if it was.
    """

    one: int
    other: int
    score: tuple[tuple[str, float], ...] = ()
    winner: int | None = None
    why: str = ""


class Merge(NamedTuple):
    """Nodes that became one, with the name that it has now; `candidate` is the position of their first pair."""

    candidate: int
    nodes: tuple[int, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Round:
    """The decisions about pairs in one round of a scheduler; candidates that were fused come first."""

    rule: str
    candidates: Sequence[Candidate] = ()
    merges: Sequence[Merge] = ()
    refused: Sequence[tuple[int, int, str]] = ()


NO_PAIRS = Round("")


class Timeline(Recording):
    """Records the states of a compilation that somebody else drives."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        super().__init__(WATCHED, listeners)
        self.numbers = count()
        self._present: WatchedSnapshot | None = None

    @property
    def has_state(self) -> bool:
        """Whether a state has been recorded."""
        return self._present is not None

    @property
    def snapshot(self) -> WatchedSnapshot:
        assert self._present is not None, "no state has been recorded"
        return self._present

    def captured(self, state: WatchedSnapshot) -> None:
        """Record the first state."""
        self._present = state
        self.first("capture")

    def state(
        self, path: Sequence[Stage | str], after: WatchedSnapshot, seconds: float, changes: Sequence[Change] = ()
    ) -> None:
        """Record a state, and the changes that led to it."""
        self._record(path, [change.rule for change in changes], after, seconds, changes)

    def unchanged(self, path: Sequence[Stage | str], seconds: float) -> None:
        """Record a pass that changed nothing."""
        self._record(path, [str(path[-1])], self.snapshot, seconds)

    def round(
        self,
        path: Sequence[Stage | str],
        one: Round,
        added: Mapping[str, int],
        after: WatchedSnapshot,
        seconds: float,
        changes: Sequence[Change] = (),
    ) -> None:
        """Record a round of a scheduler; `added` are the numbers of merged nodes by name, `changes` are no merges."""
        merged = [Rewritten(each.candidate, one.rule, each.nodes, (added[each.name],), 0.0) for each in one.merges]
        self._record(path, [one.rule], after, seconds, changes, one, merged)

    def note(self, text: str) -> None:
        """Record a sentence about the last step."""
        self._emit(Noted(text))

    def _record(
        self,
        path: Sequence[Stage | str],
        rules: Sequence[str],
        after: WatchedSnapshot,
        seconds: float,
        changes: Sequence[Change] = (),
        one: Round = NO_PAIRS,
        merged: Sequence[Rewritten] = (),
    ) -> None:
        """Record a step. A change that only adds nodes is about older nodes: a reader of them, one that they read."""
        self._emit(StepStarted(StepPath.of(*path), self.level, tuple(dict.fromkeys(rules))))
        for number, pair in enumerate(one.candidates):
            self._emit(MatchFound(number, one.rule, pair.one, (pair.one, pair.other), "", pair.score))
        old, new = self.snapshot.graph, after.graph
        numbered = list(enumerate(changes, len(one.candidates)))
        for number, change in numbered:
            beside = (user for node in change.added for user in (*new.users[node], *new.inputs[node]))
            nodes = change.matched or (next(filter(old.nodes.__contains__, beside), next(iter(old.nodes))),)
            self._emit(MatchFound(number, change.rule, nodes[0], nodes))
        told = [*one.refused, *((p.one, p.other, p.why) for p in one.candidates if p.why and p.winner is None)]
        if told:
            kind = RefusalKind.DECLINED
            self._emit(AttemptsRefused(tuple(Refusal(one.rule, a, 1, b, kind, found=why) for a, b, why in told)))
        for number, pair in enumerate(one.candidates):
            if pair.winner is not None:
                winner = one.candidates[pair.winner]
                shared = next((node for node in pair[:2] if node in winner[:2]), pair.one)
                self._emit(MatchLost(number, pair.winner, shared, "score", pair.why))
        for rewrite in merged:
            self._emit(rewrite)
        for number, change in numbered:
            replaced = (change.removed, change.added)
            self._emit(Rewritten(number, change.rule, *replaced, change.seconds, "", change.became))
        self._emit(StepEnded(bool(merged or changes), seconds, after))
        self._present = after


def first_refusal(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
    """The first refusal of a node in a step: the compiler that was watched is not asked again."""
    found = (miss.refusal for miss in trace.steps[step].refusals if miss.refusal.pattern == pattern)
    return (), next((one for one in found if node in (one.root, one.node)), None)


def changes_between(
    rule: str,
    before: Graph[NodeRecord],
    after: Graph[NodeRecord],
    seconds: float,
    values: Mapping[int, Sequence[str]] | None = None,
) -> list[Change]:
    """The changes between two states that share the numbers of what both have: connected parts that were replaced.

    A node that took over a reader, or the place of an output, belongs to the part of the node that had it before.
    `values` are the names of what nodes compute, where names last: a value that is computed in both states ends a part.
    """
    parts = Parts[int]()
    removed = [node for node in before.nodes if node not in after.nodes]
    added = [node for node in after.nodes if node not in before.nodes]
    names = values or {}
    old, new = ({name for node in nodes for name in names.get(node, ())} for nodes in (removed, added))
    both = old & new
    kept = {node: [name for name in names.get(node, ()) if name in both] for node in (*removed, *added)}
    for graph, nodes in ((before, removed), (after, added)):
        inside = {node for node in nodes if not kept[node]}
        for node in nodes:
            parts.join(node, *(read for read in graph.inputs[node] if read in inside))
    computed_by: dict[str, int] = {}
    for node, found in kept.items():
        parts.join(node, *(computed_by.setdefault(name, node) for name in found))
    rewired = [node for node in after.nodes if node in before.nodes and after.inputs[node] != before.inputs[node]]
    reads = [(before.inputs[node], after.inputs[node]) for node in rewired]
    for old, new in [*reads, (before.outputs, after.outputs)]:
        for one, other in zip(old, new, strict=False):
            if one != other and one not in after.nodes and other not in before.nodes:
                parts.join(one, other)
    changed = changes_of(rule, parts, before, after, seconds)
    if not changed and (rewired or list(before.nodes) != list(after.nodes) or before.outputs != after.outputs):
        about = tuple(rewired) or tuple(dict.fromkeys(after.outputs))
        return [Change(rule, about, (), (), seconds)]
    return changed


class Parts(Generic[K]):
    """Nodes that belong together, by number or by name."""

    def __init__(self) -> None:
        self._leader: dict[K, K] = {}

    def find(self, node: K) -> K:
        """The node that stands for all that belong together with this one."""
        self._leader.setdefault(node, node)
        while self._leader[node] != node:
            self._leader[node] = node = self._leader[self._leader[node]]
        return node

    def join(self, *nodes: K) -> None:
        """Note that nodes belong together."""
        first = self.find(nodes[0])
        for node in nodes[1:]:
            self._leader[self.find(node)] = first


def changes_of(
    rule: str, parts: Parts[int], before: Graph[NodeRecord], after: Graph[NodeRecord], seconds: float
) -> list[Change]:
    """A change for each part; its root is the last node that vanishes, or the first one that a new node reads."""
    gone, made = dict[int, list[int]](), dict[int, list[int]]()
    for graph, other, found in ((before, after, gone), (after, before, made)):
        for node in graph.nodes:
            if node not in other.nodes:
                found.setdefault(parts.find(node), []).append(node)
    leaders = dict.fromkeys((*gone, *made))
    changes: list[Change] = []
    for leader in leaders:
        removed, added = tuple(reversed(gone.get(leader, ()))), tuple(made.get(leader, ()))
        read = (one for node in added for one in after.inputs[node] if one in before.nodes)
        matched = removed or (next(read, next(iter(before.nodes))),)
        changes.append(Change(rule, matched, removed, added, seconds / len(leaders)))
    return changes
