"""The driver of a recording: holds the present units, runs passes on them, and reports what each one did."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import count
from time import perf_counter

from explorer.errors import GraphError, RuleError
from explorer.runtime.recording.changes import Replacement, fresh_numbers, renumbered, replacements
from explorer.runtime.recording.snapshot import UnitsSnapshot
from explorer.runtime.units import Units
from explorer.runtime.units.observing import Leave
from explorer.trace import (
    KERNELS,
    AttemptsRefused,
    Event,
    LimitReached,
    Listener,
    MatchFound,
    Noted,
    Refusal,
    RefusalKind,
    Rewritten,
    RunStarted,
    StepEnded,
    StepFailed,
    StepPath,
    StepStarted,
)
from explorer.trace.stages import Stages


def refusal_of(name: str, number: int, reason: str) -> Refusal:
    """A near miss of a pass: a unit that it left, and why."""
    return Refusal(name, number, 0, number, RefusalKind.DECLINED, found=reason)


class UnitsRecording:
    """Turns what passes did into steps of a trace: one for each time that a pass ran."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._listeners = tuple(listeners)
        self._stages = Stages()

    def begin(self, run: RunStarted, seconds: float, snapshot: UnitsSnapshot, note: str) -> None:
        """Record the first step: the units as they were lowered, and the seconds it took."""
        first = StepStarted(StepPath.of("lower"), KERNELS)
        self._emit(run, first, StepEnded(True, seconds, snapshot), Noted(note))

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Record what happens inside under a name."""
        return self._stages.scope(name, rules, number)

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """A limit was reached."""
        self._emit(LimitReached(what, limit, message))

    def on_failure(self, error: str, before: UnitsSnapshot) -> None:
        """A pass raised, and the recording ends."""
        self._emit(StepStarted(self._stages.path, KERNELS, self._stages.rules), StepFailed(error, before))

    def on_pass(
        self,
        rule: str,
        done: Sequence[Replacement],
        left: Sequence[tuple[int, str]],
        seconds: float,
        before: UnitsSnapshot,
        after: UnitsSnapshot,
    ) -> None:
        """A pass ran once."""
        self._emit(StepStarted(self._stages.path, KERNELS, self._stages.rules))
        for number, one in enumerate(done):
            self._emit(MatchFound(number, rule, one.matched[0], one.matched))
        known = before.graph.nodes
        kept = [(number, reason) for number, reason in left if number in known]
        if kept:
            self._emit(AttemptsRefused(tuple(refusal_of(rule, *one) for one in kept)))
        for number, one in enumerate(done):
            self._emit(Rewritten(number, rule, one.removed, one.added, seconds / len(done)))
        self._emit(StepEnded(bool(done), seconds, after))

    def _emit(self, *events: Event) -> None:
        for event in events:
            for listener in self._listeners:
                listener(event)


class WorkingUnits:
    """The units that passes change. A number means one unit, and is never used again for another one."""

    def __init__(self, snapshot: UnitsSnapshot, observer: UnitsRecording) -> None:
        self.snapshot = snapshot
        self.observer = observer
        self._fresh = count(max(snapshot.units.units, default=-1) + 1)
        self._num_changes = 0

    def apply(self, name: str, change: Callable[[Units, Leave], Units]) -> None:
        """Run a pass once. Raises: RuleError that names a pass which fails."""
        started = perf_counter()
        before, left = self.snapshot.units, list[tuple[int, str]]()
        try:
            after = change(before, lambda number, reason: left.append((number, reason)))
        except Exception as error:
            failure = f"the pass {name} failed: {type(error).__name__}: {error}"
            self.observer.on_failure(failure, self.snapshot)
            raise RuleError(failure) from error
        seconds = perf_counter() - started
        names = fresh_numbers(before, after, self._fresh.__next__)
        after = renumbered(after, names)
        done = list(replacements(before, after, names))
        if not done and (list(before.units) != list(after.units) or before.slots != after.slots):
            done = [Replacement((), (), after.outputs[:1])]
        snapshot = self.snapshot.with_units(after) if done else self.snapshot
        self.observer.on_pass(name, done, left, seconds, self.snapshot, snapshot)
        self.snapshot = snapshot
        self._num_changes += len(done)

    def checkpoint(self) -> int:
        """The number of changes so far."""
        return self._num_changes

    def verify(self) -> None:
        """Raises: GraphError if a unit reads a later one, or a value that has been overwritten."""
        units = self.snapshot.units
        seen: set[int] = set()
        holds: dict[int, int] = {}
        for number, unit in units.units.items():
            for one in unit.inputs:
                if one not in seen:
                    raise GraphError(f"unit {number} reads unit {one}, which is not evaluated before it")
                if one in units.slots and holds[units.slots[one]] != one:
                    raise GraphError(f"unit {number} reads unit {one}, whose slot has another value by then")
            seen.add(number)
            if number in units.slots:
                holds[units.slots[number]] = number
        for one in units.outputs:
            if one not in seen or (one in units.slots and holds[units.slots[one]] != one):
                raise GraphError(f"the output {one} is not evaluated, or its slot has another value in the end")

    def __len__(self) -> int:
        return len(self.snapshot.units)
