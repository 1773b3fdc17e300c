"""The decisions of a round of the scheduler, as pairs of the nodes that it began with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.adapters.inductor.heard import Answered, Fused, HeardRound, Refused, Scored
from explorer.adapters.inductor.scheduler_notes import name_of
from explorer.adapters.inductor.steering import parts_of
from explorer.adapters.timeline import Candidate, Merge, Round
from explorer.trace import FITS, NO_REASON

MERGED_LATER = "{reason} (the first answer: both were merged in this round, with what lies between)"
TAKEN_FIRST = "another pair with one of the two was fused first"


Pair = tuple[str, str]


@dataclass(slots=True)
class Groups:
    """The nodes of a round, and those that were fused with each other so far; `names` is in order."""

    names: list[str]
    _of_part: dict[str, str] = field(default_factory=dict[str, str])
    _leader: dict[str, str] = field(default_factory=dict[str, str])
    _named: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._of_part = {part: name for name in self.names for part in parts_of(name)}
        self._leader = {name: name for name in self.names}
        self._named = {name: name for name in self.names}

    def start_of(self, name: str) -> str | None:
        """The node of the beginning that the first part of a name belongs to; None for a name of none of them."""
        return self._of_part.get(name.split("_")[0])

    def fuse(self, one: str, other: str) -> None:
        """Note that two nodes became one."""
        first, second = self.start_of(one), self.start_of(other)
        if first is not None and second is not None:
            leader, joined = self._find(first), self._find(second)
            self._leader[joined] = leader
            self._named[leader] = name_of(one, other)

    def name_of(self, start: str) -> str:
        """The present name of a node of the beginning: the one that it was fused into."""
        return self._named[self._find(start)]

    def together(self, one: str, other: str) -> bool:
        """Whether two nodes of the beginning are one now."""
        return self._find(one) == self._find(other)

    def has_grown(self, start: str) -> bool:
        """Whether a node of the beginning was fused with another one."""
        return self.name_of(start) != start

    def members(self) -> Mapping[str, list[str]]:
        """The present nodes by name, each with the nodes of the beginning that it was made of."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(self.name_of(name), []).append(name)
        return found

    def _find(self, name: str) -> str:
        while self._leader[name] != name:
            name = self._leader[name]
        return name


def round_of(heard: HeardRound, names: Sequence[str], numbers: Mapping[str, int]) -> tuple[Round, Groups]:
    """The round as data of a trace, and the nodes that it leaves; `numbers` are those of its nodes by name."""
    groups = Groups(list(names))
    scored: dict[tuple[str, str], tuple[tuple[str, float], ...]] = {}
    reasons: dict[tuple[str, str], str] = {}
    fits: dict[tuple[str, str], None] = {}
    fused: dict[tuple[str, str], None] = {}
    for one in heard.decisions:
        for pair in _meant(groups, scored, one.one, one.other):
            match one:
                case Scored():
                    scored[pair] = one.parts
                case Refused():
                    reasons[pair] = one.reason
                case Answered():
                    if one.can_fuse:
                        fits.setdefault(pair)
                    else:
                        reasons.setdefault(pair, NO_REASON)
                case Fused():
                    fused.setdefault(pair)
        if isinstance(one, Fused):
            groups.fuse(one.one, one.other)
    taken = [*fused]
    pairs = [*fused, *(pair for pair in scored if pair not in fused)]
    candidates: list[Candidate] = []
    for one, other in pairs:
        winner, why = None, ""
        if not groups.together(one, other):
            rival = next((number for number, pair in enumerate(taken) if {one, other} & {*pair}), None)
            winner, why = rival, reasons.get((one, other), TAKEN_FIRST if rival is not None else FITS)
        candidates.append(Candidate(numbers[one], numbers[other], scored.get((one, other), ()), winner, why))
    refused = [(pair, reason) for pair, reason in reasons.items() if pair not in scored and pair not in fused]
    refused += [(pair, FITS) for pair in fits if pair not in scored and pair not in fused and pair not in reasons]
    told = [
        (numbers[a], numbers[b], MERGED_LATER.format(reason=why) if groups.together(a, b) else why)
        for (a, b), why in refused
    ]
    merges = [
        Merge(number, tuple(numbers[one] for one in members), name)
        for name, members in groups.members().items()
        if len(members) > 1
        for number in [next(i for i, pair in enumerate(taken) if pair[0] in members)]
    ]
    return Round("fuse", candidates, merges, told), groups


def _meant(groups: Groups, scored: Mapping[Pair, Any], one: str, other: str) -> list[Pair]:
    """The pairs of the beginning that a decision is about.

    Of nodes that have grown in this round these are the candidates that they contain, otherwise their first parts.
    """
    if one in groups.names and other in groups.names:
        return [(other, one) if (other, one) in scored else (one, other)]
    grown = {one, other}
    found = [pair for pair in scored if {groups.name_of(pair[0]), groups.name_of(pair[1])} == grown]
    starts = (groups.start_of(one), groups.start_of(other))
    first = [(starts[0], starts[1])] if starts[0] is not None and starts[1] is not None else []
    return found or [pair for pair in first if pair[0] != pair[1]]
