"""The recorder of all levels below compiled: steps, and how the trace is made of them.

A level supplies its snapshot: graph, statistics, memory, and how an edit is described in the numbers of its nodes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from explorer.errors import CircuitError
from explorer.graph import Graph
from explorer.trace import (
    AttemptsRefused,
    Event,
    LimitReached,
    Listener,
    MatchFound,
    MemoryRecord,
    NodeRecord,
    Noted,
    Recorder,
    Refusal,
    RefusalKind,
    Rewritten,
    RuleDescription,
    RunStarted,
    Snapshot,
    StepEnded,
    StepFailed,
    StepPath,
    StepStarted,
    Trace,
)
from explorer.trace.paths import Stages
from explorer.trace.trace import Explainer

S = TypeVar("S")
M_co = TypeVar("M_co", bound=MemoryRecord | None, covariant=True)


class Change(NamedTuple):
    """A match and what replaced it: nodes of the graph, the root first.

    `became` are older nodes that replace the root where no node was added for it.
    """

    rule: str
    matched: tuple[int, ...]
    removed: tuple[int, ...]
    added: tuple[int, ...]
    seconds: float
    became: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A node that a rule left unchanged, and the reason."""

    root: int
    reason: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit at which a rule stopped while more was possible; the message says what it did instead."""

    what: str
    limit: int
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(Generic[S]):
    """The state after a rule, its edits in the words of the level, the nodes it left, and the limits it reached."""

    after: S
    edits: Sequence[Any]
    kept: Sequence[Kept] = ()
    limits: Sequence[Limit] = ()


class Recording(ABC):
    """Tells listeners the steps of one run at a level, each under the stages that are open."""

    def __init__(self, level: str, listeners: Sequence[Listener]) -> None:
        self.level = level
        self.listeners = tuple(listeners)
        self._stages = Stages()
        self._started = perf_counter()

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The state after the last step."""

    def begin(self, options: Mapping[str, Any], rules: Sequence[RuleDescription]) -> None:
        """Record that the run begins."""
        self._emit(RunStarted(None, options, tuple(rules)))

    def first(self, name: str, seconds: float = 0.0, notes: Sequence[str] = ()) -> None:
        """Record the first step: the state before any pass, with the notes that are not empty."""
        self._emit(StepStarted(StepPath.of(name), self.level))
        self._emit(StepEnded(True, seconds, self.snapshot))
        for note in filter(None, notes):
            self._emit(Noted(note))
        self._started = perf_counter()

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Record the steps inside under a name; `rules` are those that they try."""
        return self._stages.scope(name, rules, number)

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """Record that a limit was reached."""
        self._emit(LimitReached(what, limit, message))

    def on_failure(self, error: str) -> None:
        """Record that a rule raised: the run ends."""
        self._emit(StepStarted(self._path(), self.level, self._stages.rules))
        self._emit(StepFailed(error, self.snapshot))

    def _step(self, changes: Sequence[Change], refusals: Sequence[Refusal], after: Snapshot) -> None:
        """Record a step that took the time since the last one."""
        self._emit(StepStarted(self._path(), self.level, self._stages.rules))
        for number, one in enumerate(changes):
            self._emit(MatchFound(number, one.rule, one.matched[0] if one.matched else -1, one.matched))
        if refusals:
            self._emit(AttemptsRefused(tuple(refusals)))
        for number, one in enumerate(changes):
            self._emit(Rewritten(number, one.rule, one.removed, one.added, one.seconds, "", one.became))
        self._emit(StepEnded(bool(changes), perf_counter() - self._started, after))
        self._started = perf_counter()

    def _path(self) -> StepPath:
        """The path of the next step."""
        return self._stages.path

    def _emit(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)


class NoObserver:
    """Observes nothing, so that reports can be skipped."""

    def __bool__(self) -> bool:
        return False

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Do nothing around what happens inside."""
        return nullcontext()

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """Ignore a limit."""

    def on_failure(self, error: str) -> None:
        """Ignore a failure."""

    def on_refusal(self, refusal: Refusal) -> None:
        """Ignore a refusal."""

    def on_outcome(self, rule: str, outcome: Outcome[Any]) -> None:
        """Ignore the outcome of a rule."""


NO_OBSERVER = NoObserver()


