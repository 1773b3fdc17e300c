"""The decisions of a round of the scheduler, as pairs of the nodes that it began with."""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.adapters.inductor.heard import HeardRound
from explorer.adapters.inductor.scheduler_notes import name_of
from explorer.adapters.inductor.steering import parts_of
from explorer.adapters.timeline import Candidate, Merge, Parts, Round
from explorer.trace import FITS, NO_REASON

MERGED_LATER = "in this round, with the nodes between them; alone they were refused before: {reason}"
TAKEN_FIRST = "another pair with one of the two was fused first"
Pair = tuple[str, str]


class Groups:
    """The nodes of a round, in order, and those that were fused with each other so far."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._start_of = {part: name for name in names for part in parts_of(name)}
        self._fused = Parts[str]()
        self._named: dict[str, str] = {}

    def starts_of(self, one: str, other: str) -> list[Pair]:
        """The two nodes of the beginning that the first parts of two nodes belong to, unless one is unknown."""
        first, second = (self._start_of.get(name.split("_")[0]) for name in (one, other))
        return [] if first is None or second is None else [(first, second)]

    def fuse(self, one: str, other: str) -> None:
        """Note that two nodes became one."""
        for first, second in self.starts_of(one, other):
            self._fused.join(first, second)
            self._named[self._fused.find(first)] = name_of(one, other)

    def name_of(self, start: str) -> str:
        """The present name of a node of the beginning: the one that it was fused into."""
        return self._named.get(self._fused.find(start), start)

    def together(self, one: str, other: str) -> bool:
        """Whether two nodes of the beginning are one now."""
        return self._fused.find(one) == self._fused.find(other)

    def members(self) -> Mapping[str, list[str]]:
        """The present nodes by name, each with the nodes of the beginning that it was made of."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(self.name_of(name), []).append(name)
        return found


def round_of(heard: HeardRound, names: Sequence[str], numbers: Mapping[str, int]) -> tuple[Round, Groups]:
    """The round as data of a trace, and the nodes that it leaves; `numbers` are those of its nodes by name."""
    groups = Groups(names)
    scored: dict[Pair, tuple[tuple[str, float], ...]] = {}
    reasons: dict[Pair, str] = {}
    fits: dict[Pair, None] = {}
    fused: dict[Pair, None] = {}
    for kind, one, other, said in heard.decisions:
        for pair in _meant(groups, scored, one, other):
            match kind:
                case "scored":
                    scored[pair] = said
                case "refused":
                    reasons[pair] = said
                case "answered" if said:
                    fits.setdefault(pair)
                case "answered":
                    reasons.setdefault(pair, NO_REASON)
                case "fused":
                    fused.setdefault(pair)
        if kind == "fused":
            groups.fuse(one, other)
    taken = [*fused]
    pairs = [*fused, *(pair for pair in scored if pair not in fused)]
    candidates: list[Candidate] = []
    for one, other in pairs:
        winner, why = None, ""
        if not groups.together(one, other):
            rival = next((number for number, pair in enumerate(taken) if {one, other} & {*pair}), None)
            winner, why = rival, reasons.get((one, other), TAKEN_FIRST if rival is not None else FITS)
        candidates.append(Candidate(numbers[one], numbers[other], scored.get((one, other), ()), winner, why))
    answered = {**reasons, **{pair: FITS for pair in fits if pair not in reasons}}
    refused = [
        (numbers[a], numbers[b], MERGED_LATER.format(reason=why) if groups.together(a, b) else why)
        for (a, b), why in answered.items()
        if (a, b) not in scored and (a, b) not in fused
    ]
    merges = [
        Merge(number, tuple(numbers[one] for one in members), name)
        for name, members in groups.members().items()
        if len(members) > 1
        for number in [next(i for i, pair in enumerate(taken) if pair[0] in members)]
    ]
    return Round("fuse", candidates, merges, refused), groups


def _meant(groups: Groups, scored: Mapping[Pair, Any], one: str, other: str) -> list[Pair]:
    """The pairs of the beginning that a decision is about.

    Of nodes that have grown in this round these are the candidates that they contain, otherwise their first parts.
    """
    if one in groups.names and other in groups.names:
        return [(other, one) if (other, one) in scored else (one, other)]
    found = [pair for pair in scored if {groups.name_of(pair[0]), groups.name_of(pair[1])} == {one, other}]
    return found or [pair for pair in groups.starts_of(one, other) if pair[0] != pair[1]]
