"""The fate of two calls: fused, or refused, and in whose words; or never tried."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from enum import Enum

from explorer.errors import UnknownNameError, listed
from explorer.trace.answers import Printable
from explorer.trace.steps import GROUPING, Step

NO_REASON = "the compiler gave no reason"
FITS = "it fits, but this step did not fuse it"
"""The words of a refusal for which the compiler that is watched gives none, and of a candidate that it did not take."""


class Verdict(Enum):
    """The state of a pair after a step."""

    FUSED = "fused"
    REFUSED = "refused"
    NO_REASON = "refused, no reason given"
    PUT_OFF = "put off"
    NEVER_TRIED = "never tried"
    GROUPED = "not fused, but called as one function"


@dataclass(frozen=True, slots=True)
class PairJudged:
    """What one step says of two nodes: the verdict, the reason in the compiler's words, and the score if it has one."""

    step: int
    one: int
    other: int
    verdict: Verdict
    reason: str = ""
    score: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class FusionAnswer(Printable):
    """The fate of two nodes: what was said of them last, and every step that said something, in order."""

    one: int
    other: int
    verdict: Verdict
    judged: tuple[PairJudged, ...] = ()
    library: str = ""
    """The library function that one of two nodes calls that were never tried: such a call is fused with nothing."""

    def __bool__(self) -> bool:
        return self.verdict is Verdict.FUSED

    def __str__(self) -> str:
        lines = [f"nodes {self.one} and {self.other}: {self.verdict.value}"]
        for pair in self.judged:
            score = ", ".join(f"{name} {value:g}" for name, value in pair.score)
            parts = (pair.verdict.value, pair.reason, score and f"score: {score}")
            lines.append(f"  step {pair.step}, #{pair.one} and #{pair.other}: {'; '.join(filter(None, parts))}")
        if self.verdict is Verdict.NEVER_TRIED:
            guess = "they share no value, or one of them is not fused with anything"
            why = f"{self.library} is a library call" if self.library else guess
            lines.append(f"  no step asked about them: {why}")
        return "\n".join(lines)


def pairs_of(step: Step) -> Iterator[PairJudged]:
    """Yield what a step says of pairs of nodes: candidates first, then refusals.

    A pair is fused if one node replaces both, or one of them and a copy of the other.
    """
    home = {node: rewrite.added for rewrite in step.applied for node in rewrite.removed}
    lost = {one.loser: one.reason for one in step.lost}
    refused = {(miss.refusal.root, miss.refusal.node): str(miss.refusal.found) for miss in step.refusals}
    seen, copied = set[tuple[int, int]](), step.copied
    for match in step.matches:
        if len(match.nodes) == 2 and match.nodes[0] != match.nodes[1] and match.rule != GROUPING:
            pair = (match.nodes[0], match.nodes[1])
            seen.add(pair)
            same = bool(home.get(pair[0])) and home[pair[0]] == home.get(pair[1])
            fused = same or match.number in copied
            reason = "" if fused else lost.get(match.number, refused.get(pair, ""))
            told = match.number not in lost and reason and reason not in _UNTOLD
            verdict = Verdict.FUSED if fused else Verdict.REFUSED if told else Verdict.PUT_OFF
            yield PairJudged(step.index, *pair, verdict, reason, match.score)
    for (one, other), reason in refused.items():
        if (one, other) not in seen and one != other:
            fused = bool(home.get(one)) and home[one] == home.get(other)
            verdict = Verdict.FUSED if fused else _UNTOLD.get(reason, Verdict.REFUSED)
            yield PairJudged(step.index, one, other, verdict, "" if reason in _UNTOLD else reason)


_UNTOLD = {NO_REASON: Verdict.NO_REASON, FITS: Verdict.PUT_OFF}


def why_not_fused(steps: Sequence[Step], one: int, other: int) -> FusionAnswer:
    """Follow two nodes through the steps, and collect what is said of them and of what they became.

    Raises: UnknownNameError if no state has both of them.
    """
    mine: set[int] = set()
    theirs: set[int] = set()
    judged: list[PairJudged] = []
    library = ""
    for step in steps:
        if not mine and one in step.snapshot.graph.nodes and other in step.snapshot.graph.nodes:
            mine, theirs = {one}, {other}
            library = _library(step, mine | theirs)
            continue
        if not mine:
            continue
        for pair in pairs_of(step):
            if (pair.one in mine and pair.other in theirs) or (pair.other in mine and pair.one in theirs):
                judged.append(pair)
        mine, theirs = _after(step, mine), _after(step, theirs)
        library = library or _library(step, mine | theirs)
        if mine & theirs and step.changed:
            if not judged or judged[-1].verdict is not Verdict.FUSED:
                grouped = all(rewrite.rule == GROUPING for rewrite in step.applied)
                verdict = Verdict.GROUPED if grouped else Verdict.FUSED
                judged.append(PairJudged(step.index, one, other, verdict, f"by {step.path}"))
            return FusionAnswer(one, other, judged[-1].verdict, tuple(judged))
    if not mine:
        known = listed(map(str, steps[-1].snapshot.graph.nodes), 20)
        raise UnknownNameError(
            f"no step has both node {one} and node {other}; ids are numbers: the last step has {known}"
        )
    if judged:
        return FusionAnswer(one, other, judged[-1].verdict, tuple(judged))
    return FusionAnswer(one, other, Verdict.NEVER_TRIED, library=library)


def _library(step: Step, nodes: Set[int]) -> str:
    """The library function that one of some nodes calls after a step; empty if none does."""
    records = (step.snapshot.graph.nodes.get(node) for node in sorted(nodes))
    return next((str(one.config["library"]) for one in records if one and one.config.get("library")), "")


def _after(step: Step, nodes: set[int]) -> set[int]:
    """What some nodes became in a step."""
    became = {node: (*rewrite.added, *rewrite.became) for rewrite in step.applied for node in rewrite.removed}
    return {new for node in nodes for new in became.get(node, (node,))}
