"""Data shared by all views of a trace, computed on demand: states as arrays, records, fate and changes of nodes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from explorer.errors import CircuitError
from explorer.trace import (
    FoldChain,
    FoldGroup,
    MatchFound,
    MissedFold,
    NodeRecord,
    PresentCircuit,
    RuleDescription,
    Step,
    Trace,
    owner_of_parameter as owner,
    record_of,
    title_of,
)
from explorer.trace.text import VISIBLE
from explorer.views.states import ABSENT, IntArray, NodeTable, State, fold_state, folds_of, state_of
from explorer.views.words import plural
from explorer_widgets.schema import Change

CHANGES: tuple[Change, ...] = ("kept", "added", "removed", "changed")
KEPT, ADDED, REMOVED, CHANGED = range(4)

APPLIED, LOST, WON = 1, 2, 4
"""Roles of a node in the matches of a step: in one that was applied, lost, or won a conflict."""


@dataclass(frozen=True)
class NodeRead:
    """The reads of a folded node: the kind, and the slices and copied bytes per input.

    `reason` is why it reads so, if slices were ordered for it or for other nodes.
    """

    kind: str
    copied_bytes: int
    slices: Mapping[int, int]
    bytes_of: Mapping[int, int]
    reason: str = ""


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def cached(
    view: "Callable[Concatenate[TraceIndex, Arguments], Result]",
) -> "Callable[Concatenate[TraceIndex, Arguments], Result]":
    """Decorator: compute a function of an index once per trace and arguments.

    Arguments that compare by identity, such as a `State`, are kept alive.
    """

    @wraps(view)
    def look_up(index: TraceIndex, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        key = (view, arguments, tuple(sorted(named.items())))
        if key not in index.cache:
            index.cache[key] = view(index, *arguments, **named)
        return index.cache[key]

    return look_up


VIEW = "View."
"""The start of the type of an instruction that only names memory."""
NOT_CALLED = ("Input", "table")
"""The types of what is given, and of what is read where it is packed."""


class TraceIndex:
    """A trace with the data that its views share. Create one per trace and pass it to every view.

    It never becomes stale, because a trace does not change. Do not share it between threads that create views at the
    same time.
    """

    def __init__(self, trace: Trace) -> None:
        if not trace.steps:
            raise CircuitError("the trace has no steps, so there is nothing to see; record a circuit first")
        self.trace = trace
        self.table = NodeTable()
        self.cache: dict[tuple[Any, ...], Any] = {}
        """Results of `cached` functions by function and arguments."""
        self._states: dict[int, State] = {}
        self._records: dict[int, NodeRecord] = {}
        self._pairs: dict[tuple[int, int], bool] = {}

    @property
    def noun(self) -> str:
        """The noun for a node of the trace: layer, or node at the tensor level."""
        return self.trace.level.node

    def count_text(self, calls: int, others: int = 0) -> str:
        """Count nodes that are called and others, apart if the level has a noun for these: `21 kernel calls`."""
        level = self.trace.level
        if not level.uncalled:
            return plural(calls + others, level.node)
        parts = ((calls, level.node), (others, level.uncalled))
        return " and ".join(plural(count, noun) for count, noun in parts if count) or plural(0, level.node)

    def nodes_text(self, step: int, nodes: Iterable[int]) -> str:
        """Count some of the nodes after a step: `21 kernel calls and 64 tables`."""
        state = self.state(step)
        called = [self.is_called(self.table.nodes[int(state.node[node])]) for node in nodes]
        return self.count_text(sum(called), len(called) - sum(called))

    def is_called(self, node: Any) -> bool:
        """Return whether PyTorch calls a node: each layer, but no input or parameter, nor a view of a program."""
        if self.trace.level.has_circuit:
            return True
        return not (node.type in NOT_CALLED or node.kind == "leaf" or node.type.startswith(VIEW))

    # ------------------------------------------------------------------ states

    def step(self, step: "int | str") -> Step:
        """Return a step by number (negative: from the end) or path. Raises: UnknownNameError."""
        return self.trace.step(step)

    @cached_property
    def size(self) -> int:
        """The largest id of any step plus one."""
        changing = [step for step in self.trace.steps if (step.changed or not step.index) and not step.folds]
        plain = [max(step.snapshot.graph.nodes, default=-1) for step in changing]
        folded = [group.node for step in self.trace.steps for group in step.folds]
        members = [member for step in self.trace.steps for group in step.folds for member in group.members]
        return 1 + max(*plain, *folded, *members, -1, -1)

    def state(self, step: int) -> State:
        """Return the state after a step."""
        if step not in self._states:
            first = step
            while first > 0 and first - 1 not in self._states:
                first -= 1
            for index in range(first, step + 1):
                self._states[index] = self._make_state(self.trace.steps[index])
        return self._states[step]

    def _make_state(self, step: Step) -> State:
        before = self._states.get(step.index - 1)
        if before is None or (step.changed and not step.folds):
            return state_of(step.snapshot.graph, self.table, self.size)
        if step.error is not None or not step.changed:
            return before
        final = self.trace.steps[-1].snapshot.graph
        holds_all = all(group.node in final.nodes for group in step.folds)
        return fold_state(before, step.folds, final if holds_all else step.snapshot.graph, self.table)

    def circuits_at(self, step: int) -> Sequence[PresentCircuit]:
        """Return the circuits after an operator, before the compilation; none from its start on."""
        applied = self.trace.steps[step].operator
        return () if applied is None else applied.circuits

    def before(self, step: int) -> State:
        """Return the state before a step; for the first step its own, since nothing precedes it."""
        return self.state(max(step - 1, 0))

    # ------------------------------------------------------------------ nodes

    def record(self, number: int) -> NodeRecord:
        """Return the record of the node with this number in the table."""
        if number not in self._records:
            self._records[number] = record_of(self.table.nodes[number], self.trace.leaf_names.__getitem__)
        return self._records[number]

    def title(self, number: int) -> str:
        """Return the title of the node with this number in the table."""
        return title_of(self.table.nodes[number])

    def same(self, one: int, other: int) -> bool:
        """Return whether two nodes, given by number, have equal records."""
        if one == other:
            return True
        if (one, other) not in self._pairs:
            self._pairs[(one, other)] = self.record(one) == self.record(other)
        return self._pairs[(one, other)]

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Titles of all types of nodes in the trace, in order of first appearance."""
        found: dict[str, None] = {}
        seen: set[Any] = set()
        for step in self.trace.steps:
            if step.index and (step.folds or not step.changed):
                continue
            graph = step.snapshot.graph
            for node in sorted(graph.nodes):
                value = graph.nodes[node]
                kind = (value.type, value.title) if isinstance(value, NodeRecord) else value.__class__
                if kind not in seen:
                    seen.add(kind)
                    found[self.record(self.table.number(value)).title] = None
        return tuple(found)

    # ------------------------------------------------------------------ what became of nodes

    @cached_property
    def groups(self) -> tuple[FoldGroup, ...]:
        """The fold groups of the trace, in order."""
        return self.trace.fold_groups()

    @cached_property
    def group_of(self) -> IntArray:
        """The number of the fold group in which each id's value ends; -1 if it is never folded."""
        found = np.full(self.size, -1, np.int32)
        number = len(self.groups)
        for step in reversed(self.trace.steps):
            for group in reversed(step.folds):
                number -= 1
                found[[group.node, *group.members]] = number
            for rewrite in reversed(step.applied):
                new = (*rewrite.became, *rewrite.added)
                if not rewrite.parameter_path and new:
                    found[list(rewrite.removed)] = found[new[-1]]
        return found

    @cached_property
    def folded_at(self) -> IntArray:
        """The step that created each node left by folding; for other ids a number above all steps."""
        found = np.full(self.size, len(self.trace.steps), np.int32)
        for step in self.trace.steps:
            for group in step.folds:
                found[group.node] = step.index
        for node in self.trace.steps[0].snapshot.reads:
            if found[node] == len(self.trace.steps):
                found[node] = 0  # folded before the start of the trace
        return found

    @cached_property
    def reads(self) -> Mapping[int, NodeRead]:
        """Return the reads of each folded node."""
        if not self.groups and not self.trace.steps[0].snapshot.reads:
            return {}
        last = self.trace.steps[-1].snapshot
        reasons = {read.node: read.reason for step in self.trace.steps for read in step.reads}
        return {
            node: self._read(read, reasons.get(node, ""))
            for node, read in last.reads.items()
            if node in last.graph.nodes
        }

    def _read(self, read: Mapping[str, Any], reason: str) -> NodeRead:
        table = np.array(read["index"], np.int64)
        sources, counts = np.unique(table[:, :, 0], return_counts=True)
        slices = {int(source): int(count) for source, count in zip(sources, counts, strict=True)}
        rows = dict(slices)
        if read["kind"] == "cat+gather":  # all slices of the sources are concatenated first, then gathered
            final = self.trace.steps[-1].snapshot.graph.nodes
            rows = {node: count + folds_of(final[node]) for node, count in slices.items()}
        total = sum(rows.values())
        copied = int(read["copied_bytes"])
        return NodeRead(read["kind"], copied, slices, {n: copied * count // total for n, count in rows.items()}, reason)

    @cached_property
    def missed_folds(self) -> tuple[MissedFold, ...]:
        """The missed folds of the trace."""
        return self.trace.missed_folds()

    @cached_property
    def fold_chains(self) -> tuple[FoldChain, ...]:
        """Groups of equal layers that could not be folded together, because each depends on the one before."""
        return self.trace.fold_chains()

    # ------------------------------------------------------------------ rules and matches

    @cached_property
    def symbolic_names(self) -> Mapping[int, str]:
        """Names of the symbolic layers that have one, by id."""
        if self.trace.subject is not None:
            return self.trace.subject.names
        layers: Sequence[Mapping[str, Any]] = (self.trace.circuit_json or {}).get("layers", ())
        return {layer["id"]: layer["name"] for layer in layers if layer.get("name")}

    @cached_property
    def columns(self) -> Sequence[str]:
        """The names of the variables if these are columns of a table, and so no pixels of an image."""
        subject = self.trace.subject
        names = (self.trace.circuit_json or {}).get("columns", ()) if subject is None else subject.columns
        return tuple(name.translate(VISIBLE) for name in names)

    @cached_property
    def rules(self) -> Mapping[str, RuleDescription]:
        """Rules by name."""
        return {rule.name: rule for rule in self.trace.rules}

    @cached_property
    def rules_of_patterns(self) -> Mapping[str, RuleDescription]:
        """Rules by the name of their pattern."""
        return {rule.pattern: rule for rule in self.trace.rules}

    def nodes_of(self, match: MatchFound) -> tuple[int, ...]:
        """Return the layers of a match, root first; for a match inside a parameter, the parameter's layer."""
        return (owner(match.parameter_path),) if match.parameter_path else match.nodes


@cached
def node_changes(index: TraceIndex, step: int) -> IntArray:
    """Return what the step did to each id: kept, added, removed; changed if the content differs."""
    before, after = index.before(step), index.state(step)
    both = before.present & after.present
    change = np.full(index.size, ABSENT, np.int32)
    change[both] = KEPT
    change[after.present & ~both] = ADDED
    change[before.present & ~both] = REMOVED
    for node in np.flatnonzero(both & (before.node != after.node)):
        if not index.same(int(before.node[node]), int(after.node[node])):
            change[node] = CHANGED
    return change


@cached
def match_roles(index: TraceIndex, step: int) -> IntArray:
    """Return the roles of each id in the matches of the step."""
    entry = index.step(step)
    roles = np.zeros(index.size, np.int32)
    lost = {conflict.loser for conflict in entry.lost}
    won = {conflict.winner for conflict in entry.lost}
    for match in entry.matches:
        role = LOST if match.number in lost else APPLIED | WON if match.number in won else APPLIED
        for node in index.nodes_of(match):
            roles[node] |= role
    return roles