class LevelSnapshot(ABC, Generic[M_co]):
    """The state of a level where nothing is folded. A level says how its graph, statistics and memory are made."""

    @abstractmethod
    def make_graph(self) -> Graph[NodeRecord]:
        """The nodes that compute, as records."""

    @abstractmethod
    def make_stats(self) -> Mapping[str, int]:
        """The statistics of the state."""

    @abstractmethod
    def make_memory(self) -> M_co:
        """The buffers of the state; None at a level without buffers."""

    @property
    def graph(self) -> Graph[NodeRecord]:
        """The nodes that compute, as records, made once."""
        return self._graph

    @property
    def stats(self) -> Mapping[str, int]:
        """The statistics, made once."""
        return self._stats

    @property
    def memory(self) -> M_co:
        """The buffers, made once."""
        return self._memory

    @cached_property
    def _graph(self) -> Graph[NodeRecord]:
        return self.make_graph()

    @cached_property
    def _stats(self) -> Mapping[str, int]:
        return self.make_stats()

    @cached_property
    def _memory(self) -> M_co:
        return self.make_memory()

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes, twice."""
        return len(self.graph), len(self.graph)

    @property
    def change(self) -> None:
        """Unknown: the graphs of two states have to be compared."""

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """Nothing is folded."""
        return {}


class StateSnapshot(Snapshot, Protocol[S]):
    """The snapshot of a level with passes that return a new state."""

    @property
    def state(self) -> S:
        """The state itself."""
        ...

    def with_state(self, state: S) -> Self:
        """The snapshot after a pass."""
        ...

    def shows(self, number: int) -> bool:
        """Whether the graph has this node."""
        ...

    def describe(self, rule: str, edits: Sequence[Any], after: Self, seconds: float) -> Sequence[Change]:
        """The edits that led to the snapshot `after`, in nodes of both graphs; each took `seconds`."""
        ...


class StateRecording(Recording, Generic[S]):
    """Records each run of a pass on a state as a step."""

    def __init__(self, level: str, listeners: Sequence[Listener], snapshot: StateSnapshot[S]) -> None:
        super().__init__(level, listeners)
        self._snapshot = snapshot

    @property
    def snapshot(self) -> StateSnapshot[S]:
        return self._snapshot

    def on_outcome(self, rule: str, outcome: Outcome[S]) -> None:
        """Record what a rule did."""
        before, edits = self._snapshot, outcome.edits
        after = before.with_state(outcome.after) if edits else before
        seconds = (perf_counter() - self._started) / max(len(edits), 1)
        changes = before.describe(rule, edits, after, seconds) if edits else ()
        self._step(changes, [declined(rule, one) for one in outcome.kept if before.shows(one.root)], after)
        self._snapshot = after
        for one in outcome.limits:
            self.on_limit(one.what, one.limit, one.message)


def declined(rule: str, kept: Kept) -> Refusal:
    """The near miss of a rule that left a node unchanged."""
    return Refusal(rule, kept.root, 0, kept.root, RefusalKind.DECLINED, found=kept.reason)


def run_options(
    level: str,
    subject: str,
    pipeline: Sequence[str],
    *,
    mode: str = "infer",
    operators: str = "functional",
    layout: str = "",
    one_by_one: bool = False,
    **more: Any,
) -> Mapping[str, Any]:
    """The options of a run as a trace keeps them; `more` are those that only one level has."""
    options = {"level": level, "subject": subject, "pipeline": list(pipeline), **more}
    return options | {"mode": mode, "operators": operators, "layout": layout, "one_by_one": one_by_one}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recorded:
    """A recorded run: its steps, and what else its trace needs. `source` runs the program that was imported."""

    recorder: Recorder
    explainer: Explainer
    examples: Any
    source: Callable[[Any], tuple[Any, ...]] | None

    def trace(self, compiled: Any, source: Callable[[Any], tuple[Any, ...]] | None = None) -> Trace:
        """The trace of the steps so far."""
        recorder = self.recorder
        return Trace(
            None,
            None,
            recorder.options,
            recorder.rules,
            tuple(recorder.steps),
            compiled,
            self.explainer,
            self.examples,
            self.source if source is None else source,
        )

    @contextmanager
    def kept_on_failure(self) -> Generator[None]:
        """Give an error that is raised inside the trace up to there."""
        try:
            yield
        except CircuitError as error:
            error.trace = self.trace(None)
            raise
