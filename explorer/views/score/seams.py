"""The seams between calls: why two calls that share data are not one, or when they will be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from explorer.trace import FITS, NO_REASON, MatchFound, Step
from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import Call, calls_at, parts_at

SeamKind = Literal["refused", "silent", "put-off", "next", "later", "untried"]
Verdict = tuple[SeamKind, str, str]
"""The kind of a seam, its words, and the score of the pair."""
Pair = tuple[int, int]
STRENGTH: Sequence[SeamKind] = ("refused", "silent", "put-off")
"""If several parts of two calls were judged in one step, and are equally near, the first of these is shown."""
SEAM_WORDS: Mapping[SeamKind, str] = {
    "refused": "refused because",
    "silent": "refused, no reason given",
    "untried": "never tried",
    "next": "fused next",
    "later": "fused later",
    "put-off": "put off",
}
SEAM_SIGNS: Mapping[SeamKind, str] = {
    "refused": "×",
    "silent": "?",
    "untried": "•",
    "next": "»",
    "later": "»",
    "put-off": "~",
}
SEAM_ROLES: Mapping[SeamKind, str] = {
    "refused": "error",
    "silent": "nearMiss",
    "untried": "muted",
    "next": "good",
    "later": "good",
    "put-off": "nearMiss",
}

MEANINGS: Mapping[str, str] = {
    "no shared data": "no part of a value is used by both",
    "intermediate nodes between": "another call must run in between",
    "memory deps did not match": "one reads the value in another order than the other writes it",
    "node2 is extern": "the second is a library call",
    "node1 is extern": "the first is a library call",
}
"""Reasons of Inductor, by their first words, in words that need no knowledge of its code."""


@dataclass(frozen=True, slots=True)
class Seam:
    """The gap between two calls, by their positions in the row. `words` are the compiler's, or a fact of the trace."""

    one: int
    other: int
    kind: SeamKind
    words: str
    score: str = ""
    """The parts of the score of two calls that fit: what the compiler ordered its candidates by."""

    @property
    def is_near(self) -> bool:
        """Whether nothing runs between the two calls."""
        return self.other == self.one + 1

    @property
    def reason(self) -> str:
        """Why it stays, or when both are fused: `refused because: the loops differ`."""
        between = " in " if self.kind in ("next", "later") else ": "
        return f"{SEAM_WORDS[self.kind]}{between if self.words else ''}{self.words}{meaning_of(self.words)}"

    @property
    def text(self) -> str:
        """The reason, and the score of the pair, if it has one."""
        return f"{self.reason}; score: {self.score}" if self.score else self.reason


def meaning_of(words: str) -> str:
    """Explain the compiler's words in parentheses; empty if they are not known.

    >>> meaning_of("no shared data")
    ' (that is, no part of a value is used by both)'
    """
    found = next((meaning for begin, meaning in MEANINGS.items() if words.startswith(begin)), "")
    return f" (that is, {found})" if found else ""


@cached
def seams_at(index: TraceIndex, step: int) -> tuple[Seam, ...]:
    """Return the seams after a step: those of neighbours that share data, and those of other pairs that were judged.

    A pair is shown as it was judged last, up to this step; parts of a call were judged in its place before they were
    fused. Neighbours that become one in a later step are fused next.
    """
    calls, parts = calls_at(index, step), parts_at(index, step)
    place = {call.node: at for at, call in enumerate(calls)}
    judged = {
        (min(pair), max(pair)): verdict
        for nodes, verdict in _judged(index, step).items()
        for pair in [(place[nodes[0]], place[nodes[1]])]
    }
    near = [(at, at + 1) for at, (one, other) in enumerate(pairwise(calls)) if shares(one, other)]
    pairs = list(dict.fromkeys([*near, *_candidates(index, step, place)]))
    fates = _fused_later(index, step, [(calls[one].node, calls[other].node) for one, other in pairs])
    found: list[Seam] = []
    for (one, other), fate in zip(pairs, fates, strict=True):
        known = judged.get((one, other))
        verdict = known if fate is None or (known and _stays(known, *fate)) else fate[1]
        if verdict is None and other == one + 1 and _was_asked(index, step):
            library = next((call.library for call in (calls[one], calls[other]) if call.library), "")
            same = parts.get(calls[one].node) == parts.get(calls[other].node)
            words = f"{library} is a library call" if library else ""
            verdict = ("untried", words if same else "forward and backward are compiled apart", "")
        if verdict is not None:
            found.append(Seam(one, other, *verdict))
    known = {(seam.one, seam.other) for seam in found}
    return (*found, *(Seam(*pair, *verdict) for pair, verdict in sorted(judged.items()) if pair not in known))


