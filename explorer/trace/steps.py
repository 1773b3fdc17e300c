"""Steps of a trace, and the recorder that builds them from events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from explorer.errors import UnknownNameError, unknown_name
from explorer.trace.events import (
    AttemptsRefused,
    Event,
    Folded,
    LimitReached,
    MatchFound,
    MatchLost,
    Noted,
    OperatorApplied,
    ReadOrdered,
    Rewritten,
    RuleDescription,
    RunStarted,
    Snapshot,
    StepEnded,
    StepFailed,
    StepStarted,
)
from explorer.trace.ladder import LEVELS
from explorer.trace.paths import StepPath
from explorer.trace.refusal import Refusal

MAX_NEAR_MISSES = 2_000
"""Maximum number of near misses kept for one pattern, step and reason, so that a frequent reason hides no other one.

More are counted.
"""

MAX_WAITING = 10 * MAX_NEAR_MISSES
"""Maximum number of near misses of a step that wait to be asked for; of more, those to keep are selected at once."""

GROUPING = "codegen"
"""The rule by which calls are written as one function: they are not fused."""

_REASON = attrgetter("pattern", "entry", "kind.rank", "what")
"""The reason of a near miss, for counting: a member of an Enum is slow to hash, its rank is not."""


class MatchRefused(NamedTuple):
    """A near miss and the parameter in which it happened (empty for layers)."""

    refusal: Refusal
    parameter_path: str = ""


class KeptNearMisses(NamedTuple):
    """The near misses that are kept, pattern by pattern, and for each pattern how many are not."""

    misses: tuple[MatchRefused, ...] = ()
    num_over: Mapping[str, int] = MappingProxyType({})


def near_misses_of(searches: Sequence[AttemptsRefused]) -> Callable[[], KeptNearMisses]:
    """Return a function that returns the near misses of a step that are kept.

    It selects them at its first call, so that recording stays cheap; if there are many, they are selected now.
    """
    if sum(len(search.refusals) for search in searches) > MAX_WAITING:
        kept = keep_near_misses(searches)
        return lambda: kept
    return cache(partial(keep_near_misses, tuple(searches)))


def keep_near_misses(searches: Sequence[AttemptsRefused]) -> KeptNearMisses:
    """The near misses of the searches of a step, up to the limit of each reason."""
    counts: dict[tuple[object, ...], int] = {}
    kept: dict[str, list[MatchRefused]] = {}
    num_over: dict[str, int] = {}
    for search in searches:
        for refusal in search.refusals:
            reason = _REASON(refusal)
            count = counts[reason] = counts.get(reason, 0) + 1
            if count <= MAX_NEAR_MISSES:
                kept.setdefault(refusal.pattern, []).append(MatchRefused(refusal, search.parameter_path))
            else:
                num_over[refusal.pattern] = num_over.get(refusal.pattern, 0) + 1
    return KeptNearMisses(tuple(miss for misses in kept.values() for miss in misses), num_over)


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """One entry of a trace: what was tried, found and done, and the resulting state.

    `near_misses` returns those that are kept; unless there are many, they are selected when they are first asked for,
    so that recording stays cheap. `error` is set on the last step of a compilation that failed; then `snapshot` is the
    state before it. `rules` are those that were tried; empty: all of the kind that the last part of the path names.
    `operator` is set on the steps before the compilation of a circuit that operators made: the circuits they were
    applied to, then one step for each.
    """

    index: int
    at: StepPath
    level: str
    changed: bool
    seconds: float
    snapshot: Snapshot
    matches: tuple[MatchFound, ...] = ()
    near_misses: Callable[[], KeptNearMisses] = KeptNearMisses
    lost: tuple[MatchLost, ...] = ()
    rewrites: tuple[Rewritten, ...] = ()
    folds: tuple[Folded, ...] = ()
    limits: tuple[LimitReached, ...] = ()
    error: str | None = None
    rules: tuple[str, ...] = ()
    reads: tuple[ReadOrdered, ...] = ()
    notes: tuple[str, ...] = ()
    operator: OperatorApplied | None = None

    def __repr__(self) -> str:
        return f"Step({self.index}, {self.path!r}: {self.summary})"

    @property
    def refusals(self) -> tuple[MatchRefused, ...]:
        """The near misses, pattern by pattern, up to `MAX_NEAR_MISSES` of each reason."""
        return self.near_misses().misses

    @property
    def refusals_over(self) -> Mapping[str, int]:
        """For each pattern, how many near misses were not kept."""
        return self.near_misses().num_over

    @property
    def path(self) -> str:
        """The path as text: `optimize/round 2/fuse`."""
        return str(self.at)

    @property
    def pass_name(self) -> str:
        """The name of the pass: `fuse`."""
        return self.at.pass_name

    @property
    def round(self) -> int | None:
        """The number of the round, if it belongs to one."""
        return self.at.round

    @property
    def part(self) -> int:
        """The number among the steps of a pass that took several."""
        return self.at.part

    @property
    def summary(self) -> str:
        """A few words on what the step did."""
        if self.error is not None:
            return f"failed: {self.error}"
        if self.operator is not None:
            return str(self.operator)
        if self.folds:
            folded = [group for group in self.folds if len(group.members) > 1]
            members = sum(len(group.members) for group in folded)
            alone = len(self.folds) - len(folded)
            parts = [f"{members} layers became {len(folded)}"] if folded else []
            parts += [f"{alone} {'layer' if alone == 1 else 'layers'} not folded"] if alone else []
            return ", ".join(parts)
        if self.reads:
            return _reads_text(self.reads, self.copies_less)
        if not self.matches:
            misses = len(self.refusals) + sum(self.refusals_over.values())
            outcome = "changed" if self.changed else "compiled as it is" if self.compiles_layers else "nothing changed"
            if self.switched_off:
                least = "at least " if self.refusals_over else ""
                outcome, misses = f"{least}{self.switched_off} switched off", misses - self.switched_off
            one, many = (
                ("pair refused", "pairs refused") if LEVELS[self.level].tries_pairs else ("near miss", "near misses")
            )
            return f"{outcome} ({misses} {one if misses == 1 else many})" if misses and not self.changed else outcome
        if self.pairs:
            fused, tried = self.pairs
            made = len(self.rewrites)
            return f"{fused} of {tried} pairs fused" + (f" into {made} call{'s' * (made > 1)}" if made else "")
        counts: dict[str, int] = {}
        for rewrite in self.rewrites:
            counts[rewrite.rule] = counts.get(rewrite.rule, 0) + 1
        done = ", ".join(f"{rule} x{count}" for rule, count in counts.items())
        lost = f"; {len(self.lost)} lost a conflict" if self.lost else ""
        off = f"; {self.switched_off} switched off" if self.switched_off else ""
        return f"{len(self.rewrites)} of {len(self.matches)} matches applied: {done}{lost}{off}"

    @property
    def pairs(self) -> tuple[int, int] | None:
        """How many pairs of calls were fused, and how many fit; None if the step did not try pairs."""
        if not LEVELS[self.level].tries_pairs or not self.matches or any(len(m.nodes) != 2 for m in self.matches):
            return None
        judged = bool(self.lost or self.refusals) or any(match.score for match in self.matches)
        if not judged or any(rewrite.rule == GROUPING for rewrite in self.rewrites):
            return None
        fused = sum(len(rewrite.removed) - 1 for rewrite in self.rewrites)
        return min(fused + len(self.copied), len(self.matches)), len(self.matches)

    @property
    def copied(self) -> frozenset[int]:
        """The matches of pairs that were fused, though one of the two stays for others: the fused call has a copy."""
        gone = {node for rewrite in self.rewrites for node in rewrite.removed}
        lost = {one.loser for one in self.lost}
        refused = {(miss.refusal.root, miss.refusal.node) for miss in self.refusals}
        return frozenset(
            one.number
            for one in self.matches
            if len({*one.nodes} - gone) == 1 and len(one.nodes) == 2
            if one.number not in lost and one.nodes not in refused
        )

    @property
    def matters(self) -> bool:
        """Whether it is the first step, changed something or failed.

        A fold level on which no two layers are equal changed nothing to see.
        """
        if self.index == 0 or self.error is not None:
            return True
        return any(len(group.members) > 1 for group in self.folds) if self.folds else self.changed or self.copies_less

    @property
    def compiles_layers(self) -> bool:
        """Whether it is the step that compiles the layers of a circuit, one by one, before any optimization."""
        return self.at.labels == ("compile",)

    @property
    def applied(self) -> tuple[Rewritten, ...]:
        """The rewrites that changed the graph; a step that failed has none."""
        return self.rewrites if self.error is None else ()

    @property
    def copies_less(self) -> bool:
        """Whether the step ordered slices, and some read copies less."""
        return any(read.bytes_after < read.bytes_before for read in self.reads)

    @property
    def switched_off(self) -> int:
        """Number of kept near misses that are matches switched off by the user."""
        return sum(miss.refusal.is_switched_off for miss in self.refusals)


def _reads_text(reads: Sequence[ReadOrdered], copies_less: bool) -> str:
    copying = [read for read in reads if read.bytes_before]
    views = sum(not read.bytes_after for read in copying)
    before, after = sum(read.bytes_before for read in reads), sum(read.bytes_after for read in reads)
    if not copies_less:
        still = "1 read still copies" if len(copying) == 1 else f"{len(copying)} reads still copy"
        return f"no order of slices copies less: {still} {before:,} bytes per example"
    done = f"{views} of {len(copying)} copying reads became views"
    return f"slices ordered: {done}, {before:,} → {after:,} bytes per example"


def find_step(steps: Sequence[Step], wanted: "int | str | Step") -> Step:
    """A step by number (negative from the end) or path; a step is itself. Raises: UnknownNameError."""
    if isinstance(wanted, Step):
        return wanted
    if isinstance(wanted, int):
        if not -len(steps) <= wanted < len(steps):
            raise UnknownNameError(f"there is no step {wanted}; the trace has steps 0 to {len(steps) - 1}")
        return steps[wanted]
    for step in steps:
        if step.path == wanted:
            return step
    raise unknown_name("step", wanted, [step.path for step in steps])


def start_of(steps: Sequence[Step]) -> int:
    """The number of the step that begins the compilation: the first after the steps of operators, 0 without any."""
    return next((step.index for step in steps if step.operator is None), 0)


class Recorder:
    """A listener that stores all events and computes nothing, so that recording stays cheap.

    Of a step with many near misses it keeps only those up to the limit: all would take as much memory as the circuit.
    """

    def __init__(self) -> None:
        self.subject: Any = None
        self.options: Mapping[str, Any] = {}
        self.rules: tuple[RuleDescription, ...] = ()
        self.steps: list[Step] = []
        self._path = StepPath(())
        self._level = ""
        self._tried: tuple[str, ...] = ()
        self._clear()

    def __call__(self, event: Event) -> None:
        """Receive an event."""
        match event:
            case MatchFound():
                self._matches.append(event)
            case Rewritten():
                self._rewrites.append(event)
            case AttemptsRefused():
                self._searches.append(event)
            case MatchLost():
                self._lost.append(event)
            case Folded():
                self._folds.append(event)
            case ReadOrdered():
                self._reads.append(event)
            case StepStarted():
                self._path, self._level, self._tried = event.at, event.level, event.rules
                self._clear()
            case StepEnded():
                self._end(event.changed, event.seconds, event.snapshot, None)
            case StepFailed():
                self._end(False, 0.0, event.snapshot, event.error)
            case LimitReached():
                if self.steps:
                    self.steps[-1] = replace(self.steps[-1], limits=(*self.steps[-1].limits, event))
            case OperatorApplied():
                self._operator = event
            case Noted():
                self.steps[-1] = replace(self.steps[-1], notes=(*self.steps[-1].notes, event.text))
            case RunStarted():
                self.subject, self.options, self.rules = event.subject, event.options, event.rules
                self.steps = []

    def _clear(self) -> None:
        self._matches: list[MatchFound] = []
        self._searches: list[AttemptsRefused] = []
        self._lost: list[MatchLost] = []
        self._rewrites: list[Rewritten] = []
        self._folds: list[Folded] = []
        self._reads: list[ReadOrdered] = []
        self._operator: OperatorApplied | None = None

    def _end(self, changed: bool, seconds: float, snapshot: Snapshot, error: str | None) -> None:
        self.steps.append(
            Step(
                len(self.steps),
                self._path,
                self._level,
                changed,
                seconds,
                snapshot,
                tuple(self._matches),
                near_misses_of(self._searches),
                tuple(self._lost),
                tuple(self._rewrites),
                tuple(self._folds),
                (),
                error,
                self._tried,
                tuple(self._reads),
                operator=self._operator,
            )
        )
