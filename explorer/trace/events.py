"""The events of a compilation.

A listener is any callable that accepts an event. The drivers call it; without listeners no events are created. The
events of each match are named tuples, because there are thousands of them and those are made three times as fast.
`parameter_path` is the parameter a parameter rule works on (`12.weight`); it is empty for layers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from explorer.graph import Graph
from explorer.trace.changes import GraphChange
from explorer.trace.ladder import LEVELS
from explorer.trace.memory import MemoryRecord
from explorer.trace.paths import StepPath
from explorer.trace.refusal import Question, Refusal

LISTED_KINDS = tuple(name for name, level in LEVELS.items() if not level.has_circuit)
"""The kinds of rules that each step lists; a step tries all rules of the other kinds."""


class Snapshot(Protocol):
    """The state of a compilation after a step. Everything is computed on demand."""

    @property
    def graph(self) -> Graph[Any]:
        """The nodes at that state."""
        ...

    @property
    def stats(self) -> Mapping[str, int]:
        """Counts of that state: nodes, folds, parameters, FLOPs, bytes."""
        ...

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes and of folds."""
        ...

    @property
    def change(self) -> GraphChange | None:
        """The difference from the graph of the previous step; None if the graphs have to be compared."""
        ...

    @property
    def reads(self) -> Mapping[int, Mapping[str, Any]]:
        """The index table and the kind of read of each folded node."""
        ...

    @property
    def memory(self) -> "MemoryRecord | None":
        """The lifetime and offset of each buffer; None at levels without buffers."""
        ...

    def circuit(self) -> Any:
        """The executable circuit of that state, with the present parameter values."""
        ...

    def results(self, x: Any) -> "tuple[Any, ...]":
        """The output tensors of the state for some data, without gradients."""
        ...


class OperatorState(Snapshot, Protocol):
    """The circuits after an operator, before the compilation; `results` belong to the circuit that it made."""

    def expected(self, x: Any) -> "tuple[Any, ...] | str":
        """Compute these results by definition, from the operands' results; or say why they are not known."""
        ...


@dataclass(frozen=True, slots=True)
class RuleDescription:
    """A rule: its pattern, source location and purpose, and whether a guard may decline its matches.

    `questions` are those that the matcher asks at each entry; empty for rules without a pattern, and in old files.
    """

    name: str
    pattern: str
    entries: tuple[str, ...]
    kind: str
    exactness: str
    doc: str
    source: str
    guarded: bool = False
    questions: tuple[tuple[Question, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A compilation begins: what is compiled, how, with which rules."""

    subject: Any
    options: Mapping[str, Any]
    rules: tuple[RuleDescription, ...]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step begins, at a level of the ladder. `rules` are the rules that it tries; empty: all of the pass's kind."""

    at: StepPath
    level: str
    rules: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path as text: `optimize/round 2/fuse`."""
        return str(self.at)


class MatchFound(NamedTuple):
    """A pattern matched at `nodes` (root first). `number` counts the matches of the step from 0.

    `score` has the parts of the number by which a compiler that is watched orders its candidates, by name.
    """

    number: int
    rule: str
    root: int
    nodes: tuple[int, ...]
    parameter_path: str = ""
    score: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptsRefused:
    """The near misses of a search, in one event: attempts that failed after their first entry matched."""

    refusals: tuple[Refusal, ...]
    parameter_path: str = ""


class MatchLost(NamedTuple):
    """Match `loser` shares a node with match `winner` and is not applied.

    `measures` are the comparisons of the strategy in order: name, value of the winner, value of the loser; the first
    two values that differ decided.
    """

    loser: int
    winner: int
    node: int
    strategy: str
    reason: str
    parameter_path: str = ""
    measures: tuple[tuple[str, float, float], ...] = ()


class Rewritten(NamedTuple):
    """A rule replaced the nodes `removed` (root first) by `added`, in topological order.

    `became` are older nodes that replace the root where no node was added for it.
    """

    number: int
    rule: str
    removed: tuple[int, ...]
    added: tuple[int, ...]
    seconds: float
    parameter_path: str = ""
    became: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Folded:
    """Layers of one level and one key became slices of one folded layer, in order."""

    level: int
    node: int
    type: str
    key: tuple[tuple[str, Any], ...]
    members: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class ReadOrdered:
    """A change of the read of folded layer `node` (None: of the outputs) by ordering slices; for one example.

    `node` is the id that the layer has once it is folded.
    """

    node: int | None
    before: str
    after: str
    bytes_before: int
    bytes_after: int
    reason: str

    def __str__(self) -> str:
        reader = "the outputs" if self.node is None else f"node {self.node}"
        kinds = self.before if self.before == self.after else f"{self.before} → {self.after}"
        return f"{reader}: {kinds}, {self.bytes_before:,} → {self.bytes_after:,} bytes per example: {self.reason}"


@dataclass(frozen=True, slots=True)
class PresentCircuit:
    """A circuit between operators: the formula of what made it, or a letter, and the ids of its layers."""

    formula: str
    layers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.formula} has {len(self.layers):,} layer{'' if len(self.layers) == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class OperatorApplied:
    """An operator on circuits was applied, before the circuit that results is compiled.

    `operator` is its name, empty in the step that shows the circuits at the beginning; `circuits` are those after the
    step, the one that it made last. `sources` are the ids of the layers of operands that each layer was made of.
    """

    operator: str
    circuits: tuple[PresentCircuit, ...]
    sources: Mapping[int, tuple[int, ...]]

    @property
    def result(self) -> PresentCircuit | None:
        """The circuit that was made; None in the first step."""
        return self.circuits[-1] if self.operator else None

    def __str__(self) -> str:
        return ", ".join(map(str, self.circuits)) if self.result is None else str(self.result)


@dataclass(frozen=True, slots=True)
class LimitReached:
    """A limit on rounds or rewrites was reached while more was possible."""

    what: str
    limit: int
    message: str


@dataclass(frozen=True, slots=True)
class Noted:
    """A sentence about a step that the other events do not tell."""

    text: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step ended."""

    changed: bool
    seconds: float
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A rule raised; the compilation ends here."""

    error: str
    snapshot: Snapshot


Event = (
    RunStarted
    | StepStarted
    | MatchFound
    | AttemptsRefused
    | MatchLost
    | Rewritten
    | Folded
    | ReadOrdered
    | LimitReached
    | OperatorApplied
    | Noted
    | StepEnded
    | StepFailed
)

Listener = Callable[[Event], None]