def _candidates(index: TraceIndex, step: int, place: Mapping[int, int]) -> list[Pair]:
    """Return the pairs of calls that the next changing step scored, by their positions in the row."""
    after = next((entry for entry in index.trace.steps[step + 1 :] if entry.changed), None)
    scored = [match.nodes for match in after.matches if match.score] if after is not None else []
    places = [sorted(place.get(node, -1) for node in nodes) for nodes in scored if len(nodes) == 2]
    return [(one, other) for one, other in places if 0 <= one < other]


def _stays(known: Verdict, judges: bool, fate: Verdict) -> bool:
    """Whether what was said of a pair is shown although it becomes one: no step that judges pairs does it, or later."""
    return not judges or (known[0] == "put-off" and fate[0] == "later")


def shares(one: Call, other: Call) -> bool:
    """Whether the second call reads what the first one writes, or both read the same value."""
    if one.is_input or other.is_input:
        return False
    return one.node in other.sources or bool({*one.sources} & {*other.sources})


@cached
def _verdicts(index: TraceIndex, step: int) -> Mapping[Pair, Verdict]:
    """The pairs that a step judged and did not fuse, by nodes of the state before it."""
    entry = index.step(step)
    found: dict[Pair, Verdict] = {}
    if not index.trace.level.tries_pairs:  # a pattern that does not match says nothing about a pair of calls
        return found
    for miss in entry.refusals:
        refusal = miss.refusal
        if refusal.root != refusal.node:
            words = refusal.cause
            untold: dict[str, Verdict] = {NO_REASON: ("silent", "", ""), FITS: ("put-off", words, "")}
            found.setdefault((refusal.root, refusal.node), untold.get(words, ("refused", words, "")))
    matches = {match.number: match for match in entry.matches if len(match.nodes) == 2}
    for lost in entry.lost:
        if (loser := matches.get(lost.loser)) is not None:
            one, other = loser.nodes
            found.setdefault((one, other), ("put-off", lost.reason, _score_text(loser)))
    return found


@cached
def _was_asked(index: TraceIndex, step: int) -> bool:
    """Whether any pair was judged up to this step."""
    return any(_verdicts(index, at) for at in range(step + 1))


def _judged(index: TraceIndex, step: int) -> Mapping[Pair, Verdict]:
    """The last verdict on each pair of calls that are present after a step: on the parts of them that were nearest."""
    home = {call.node: call.node for call in calls_at(index, step) if not call.is_input}
    found: dict[frozenset[int], tuple[Pair, Verdict]] = {}
    for at in range(step, 0, -1):
        if not index.step(at).changed and not index.step(at).refusals:
            continue
        for rewrite in index.step(at).applied:
            new = [home[node] for node in rewrite.added if node in home]
            home.update((node, new[-1]) for node in rewrite.removed if new)
        order = {call.node: number for number, call in enumerate(calls_at(index, at - 1))}
        here: dict[frozenset[int], tuple[int, Pair, Verdict]] = {}
        for (one, other), verdict in _verdicts(index, at).items():
            pair = (home.get(one, -1), home.get(other, -1))
            if -1 in pair or pair[0] == pair[1]:
                continue
            apart = abs(order.get(one, 0) - order.get(other, 0))
            before = here.get(frozenset(pair))
            if before is None or (apart, STRENGTH.index(verdict[0])) < (before[0], STRENGTH.index(before[2][0])):
                here[frozenset(pair)] = (apart, pair, verdict)
        for key, (_, pair, verdict) in here.items():
            found.setdefault(key, (pair, verdict))
    return dict(found.values())


def _fused_later(index: TraceIndex, step: int, pairs: Sequence[Pair]) -> list[tuple[bool, Verdict] | None]:
    """For each pair the step that makes one call of both, if one does; and whether that step judges pairs."""
    found: list[tuple[bool, Verdict] | None] = [None] * len(pairs)
    fate = {node: {node} for pair in pairs for node in pair}
    changing = 0
    for entry in index.trace.steps[step + 1 :]:
        if not entry.changed:
            continue
        changing += 1
        became = _became(entry)
        scores = {frozenset(match.nodes): _score_text(match) for match in entry.matches if match.score}
        old = fate
        fate = {node: set[int]().union(*(became.get(one, (one,)) for one in now)) for node, now in fate.items()}
        for at, (one, other) in enumerate(pairs):
            if found[at] is None and fate[one] == fate[other] and len(fate[one]) == 1:
                rules = (index.rules.get(rewrite.rule) for rewrite in entry.applied)
                judges = any(rule is not None and rule.guarded for rule in rules)
                score = scores.get(frozenset(old[one] | old[other]), "")
                found[at] = (judges, ("next" if changing == 1 else "later", entry.at.words, score))
    return found


def _score_text(match: MatchFound) -> str:
    return ", ".join(f"{name} {value:,.6g}" for name, value in match.score if value)


def _became(entry: Step) -> Mapping[int, Sequence[int]]:
    found: dict[int, Sequence[int]] = {}
    for rewrite in entry.applied:
        if not rewrite.parameter_path:
            found.update((node, rewrite.added or rewrite.became) for node in rewrite.removed)
    return found
