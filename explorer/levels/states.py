"""Passes on states that are replaced as a whole: one rule each, run by one driver, recorded or not."""

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import getdoc
from itertools import count
from types import FunctionType
from typing import Any, Generic, TypeVar

from explorer.errors import DataTypeError, RuleError
from explorer.levels.recording import NO_OBSERVER, NoObserver, Outcome, StateRecording, declined
from explorer.passes import purposes_of
from explorer.rewrite import (
    CompilationMode,
    Exactness,
    FunctionPassConfig,
    FunctionPassPipeline,
    PassRegistry,
    source_of_function,
)
from explorer.trace import Check, Refusal, RuleDescription, Trace
from explorer.trace.reasons import ANY_OPERATOR
from explorer.trace.trace import Explainer

S = TypeVar("S")
PassChoice = FunctionPassPipeline | FunctionPassConfig | str

MANY_OBJECTS = 20_000
"""The number of new objects from which a young collection takes longer than 2 ms."""


class WorkingState(ABC, Generic[S]):
    """The driver: holds the present state, applies rules to it and reports each. Numbers of nodes are never reused."""

    def __init__(self, state: S, next_id: int, recording: StateRecording[S] | None = None) -> None:
        self.state = state
        self.observer: StateRecording[S] | NoObserver = NO_OBSERVER if recording is None else recording
        self.fresh = count(next_id)
        self._num_edits = 0

    @abstractmethod
    def look(self, rule: Any) -> Outcome[S]:
        """Return the outcome of a rule without applying it."""

    @abstractmethod
    def verify(self) -> None:
        """Raises: GraphError if the state is invalid."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of nodes."""

    def apply(self, name: str, rule: Any) -> None:
        """Apply a rule once. Raises: RuleError that names a rule which fails."""
        try:
            with pause_garbage_collection():
                outcome = self.look(rule)
        except Exception as error:
            failure = f"the pass {name} failed: {type(error).__name__}: {error}"
            self.observer.on_failure(failure)
            raise RuleError(failure) from error
        self.state = outcome.after
        self._num_edits += len(outcome.edits)
        self.observer.on_outcome(name, outcome)

    def checkpoint(self) -> int:
        """The number of edits so far."""
        return self._num_edits


@dataclass(frozen=True)
class StatePass:
    """A named pass with one rule of the same name; `level`, `exactness` and `entries` describe the rule in a trace."""

    name: str
    rule: Callable[..., Any] = field(compare=False)
    level: str
    exactness: Exactness = Exactness.EXACT
    entries: str = ANY_OPERATOR

    @property
    def doc(self) -> str:
        """Its purpose in `explorer.passes`; of a pass that is not there, what its rule does."""
        return purposes_of(self.level).get(self.name) or self._rule_doc

    @property
    def _rule_doc(self) -> str:
        return (getdoc(self.rule) or "").partition("\n")[0]

    def rule_names(self) -> tuple[str, ...]:
        """Its rule."""
        return (self.name,)

    def describe(self) -> tuple[RuleDescription, ...]:
        """Its rule, for a trace."""
        source = source_of_function(self.rule) if isinstance(self.rule, FunctionType) else ""
        return (
            RuleDescription(
                self.name,
                self.name,
                (self.entries,),
                self.level,
                self.exactness.value,
                self._rule_doc,
                source,
                guarded=True,
            ),
        )

    def run(self, graph: WorkingState[Any], mode: CompilationMode = CompilationMode.INFER) -> None:
        """Look at the whole state once, and change it."""
        graph.apply(self.name, self.rule)

    def remaining_changes(self, graph: WorkingState[Any]) -> str | None:
        """Say in words how much another round would change; None if nothing."""
        left = len(graph.look(self.rule).edits)
        return f"{left} {'change was' if left == 1 else 'changes were'} still possible" if left else None


def describe_passes(passes: PassRegistry[Any], names: Sequence[str]) -> tuple[RuleDescription, ...]:
    """The rules of some passes, each once."""
    return tuple({rule.name: rule for name in names for rule in passes[name].describe()}.values())


def choose_passes(
    chosen: PassChoice | Sequence[PassChoice] | None, default: FunctionPassPipeline
) -> FunctionPassPipeline:
    """The pipeline of passes, names and pipelines. Raises: DataTypeError for anything else."""
    if chosen is None:
        return default
    if isinstance(chosen, FunctionPassPipeline):
        return chosen
    found = FunctionPassPipeline()
    entries: tuple[Any, ...] = (chosen,) if isinstance(chosen, FunctionPassConfig | str) else tuple(chosen)
    for entry in entries:
        if not isinstance(entry, FunctionPassPipeline | FunctionPassConfig | str):
            raise DataTypeError(f"expected passes or their names as the pipeline, got {entry!r}")
        found += entry if isinstance(entry, FunctionPassPipeline) else FunctionPassPipeline.of(entry)
    return found


def explainer_of(working: Callable[[Any], WorkingState[Any]], passes: PassRegistry[Any]) -> Explainer:
    """A function that asks the rule of a pass again about a node in the state before a step."""

    def explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
        snapshot: Any = trace.steps[max(step - 1, 0)].snapshot
        known = passes.passes.get(pattern)
        if not isinstance(known, StatePass):
            return (), None
        kept = working(snapshot.state).look(known.rule).kept
        return (), next((declined(pattern, one) for one in kept if one.root == node), None)

    return explain


@contextmanager
def pause_garbage_collection(*, makes_no_cycles: bool = False) -> Generator[None]:
    """Pause the garbage collector while many small objects are created and none is dropped.

    If they form no cycles, they count as old afterwards, so that the next young collection does not search all of them
    (which takes no time for few objects).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    num_before, *_ = gc.get_count()
    try:
        yield
    finally:
        if was_enabled:
            many = gc.get_count()[0] - num_before > MANY_OBJECTS
            # Objects that the user froze stay frozen. Counting them is a walk over all of them: 50 ms for a million.
            if makes_no_cycles and many and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
