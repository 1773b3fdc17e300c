"""The trace of a compilation: its steps and its questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from explorer.errors import CircuitError, UnknownNameError
from explorer.graph import Graph
from explorer.passes import WATCHED
from explorer.trace.answers import Answers, FoldAnswer, FoldChain, FoldGroup, Lineage, MissedFold, StepCheck
from explorer.trace.equivalence import check_steps
from explorer.trace.events import RuleDescription
from explorer.trace.folds import Folds, fold_chains, missed_folds
from explorer.trace.fusions import FusionAnswer, why_not_fused
from explorer.trace.ladder import Level, level_of
from explorer.trace.layers import LayerOrigin, LayerParts, parts_of_layer, paths_of_number
from explorer.trace.lineage import Lineages
from explorer.trace.memory import SharingAnswer
from explorer.trace.records import NodeRecord, Records
from explorer.trace.refusal import Check, Refusal
from explorer.trace.rule_answers import ConflictRecord, NearMisses, RuleInteraction, RuleStats, WhatIf, WhyNot
from explorer.trace.rules import Rules, conflicts, find_rule, near_misses, rule_interactions, rule_stats
from explorer.trace.steps import MatchRefused, Step, find_step, start_of
from explorer.trace.text import graphviz_of, steps_text
from explorer.trace.why_not import Found, Searcher as StepSearcher, WhyNots, is_waivable, remember, what_if

if TYPE_CHECKING:
    from graphviz import Digraph  # pyright: ignore[reportMissingTypeStubs]

Explainer = Callable[["Trace", int, str, int], tuple[tuple[Check, ...], Refusal | None]]
"""Runs the matcher again at a node: (trace, step, pattern, node) -> (its questions, the refusal or None)."""
Searcher = Callable[["Trace", int, str, Refusal | None], tuple[Found, tuple[Refusal, ...]]]
"""Searches again: (trace, step, pattern, the refusal to waive) -> (its matches, its refusals)."""


class Subject(Protocol):
    """The symbolic circuit that was compiled."""

    @property
    def graph(self) -> Graph[Any]: ...

    @property
    def names(self) -> Mapping[int, str]: ...

    @property
    def all_leaf_names(self) -> Mapping[Any, str]: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(eq=False)
class Trace:
    """The record of one compilation; it prints as a table of the steps that changed something.

    A trace made by `explorer.record` is live: every step is executable (`circuit_at`). One that was loaded from a
    file holds the same graphs, matches and reasons, but no tensors; `explorer.rerun(trace)` compiles its circuit
    again, and a module is recorded again.
    """

    subject: Subject | None
    circuit_json: Mapping[str, Any] | None
    options: Mapping[str, Any]
    rules: tuple[RuleDescription, ...]
    """All rules; `print(trace.rules)` lists them by the passes that tried them, with what each does."""
    steps: tuple[Step, ...]
    executable: Any = None
    """The compiled circuit or module; None if there is none, which `compiled` explains."""
    explainer: Explainer | None = None
    examples: Any = None
    """Inputs for running the steps: those that a module was exported with; None for a circuit."""
    source: Callable[[Any], tuple[Any, ...]] | None = None
    """Runs the program that was imported, before the first step; None if nothing was imported."""
    searcher: Searcher | None = None
    layers: Mapping[int, LayerOrigin] = field(default_factory=dict[int, LayerOrigin])
    """At the levels below a compiled circuit: its layers, by id."""

    def __post_init__(self) -> None:
        self.rules = Rules(self.rules, self.steps)

    @cached_property
    def level(self) -> Level:
        """The level of the ladder that the nodes belong to."""
        return level_of(self.options)

    @property
    def is_live(self) -> bool:
        """Whether there is a compiled circuit or module."""
        return self.executable is not None

    @property
    def is_compilation(self) -> bool:
        """Whether it records how a circuit was compiled: not at lower levels, nor for a circuit compiled before."""
        return self.level.has_circuit and bool(self.options)

    @property
    def compiled(self) -> Any:
        """The compiled circuit or module. Raises: CircuitError for a loaded trace, or a compilation that failed."""
        if self.executable is not None:
            return self.executable
        if self.steps and self.steps[-1].error is not None:
            raise CircuitError(f"the compilation failed, so there is no compiled circuit: {self.steps[-1].error}")
        raise CircuitError(f"this trace was loaded from a file and holds no tensors; {self.level.rerun}")

    # ------------------------------------------------------------------ steps and states

    @cached_property
    def start(self) -> int:
        """The number of the step that begins the compilation: 0 but for a circuit that operators made.

        Operators come before it, each a step: their circuits have other values, the states from `start` on the same.
        """
        return start_of(self.steps)

    @property
    def start_graph(self) -> Graph[Any]:
        """The graph with which the compilation begins: one node for each layer of the circuit, or imported operator."""
        return self.steps[self.start].snapshot.graph

    def step(self, step: "int | str | Step") -> Step:
        """A step by number (negative from the end) or path. Raises: UnknownNameError."""
        return find_step(self.steps, step)

    def graph_at(self, step: "int | str | Step") -> Graph[NodeRecord]:
        """The graph after a step, nodes as plain records, in an order that depends on ids and edges only."""
        graph = self.step(step).snapshot.graph
        nodes = {node: self.records.of(graph.nodes[node]) for node in sorted(graph.nodes)}
        return Graph[NodeRecord].from_unordered(nodes, graph.inputs, graph.outputs)

    def circuit_at(self, step: "int | str | Step") -> Any:
        """The executable circuit after a step, with the present values.

        Before the compilation it has the outputs of all circuits that operators have not combined yet. Raises:
        CircuitError for a loaded trace, and if the outputs of these circuits differ in units.
        """
        return self.step(step).snapshot.circuit()

    def to_graphviz(self, step: "int | str | Step" = -1) -> "Digraph":
        """The graph after a step, by default the last, as a `graphviz.Digraph`.

        Its `source` is text for Graphviz; drawing it (`render`, or as the result of a notebook cell) needs `dot`.
        """
        found = self.step(step)
        return graphviz_of(self.graph_at(found), found.path)

    def stats(self, step: "int | str | Step") -> Mapping[str, int]:
        """Counts after a step: layers, folds, parameters, FLOPs, bytes; for one example."""
        return self.step(step).snapshot.stats

    def check(self, x: Any = None, on_step: Callable[[Step], None] = lambda step: None) -> Answers[StepCheck]:
        """The difference of the outputs on `x` after each step from those before it, and whether it may be.

        The first step of an imported module is compared with the program that PyTorch exported, and the result of an
        operator on circuits with its definition.
        A trace of a module takes a tuple of arguments, by default what it was exported with; if these have no rows,
        there is no difference. `on_step` is called with each step before it runs, and may end the check by raising.
        Raises: ShapeError if `x` has no rows for a circuit; CircuitError for a loaded trace.
        """
        x = self.examples if x is None else x
        semiring = self.options.get("semiring", "")
        return check_steps(self.steps, self.rules, x, on_step, self.level.has_batches, semiring, self.source)

    # ------------------------------------------------------------------ matches

    def why_not(self, pattern: str, node: int, step: "int | str | None" = None) -> WhyNot:
        """Explain why a pattern was not applied at a node; by default in the last step that tried it there.

        The ids of nodes are those that `print(trace.graph_at(step))` shows. A rule on parameters is asked about by the
        layer that holds them. At the tensor level the name of a pass means its rules: the one that came closest
        answers. Raises: UnknownNameError for a pattern or node that is not in the trace; CircuitError for a step
        without that pattern or that node.
        """
        matcher = None if self.explainer is None else partial(self.explainer, self)
        why_nots = WhyNots(self.steps, self.rules, self._lineages, self.records, matcher)
        if not self.level.has_circuit and all(rule.pattern != pattern for rule in self.rules):
            return why_nots.of_pass(pattern, node, step)
        return why_nots.of_rule(pattern, node, step)

    def what_if(self, miss: MatchRefused, step: "int | str | Step") -> WhatIf:
        """Search the matches that the rule of a near miss would have if the question that refused it were waived.

        It is searched in all layers, and only a live trace of a circuit has them. Raises: UnknownNameError.
        """
        return what_if(self.step(step), find_rule(self.rules, miss.refusal.pattern), miss, self._search)

    @property
    def can_search(self) -> bool:
        """Whether its layers can be searched again: those of a live trace of a circuit."""
        return self.searcher is not None

    def has_what_if(self, miss: MatchRefused) -> bool:
        """Whether `what_if` has an answer for a near miss."""
        return self.can_search and is_waivable(miss)

    def near_misses(self, pattern: str | None = None, step: "int | str | None" = None) -> Answers[NearMisses]:
        """The near misses of a pattern, of the rules of a pass, or of all that have some, over all steps or one."""
        return near_misses(self.rules, self.steps, self._select_steps(step), pattern)

    def why_not_fused(self, one: int, other: int) -> FusionAnswer:
        """Whether two nodes end in one, and everything that was said of them: refusals, scores, rivals.

        For compilers that fuse pairs of calls. Raises: UnknownNameError if no step has both nodes; CircuitError for
        a trace of another level, whose rules match patterns.
        """
        if self.level.name != WATCHED:
            raise CircuitError(
                f"at the level {self.level.name}, nodes are not fused in pairs but by rules: ask why_not(RULE, {one})"
                + (f"; why_not_folded({one}, {other}) is about layers of one kind" if self.level.has_circuit else "")
            )
        return why_not_fused(self.steps, one, other)

    def conflicts(self, step: "int | str | None" = None) -> Answers[ConflictRecord]:
        """The matches that lost a conflict, over all steps or in one."""
        return conflicts(self._select_steps(step))

    def rule_stats(self) -> Answers[RuleStats]:
        """The counts of each rule, in order of the rules."""
        return rule_stats(self.rules, self.steps)

    def rule_interactions(self) -> Answers[RuleInteraction]:
        """Count how often each rule produced the input of another one."""
        return rule_interactions(self.steps)

    # ------------------------------------------------------------------ lineage and folds

    def lineage(self, node: int) -> Lineage:
        """The origin of a node and what became of it. Raises: UnknownNameError."""
        return self._lineages.of(node)

    def layer_origins(self) -> Mapping[int, LayerOrigin]:
        """The layers at the end, by id, each with what it was made from: `layers` of a trace of a level below."""
        return {
            node: LayerOrigin(node, record.title, record.kind, record.num_folds, self._lineages.symbolic_of(node))
            for node, record in self.graph_at(-1).nodes.items()
        }

    def parts_of_layer(self, layer: int | str, step: "int | str | Step" = -1) -> LayerParts:
        """Find the operators or instructions of a layer after a step, and the buffers that these write.

        `layer` is an id in the symbolic or the compiled circuit, or the path of a module, with all inside.
        Raises: UnknownNameError if nothing comes from it: only levels below the compiled circuit have such parts.
        """
        found = self.step(step)
        return parts_of_layer(layer, self.graph_at(found), found.snapshot.memory, self.layers)

    def layers_of(self, number: int, step: "int | str | Step" = -1) -> tuple[str, ...]:
        """The modules that a node comes from, or a buffer by the nodes that write it: `layer.12` is layer 12.

        None for what evaluates parameters, before all layers. `trace.layers` says of layer 12 which symbolic layers it
        was made from. Raises: UnknownNameError.
        """
        found = self.step(step)
        return paths_of_number(number, self.graph_at(found), found.snapshot.memory)

    def fold_groups(self, level: int | None = None) -> Answers[FoldGroup]:
        """The folded groups of all levels or of one, with keys and (F, H, 2) index tables."""
        groups = self._folds.groups
        return groups if level is None else Answers(group for group in groups if group.level == level)

    def why_not_folded(self, one: int, other: int) -> FoldAnswer:
        """Whether two layers were folded together, and if not, why: by type or fields, and by level.

        The ids are ids of layers before folding, or of folded layers, as in `graph_at(-1)` and `missed_folds()`.
        Raises: UnknownNameError if a layer was not there when folding began, nor made by folding.
        """
        return self._folds.why_not(one, other)

    def why_not_shared(self, one: int, other: int, step: "int | str | Step | None" = None) -> SharingAnswer:
        """Whether two values of a program share memory, and if not, why; by default after the last step that has both.

        Raises: CircuitError at a level without buffers; UnknownNameError if no such step has both values.
        """
        steps = tuple(reversed(self.steps)) if step is None else (self.step(step),)
        missing = UnknownNameError(f"no step has both %{one} and %{other}")
        for found in steps:
            memory = found.snapshot.memory
            if memory is None:
                raise CircuitError(f"a trace of {self.level.name} has no buffers; record it with level='program'")
            try:
                return memory.why_not_shared(one, other)
            except UnknownNameError as error:
                missing = error
        raise missing

    def missed_folds(self) -> Answers[MissedFold]:
        """Groups that nearly were one: equal keys on two levels; one level and type with fields that differ.

        Groups on two levels count only if they could run at one time: some member of the later one depends on none of
        the earlier one.
        """
        return missed_folds(self._folds.groups, self.steps)

    def fold_chains(self) -> Answers[FoldChain]:
        """Groups with equal keys that could not be one, because each depends on the one before."""
        return fold_chains(self._folds.groups, self.steps)

    # ------------------------------------------------------------------ files and text

    def save(self, path: "str | Path", times: bool = True) -> None:
        """Write the trace as JSON (gzip if the name ends in .gz); without `times` two equal runs give equal bytes.

        Raises: FileFormatError if the file cannot be written; CircuitError for a circuit that was compiled before.
        """
        from explorer.trace.trace_files import save_trace

        save_trace(self, path, times)

    @staticmethod
    def load(path: "str | Path") -> "Trace":
        """Read a trace file. Raises: FileFormatError for a foreign, truncated or newer file."""
        from explorer.trace.trace_files import load_trace

        return load_trace(path)

    def table(self) -> str:
        """Return a table of all steps, even those that changed nothing, which `print(trace)` leaves out."""
        return steps_text(self.steps, self.level, every_step=True)

    def __str__(self) -> str:
        return steps_text(self.steps, self.level, every_step=False)

    __repr__ = __str__

    # ------------------------------------------------------------------ data that the answers share, computed once

    @cached_property
    def records(self) -> Records:
        """The records of the nodes of all steps."""
        return Records(self.leaf_names.__getitem__)

    @cached_property
    def leaf_names(self) -> Mapping[Any, str]:
        """The names of the leaves of parameters in all steps; none if the trace was loaded or has no circuit."""
        return {} if self.subject is None else self.subject.all_leaf_names

    @cached_property
    def _search(self) -> StepSearcher | None:
        """Searches layers again, once per question; None if there are no layers."""
        return None if self.searcher is None else remember(partial(self.searcher, self))

    @cached_property
    def _folds(self) -> Folds:
        return Folds(self.steps, self.level.no_folds)

    @cached_property
    def _lineages(self) -> Lineages:
        return Lineages(self.steps, self._folds.slices, self.level.origins)

    def _select_steps(self, step: "int | str | None") -> tuple[Step, ...]:
        return self.steps if step is None else (self.step(step),)
