"""The answers of a trace about its rules: why not, what if, near misses, conflicts and counts, which print as text."""

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.trace.answers import Printable
from explorer.trace.events import MatchFound
from explorer.trace.refusal import Check, Refusal, RefusalKind


@dataclass(frozen=True, repr=False)
class WhyNot(Printable):
    """The reason why a pattern was not applied at a node: the matcher's checks up to the first that failed."""

    pattern: str
    node: int
    step: int
    matched: bool
    applied: bool
    checks: tuple[Check, ...]
    refusal: Refusal | None
    reason: str

    def __str__(self) -> str:
        lines = [f"{self.pattern} at node {self.node} (step {self.step}): {self.reason}"]
        lines += [f"  {check}" for check in self.checks]
        return "\n".join(lines)


MAX_LISTED = 3
"""Maximum number of matches that an answer names."""


@dataclass(frozen=True, repr=False)
class WhatIf(Printable):
    """The matches of a rule if the question that gave `refusal` is waived.

    `unasked` says why there is no answer; then there is nothing else. `usual` is the number of matches without the
    change, `matches` are the layers of each additional one, and `applicable` of those share no layer with what the step
    applied, nor with each other. `later` is the refusal where the same attempt would stop then. `notes` say what else
    would follow.
    """

    refusal: Refusal
    unasked: str = ""
    usual: int = 0
    matches: tuple[tuple[int, ...], ...] = ()
    applicable: int = 0
    later: Refusal | None = None
    notes: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The answer in sentences.

        >>> refusal = Refusal("SumCollapse", 7, 1, 5, RefusalKind.CONFIG_DIFFERS, 2, 1, "arity")
        >>> WhatIf(refusal, usual=3, matches=((7, 5),), applicable=1).reason
        'SumCollapse would match once more (4 in place of 3): #7 + #5. It overlaps no other match.'
        """
        if self.unasked:
            return f"This cannot be answered: {self.unasked}."
        sentences = [f"{self.refusal.pattern} would {self._found()}"]
        if self.matches:
            sentences.append(self._overlap())
        if self.later is not None:
            sentences.append(
                f"The attempt at #{self.later.root} would stop at a later question: {self.later.describe('#')}"
            )
        return ". ".join(one[:1].upper() + one[1:] for one in (*sentences, *self.notes)) + "."

    def _found(self) -> str:
        count = len(self.matches)
        if not count:
            return f"match as often as before ({self.usual:,})" if self.usual else "still match nowhere"
        shown = [" + ".join(f"#{node}" for node in nodes) for nodes in self.matches[:MAX_LISTED]]
        more = f" and {count - MAX_LISTED:,} more" if count > MAX_LISTED else ""
        times = "once more" if count == 1 else f"{count:,} more times"
        return f"match {times} ({self.usual + count:,} in place of {self.usual:,}): {', '.join(shown)}{more}"

    def _overlap(self) -> str:
        count = len(self.matches)
        if count == 1:
            return "it overlaps no other match" if self.applicable else "it overlaps a match that was applied"
        if self.applicable == count:
            return "they overlap no other match"
        if not self.applicable:
            return "each of them overlaps a match that was applied"
        if count == 2:
            overlap = not set(self.matches[0]).isdisjoint(self.matches[1])
            why = "because they overlap" if overlap else "because the other overlaps a match that was applied"
            return f"only one of the two could be applied, {why}"
        return f"only {self.applicable:,} of them could be applied; the others overlap these or applied matches"

    def __str__(self) -> str:
        return self.reason


MAX_CAUSES = 3
"""Different reasons that are quoted of a rule that declined."""


@dataclass(frozen=True, repr=False)
class NearMisses(Printable):
    """The attempts of a pattern that failed after its first entry matched."""

    pattern: str
    matched: int
    refusals: tuple[Refusal, ...]
    not_kept: int

    @property
    def blocked(self) -> int:
        """Number of refused attempts, including those that were not kept."""
        return len(self.refusals) + self.not_kept

    @property
    def reasons(self) -> Mapping[tuple[int, RefusalKind], int]:
        """Number of refusals for each (entry, kind of reason), most frequent first."""
        counts: dict[tuple[int, RefusalKind], int] = {}
        for refusal in self.refusals:
            key = (refusal.entry, refusal.kind)
            counts[key] = counts.get(key, 0) + 1
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1].value)))

    def __str__(self) -> str:
        lines = [f"{self.pattern}: {self.matched} matched, {self.blocked} blocked"]
        for (entry, kind), count in self.reasons.items():
            causes = list(dict.fromkeys(r.cause for r in self.refusals if (r.entry, r.kind) == (entry, kind)))
            times = "once" if count == 1 else f"{count} times"
            shown = causes[:MAX_CAUSES] if kind is RefusalKind.DECLINED else causes[:1]  # in the rule's words
            is_all = count == 1 or (kind is RefusalKind.DECLINED and shown == causes)
            example = "" if is_all else "for example "
            lines.append(f"  {times} at entry {entry + 1}, {kind.value}: {example}{' / '.join(shown)}")
        if self.not_kept:
            lines.append(f"  {self.not_kept:,} more were not kept (limit per pattern, step and reason)")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class ConflictRecord(Printable):
    """Two matches that share a node: who won, who lost, why."""

    step: int
    loser: MatchFound
    winner: MatchFound
    node: int
    strategy: str
    reason: str

    def __str__(self) -> str:
        return (
            f"step {self.step}: {self.loser.rule} at {list(self.loser.nodes)} lost to {self.winner.rule} at "
            f"{list(self.winner.nodes)} (both claim node {self.node}; {self.strategy}: {self.reason})"
        )


@dataclass(frozen=True)
class RuleStats:
    """Counts of a rule over the whole compilation."""

    rule: str
    kind: str
    matched: int
    applied: int
    lost: int
    near_misses: int
    nodes_removed: int
    nodes_added: int
    seconds: float
    source: str


@dataclass(frozen=True, repr=False)
class RuleInteraction(Printable):
    """The number of times that a rule produced the input of another rule, or of itself."""

    rule: str
    enabled: str
    count: int

    def __str__(self) -> str:
        times = "once" if self.count == 1 else f"{self.count:,} times"
        return f"{self.rule} enabled {self.enabled}: {times}"
