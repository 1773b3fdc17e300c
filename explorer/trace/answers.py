"""The answers of a trace: small frozen results that print as readable text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from explorer.trace.events import MatchFound
from explorer.trace.layers import ids_text
from explorer.trace.paths import StepPath
from explorer.trace.refusal import Check, Refusal, RefusalKind

Answer = TypeVar("Answer")
Differences = tuple[tuple[str, str, str], ...]
"""Fields in which two groups differ: name, value here, value there."""
Slot = tuple[int, int | None]
"""A node and its slice; None if it is not folded."""


class Answers(tuple[Answer, ...]):
    """A tuple of answers that prints one per line, in a terminal and in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(str(answer) for answer in self) or "(none)"

    __str__ = __repr__


class _Printable:
    """An answer whose `repr` is its text, for notebooks."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Origin(_Printable):
    """A change in the life of a node: at step `step`, `how` replaced `before` by `after`.

    `became` are nodes that existed before and replace the root, the node of `before` whose value is kept.
    """

    step: int
    path: StepPath
    how: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    became: tuple[int, ...] = ()
    root: int | None = None

    def __str__(self) -> str:
        before = ", ".join(map(str, self.before[:8])) + (f" ... ({len(self.before)})" if len(self.before) > 8 else "")
        return (
            f"step {self.step} ({self.path}): {self.how}: {before} -> {', '.join(map(str, self.after or self.became))}"
        )


@dataclass(frozen=True, repr=False)
class MadeOf(_Printable):
    """The operator of a step made layers of these layers of its operands: (formula of the operand, ids) of each."""

    step: int
    operator: str
    sources: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def sources_text(self) -> str:
        """The layers of each operand: `layers 130, 141 of A and layer 12 of B`."""
        found = (f"layer{'s' * (len(ids) > 1)} {ids_text(ids)} of {formula}" for formula, ids in self.sources)
        return " and ".join(found) or "no layer of an operand"

    def __str__(self) -> str:
        return f"step {self.step} ({self.operator}): made of {self.sources_text}"


@dataclass(frozen=True, repr=False)
class Lineage(_Printable):
    """The origin of a node and what became of it.

    `symbolic` are the nodes that it was made from at the start of the compilation, and `origins` is their label: the
    layers of the symbolic circuit, or imported operators. `first_step` and `last_step` are the steps at whose end it
    exists. `now` are the nodes at the end that hold its value, each with the slice (None: not folded); `inside` are
    those that it became part of where no node holds its value any more. `made_of` has, for each operator that made
    the symbolic layers, the last one first, the layers of its operands.
    """

    node: int
    first_step: int
    last_step: int
    origins: str
    symbolic: tuple[int, ...]
    made_by: tuple[Origin, ...]
    became: tuple[Origin, ...]
    parameter_changes: tuple[Origin, ...]
    now: tuple[Slot, ...]
    inside: tuple[Slot, ...] = ()
    made_of: tuple[MadeOf, ...] = ()

    @property
    def end(self) -> str:
        """Where it is at the end, in words."""
        places = [f"{node}" if slot is None else f"{node}, slice {slot}" for node, slot in self.now or self.inside]
        if not places:
            return "gone"
        more = f"; ... ({len(places)} in all)" if len(places) > 8 else ""
        return ("" if self.now else "part of ") + "; ".join(places[:8]) + more

    def __str__(self) -> str:
        def ids(values: tuple[int, ...]) -> str:
            return ", ".join(map(str, values[:12])) + (f" ... ({len(values)} in all)" if len(values) > 12 else "")

        lines = [f"node {self.node}: exists from step {self.first_step} to step {self.last_step}"]
        lines.append(f"  {self.origins}: {ids(self.symbolic) or 'none'}")
        lines += [f"  {one}" for one in self.made_of]
        lines += [f"  made by {origin}" for origin in self.made_by]
        lines += [f"  parameters changed by {origin}" for origin in self.parameter_changes]
        lines += [f"  became {origin}" for origin in self.became]
        lines.append(f"  now {self.end}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class WhyNot(_Printable):
    """Why a pattern was not applied at a node: the matcher's checks up to the first that failed."""

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
class WhatIf(_Printable):
    """What a rule would match if the question that gave `refusal` were answered otherwise.

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
class NearMisses(_Printable):
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
class ConflictRecord(_Printable):
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


@dataclass(frozen=True, repr=False)
class FoldGroup(_Printable):
    """The layers that became slices of one folded layer, their common key, and how the folded layer reads."""

    step: int
    level: int
    node: int
    type: str
    key: Mapping[str, Any]
    members: tuple[int, ...]
    read: str | None
    index: Any

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value}" for name, value in self.key.items())
        read = f", reads by {self.read}" if self.read else ""
        some = ", ".join(map(str, self.members[:8])) + (" ..." if len(self.members) > 8 else "")
        return f"level {self.level}: {self.type} x{len(self.members)} -> node {self.node}{read} [{key}] of {some}"


@dataclass(frozen=True, repr=False)
class FoldAnswer(_Printable):
    """Whether two layers were folded together, and if not, why."""

    together: bool
    why: str

    @property
    def reason(self) -> str:
        """The answer as a sentence."""
        return f"{'Folded' if self.together else 'Not folded'} together: {self.why}."

    def __bool__(self) -> bool:
        return self.together

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, repr=False)
class MissedFold(_Printable):
    """Two folded groups that came close: equal keys on two levels, or one type and level and fields that differ.

    `differences` are the fields that differ: name, value of the first group, value of the second.
    """

    nodes: tuple[int, int]
    layers: int
    reason: str
    differences: Differences = ()

    def __str__(self) -> str:
        return f"nodes {self.nodes[0]} and {self.nodes[1]} ({self.layers} layers): {self.reason}"


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
class RuleInteraction(_Printable):
    """How often a rule produced the input of another rule, or of itself."""

    rule: str
    enabled: str
    count: int

    def __str__(self) -> str:
        times = "once" if self.count == 1 else f"{self.count:,} times"
        return f"{self.rule} enabled {self.enabled}: {times}"


@dataclass(frozen=True, repr=False)
class StepCheck(_Printable):
    """The difference of the outputs after a step from those before it, and whether its rules allow the difference.

    `max_difference` is absolute; `tolerance` is what the rules of this step allow: 0 if all are exact, rounding errors
    relative to the largest output for a rule that is exact in real arithmetic, any difference for a lossy one.
    `from_original` is the largest difference from the outputs before the first step. `other_bits` counts the numbers
    that are not the same, bit by bit: 0 and -0 differ, NaN is the same as NaN. Exact rules allow none. `undefined`
    counts those that are NaN before and after, which says nothing about the step: it is set, and the differences are
    NaN, if no other number differs. An operator before the compilation has other values than its operands: its result
    is compared with its values by definition. `unknown` says why it could not be; `other_form` how shapes differ.
    """

    step: int
    path: str
    max_difference: float
    exactness: str
    tolerance: float
    other_bits: int = 0
    from_original: float = 0.0
    undefined: int = 0
    unknown: str = ""
    other_form: str = ""

    @property
    def has_no_value(self) -> bool:
        """Whether nothing was compared: outputs are NaN before and after, or the wanted ones are not known."""
        return self.undefined > 0 or bool(self.unknown)

    @property
    def ok(self) -> bool:
        """Whether the difference is known and allowed; a change from or to NaN never is."""
        return self.max_difference <= self.tolerance and not (self.exactness == "exact" and self.other_bits)

    @property
    def difference(self) -> str:
        """The largest difference as text; if it is 0 and yet not allowed, the count of numbers with different bits."""
        if self.other_form:
            return self.other_form
        hidden = self.max_difference == 0 and not self.ok
        return f"{self.max_difference:.3g}" + (f", but other bits in {self.other_bits:,}" if hidden else "")

    def __str__(self) -> str:
        if self.unknown:
            return f"step {self.step} {self.path}: not compared ({self.unknown})"
        if self.has_no_value:
            return f"step {self.step} {self.path}: no value ({self.undefined:,} outputs are NaN before and after)"
        sign = "DIFFERS" if not self.ok else "equal" if self.max_difference == 0 else "ok"
        return f"step {self.step} {self.path}: {self.difference} ({self.exactness}: {sign})"
