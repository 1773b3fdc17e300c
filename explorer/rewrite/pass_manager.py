"""The pass manager: runs the passes of a pipeline on a graph, with checks, dumps and limits.

Whether a pass changed something is never asked of the pass: the manager reads it from the graph's record of changes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Generic, Literal, Protocol, TypeVar

from explorer.errors import (
    CircuitError,
    DuplicateNameError,
    LimitWarning,
    RuleError,
    ValueRangeError,
    check_name,
    warn,
)
from explorer.rewrite.pipelines import (
    DCE_PASS,
    EMPTY_PASS,
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
)
from explorer.trace import RuleDescription

MAX_ROUNDS = 100
"""Maximum rounds to reach a fixed point; beyond it, two rules are assumed to undo each other."""


class PassObserver(Protocol):
    """Receives the names of the parts and the limits that were reached."""

    def scope(self, name: str, rules: Sequence[str] = (), number: int | None = None) -> AbstractContextManager[None]:
        """Record what happens inside under a name."""
        ...

    def on_limit(self, what: str, limit: int, message: str) -> None:
        """A limit was reached while more was possible."""
        ...


class PassGraph(Protocol):
    """A graph that the manager can run passes on."""

    @property
    def observer(self) -> PassObserver:
        """The observer that records the changes."""
        ...

    def checkpoint(self) -> int:
        """A mark in the record of changes; it stays equal as long as nothing changes."""
        ...

    def verify(self) -> None:
        """Raises: CircuitError if the graph is invalid."""
        ...

    def __len__(self) -> int:
        """The number of operators."""
        ...


G = TypeVar("G", bound=PassGraph)
G_contra = TypeVar("G_contra", bound=PassGraph, contravariant=True)


class Pass(Protocol[G_contra]):
    """A named transformation of a graph; the graph, not the pass, knows what changed."""

    @property
    def name(self) -> str:
        """The name used in pipelines."""
        ...

    @property
    def doc(self) -> str:
        """The purpose of the pass, in one sentence."""
        ...

    def rule_names(self) -> tuple[str, ...]:
        """The rules that the pass tries."""
        ...

    def describe(self) -> tuple[RuleDescription, ...]:
        """Its rules, for a trace."""
        ...

    def run(self, graph: G_contra, mode: CompilationMode = CompilationMode.INFER) -> object:
        """Go through the graph once, for a mode; may return what its rules did."""
        ...

    def remaining_changes(self, graph: G_contra) -> str | None:
        """The change that another round would make, in words; None if there is none."""
        ...


@dataclass(frozen=True)
class EmptyPass:
    """The pass that does nothing."""

    name: str = EMPTY_PASS
    doc: str = "Does nothing."

    def rule_names(self) -> tuple[str, ...]:
        """No rules."""
        return ()

    def describe(self) -> tuple[RuleDescription, ...]:
        """No rules."""
        return ()

    def run(self, graph: object, mode: CompilationMode = CompilationMode.INFER) -> None:
        """Leave the graph unchanged."""

    def remaining_changes(self, graph: object) -> None:
        """Nothing."""


@dataclass(eq=False)
class PassRegistry(Generic[G]):
    """Passes by name, in order of registration. `EmptyPass`, which does nothing, needs no registration."""

    passes: dict[str, Pass[G]] = field(default_factory=dict[str, Pass[G]])

    def register(self, made: Pass[G]) -> None:
        """Add a pass. Raises: DuplicateNameError if its name is taken."""
        if made.name in self.passes or made.name == EMPTY_PASS:
            raise DuplicateNameError(f"a pass named {made.name!r} is registered already; give it another name")
        self.passes[made.name] = made

    def without(self, names: Iterable[str]) -> "PassRegistry[G]":
        """A copy without the named passes."""
        drop = set(names)
        return PassRegistry({name: made for name, made in self.passes.items() if name not in drop})

    @property
    def names(self) -> tuple[str, ...]:
        """The names that pipelines may use."""
        return (EMPTY_PASS, *self.passes)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Pass[G]:
        if name == EMPTY_PASS:
            return EmptyPass()
        check_name("pass", name, self.names)
        return self.passes[name]

    def __iter__(self) -> Iterator[Pass[G]]:
        return iter(self.passes.values())

    def __len__(self) -> int:
        return len(self.passes)


@dataclass(frozen=True, slots=True)
class PassRun:
    """The result of one entry of a pipeline; `skipped` is the reason if it was not run.

    `results` has the return value of the pass for each round; tensor passes return a profile of their rules.
    """

    pass_id: str
    changed: bool
    rounds: int
    nodes_before: int
    nodes_after: int
    seconds: float = field(default=0.0, compare=False)
    skipped: str = ""
    results: tuple[object, ...] = field(default=(), compare=False)


Which = Literal["all"] | Collection[str]
"""All passes, or the named ones."""


@dataclass(frozen=True, slots=True)
class PassOptions(Generic[G]):
    """Checks, dumps and limits around the passes.

    `stop_after`: maximum number of passes to run, to bisect a bug; DCE before a pass does not count.
    `verify_before`, `verify_after`: verify the graph around these passes. `dump_before`, `dump_after`: call
    `dump(when, pass, graph)` around these, with "before" or "after". `max_rounds`: limit on rounds to a fixed point.
    """

    stop_after: int | None = None
    verify_before: Which = ()
    verify_after: Which = "all"
    dump_before: Which = ()
    dump_after: Which = ()
    dump: Callable[[str, str, G], None] | None = None
    max_rounds: int = MAX_ROUNDS


class PassManager(Generic[G]):
    """Runs a pipeline on graphs.

    Raises, on construction: UnknownNameError for an unknown pass in the pipeline or in the options; ValueRangeError for
    a limit out of range.
    """

    def __init__(
        self, pipeline: FunctionPassPipeline, passes: PassRegistry[G], options: PassOptions[G] | None = None
    ) -> None:
        self.pipeline = pipeline
        self.passes = passes
        self.options: PassOptions[G] = PassOptions() if options is None else options
        for config in pipeline:
            check_name("pass", config.pass_id, passes.names)
        self._check_options()

    def _check_options(self) -> None:
        options = self.options
        for which in (options.verify_before, options.verify_after, options.dump_before, options.dump_after):
            for name in () if which == "all" else which:
                check_name("pass", name, self.passes.names)
        if options.max_rounds < 1:
            raise ValueRangeError(f"max_rounds: expected at least 1, got {options.max_rounds}")
        if options.stop_after is not None and options.stop_after < 0:
            raise ValueRangeError(f"stop_after: expected at least 0 or None, got {options.stop_after}")
        if (options.dump_before or options.dump_after) and options.dump is None:
            raise ValueRangeError("dump_before and dump_after need a function `dump` that receives the graph")

    def run(self, graph: G, mode: CompilationMode = CompilationMode.INFER) -> tuple[PassRun, ...]:
        """Run all passes of the mode on a graph; returns what each one did.

        Raises: what a rule raises; RuleError naming the pass if the graph is invalid after it.
        """
        done: list[PassRun] = []
        count = 0
        for config in self.pipeline:
            skipped = ""
            if mode not in config.modes:
                skipped = f"not enabled for the mode {mode.value}"
            elif self.options.stop_after is not None and count >= self.options.stop_after:
                skipped = f"stopped after {self.options.stop_after} passes"
            if skipped:
                done.append(PassRun(config.pass_id, False, 0, len(graph), len(graph), skipped=skipped))
                continue
            count += 1
            done.append(self._run_entry(graph, config, mode))
        return tuple(done)

    def _run_entry(self, graph: G, config: FunctionPassConfig, mode: CompilationMode) -> PassRun:
        """Run one entry: the checks and dumps around it, dead code elimination before it, and its rounds."""
        if config.pass_id == EMPTY_PASS:
            return PassRun(config.pass_id, False, 0, len(graph), len(graph))
        made = self.passes[config.pass_id]
        dead = self.passes[DCE_PASS] if config.dce is DCERequiredMode.BEFORE_PASS and DCE_PASS in self.passes else None
        options = self.options
        self._watch(options.verify_before, options.dump_before, "before", made.name, graph)
        started = perf_counter()
        rules = tuple(dict.fromkeys([*made.rule_names(), *(dead.rule_names() if dead is not None else ())]))
        with graph.observer.scope(made.name, rules):
            if dead is not None:
                dead.run(graph, mode)
            before, nodes = graph.checkpoint(), len(graph)
            if config.convergence is ConvergenceMode.ONE_PASS:
                results = (made.run(graph, mode),)
            else:
                results = self._to_fixed_point(graph, made, mode)
        seconds = perf_counter() - started
        self._watch(options.verify_after, options.dump_after, "after", made.name, graph)
        changed = graph.checkpoint() != before
        return PassRun(made.name, changed, len(results), nodes, len(graph), seconds, results=results)

    def _to_fixed_point(self, graph: G, made: Pass[G], mode: CompilationMode) -> tuple[object, ...]:
        """Repeat the pass until a round changes nothing; returns the results of the rounds."""
        results: list[object] = []
        for number in range(1, self.options.max_rounds + 1):
            mark = graph.checkpoint()
            with graph.observer.scope("round", made.rule_names(), number):
                results.append(made.run(graph, mode))
            if graph.checkpoint() == mark:
                return tuple(results)
        limit = self.options.max_rounds
        why = made.remaining_changes(graph)
        if why is not None:
            message = f"Stopped {made.name} at the limit of {limit} rounds; {why}."
            graph.observer.on_limit("rounds", limit, message)
            warn(f"{message} Increase max_rounds to continue.", LimitWarning)
        return tuple(results)

    def _watch(self, verify: Which, dump: Which, when: str, name: str, graph: G) -> None:
        if self.options.dump is not None and (dump == "all" or name in dump):
            self.options.dump(when, name, graph)
        if verify == "all" or name in verify:
            try:
                graph.verify()
            except CircuitError as error:
                raise RuleError(f"the graph is invalid {when} the pass {name}: {error}") from error
