"""Checks that the references of a trace file exist: options, rules, matches, nodes, parameters, slices."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from explorer.trace.changes import GraphChange, GraphHistory
from explorer.trace.equivalence import EXACTNESS_ORDER
from explorer.trace.events import LISTED_KINDS, PresentCircuit, RuleDescription
from explorer.trace.memory import MemoryRecord
from explorer.trace.paths import owner_of_parameter
from explorer.trace.records import NodeRecord
from explorer.trace.rules import PASS_OF_KIND
from explorer.trace.steps import Step, start_of

TENSOR_OPTION_TYPES: Mapping[str, type] = {
    "level": str,
    "subject": str,
    "pipeline": list,
    "mode": str,
    "operators": str,
    "layout": str,
    "one_by_one": bool,
}

MAX_RULE_ENTRIES = 1_000
"""Maximum number of entries of a rule on operators: its description has only those that it is tried at."""


def check_tensor_options(options: Mapping[str, Any]) -> None:
    """Raises: ValueError for an option that is missing or of another type."""
    missing = [name for name in TENSOR_OPTION_TYPES if name not in options]
    if missing:
        raise ValueError(f"the options lack {', '.join(missing)}")
    for name, kind in TENSOR_OPTION_TYPES.items():
        if type(options[name]) is not kind:
            raise ValueError(f"the option {name} is {options[name]!r}; expected {kind.__name__}")


class ReferenceChecker:
    """Checks that what each step names exists. Call it for the steps in order, before and after each change."""

    def __init__(
        self, rules: Sequence[RuleDescription], history: GraphHistory, reads: Mapping[int, Mapping[str, Any]]
    ) -> None:
        for rule in rules:
            if (
                rule.kind not in (*PASS_OF_KIND, *LISTED_KINDS)
                or rule.exactness not in EXACTNESS_ORDER
                or not rule.entries
            ):
                raise ValueError(f"the rule {rule.name} has an unknown kind or exactness, or no entries")
            if len(rule.questions) not in (0, len(rule.entries)):
                raise ValueError(f"the rule {rule.name} has {len(rule.entries)} entries, and questions of a few")
        self._rules = frozenset(rule.name for rule in rules)
        self._patterns = frozenset(rule.pattern for rule in rules)
        if not len(rules) == len(self._rules) == len(self._patterns):
            raise ValueError("two rules have the same name or the same pattern")
        self._history = history
        self._reads = reads
        self._created: set[int] = set()
        self._entries = {r.pattern: MAX_RULE_ENTRIES if r.kind in LISTED_KINDS else len(r.entries) for r in rules}
        self._records: dict[int, NodeRecord] = {}
        self._memory: MemoryRecord | None = None

    def check_before(self, step: Step) -> None:
        """Check what a step says about the nodes before it. Raises: ValueError for a missing rule, match or node."""
        self._check_rules(step)
        numbers = [rewrite.number for rewrite in step.rewrites]
        numbers += [number for lost in step.lost for number in (lost.loser, lost.winner)]
        for number in numbers:
            if number not in range(len(step.matches)):
                raise ValueError(f"{_name(step)} names match {number!r}, but has {len(step.matches)}")
        named = [node for match in step.matches if not match.parameter_path for node in (match.root, *match.nodes)]
        for missed in step.refusals:
            named += () if missed.parameter_path else (missed.refusal.root, missed.refusal.node)
        named += [lost.node for lost in step.lost if not lost.parameter_path]
        named += [node for rewrite in step.rewrites if not rewrite.parameter_path for node in rewrite.removed]
        named += [node for group in step.folds for node in group.members]
        named += [node for found in _sources(step).values() for node in found]
        named += [owner_of_parameter(path) for path in _parameter_paths(step)]
        self._check_exist(named, f"before {_name(step)}")
        for missed in step.refusals:
            if missed.refusal.entry >= self._entries[missed.refusal.pattern]:
                raise ValueError(f"{_name(step)} names entry {missed.refusal.entry} of {missed.refusal.pattern}")
        for group in step.folds:
            if group.level not in range(step.index):
                raise ValueError(f"{_name(step)} folds level {group.level!r}, but there are too few steps before it")

    def check_after(self, step: Step, change: GraphChange) -> None:
        """Check what a step says about the nodes after it.

        Raises: ValueError for a node that does not exist, or an operator without the circuit that it made.
        """
        if step.operator is not None and not step.operator.circuits:
            raise ValueError(f"{_name(step)} is an operator on circuits, but has no circuits")
        created = [group.node for group in step.folds]
        created += [node for rewrite in step.applied if not rewrite.parameter_path for node in rewrite.added]
        created += [node for circuit in _circuits(step) for node in circuit.layers]
        created += _sources(step)
        self._check_exist(created, f"after {_name(step)}")
        self._created.update(created if step.index else change.added)
        for node in change.added:
            if node not in self._created:
                raise ValueError(f"{_name(step)} adds node {node}, which none of its rewrites and folds created")
        _check_folds(step, change)
        self._check_records(step, change)
        self._check_memory(step, change)
        if step.index and not step.changed and not step.folds and (change.removed or change.inputs or change.replaced):
            raise ValueError(f"{_name(step)} changes nothing, but removes, adds or replaces nodes")

    def _check_records(self, step: Step, change: GraphChange) -> None:
        """Check that the slices of each node match the fold groups, and that folding keeps the titles."""
        new = {**change.added, **change.replaced}
        members = {group.node: [self._records[one] for one in group.members] for group in step.folds}
        for node, record in new.items():
            scopes = len(record.scope or ()) or 1
            if node in members:
                scopes = sum(one.num_folds for one in members[node])
            elif not record.scope and record.num_folds > 1 and (node in self._records or node in self._reads):
                scopes = self._records[node].num_folds if node in self._records else len(self._reads[node]["index"])
            if record.num_folds != scopes or (record.scope and len(record.scope) != scopes):
                raise ValueError(f"node {node} has {record.num_folds} slices in {_name(step)}; expected {scopes}")
            titles = members.get(node, [self._records[node]] if node in self._records and step.folds else [])
            if any((one.title, one.kind) != (record.title, record.kind) for one in titles):
                raise ValueError(f"{_name(step)} folds layers into node {node}, which has another title or kind")
        for node in change.removed:
            del self._records[node]
        self._records.update(new)

    def _check_memory(self, step: Step, change: GraphChange) -> None:
        """Check that the instructions that a memory names exist, and that no buffer is listed twice."""
        memory = step.snapshot.memory
        if memory is None or (memory is self._memory and not (change.removed or change.added)):
            return
        self._memory = memory
        named = {*memory.order, *(user for buffer in memory.buffers for user in buffer.users)}
        self._check_exist(sorted(named), f"after {_name(step)}")
        if len({buffer.id for buffer in memory.buffers}) < len(memory.buffers):
            raise ValueError(f"{_name(step)} has a buffer twice")

    def _check_rules(self, step: Step) -> None:
        """Check that the rules of a step are rules of the trace."""
        named = [*step.rules, *(match.rule for match in step.matches), *(rewrite.rule for rewrite in step.rewrites)]
        unknown = [name for name in named if name not in self._rules]
        patterns = [*(missed.refusal.pattern for missed in step.refusals), *step.refusals_over]
        unknown += [name for name in patterns if name not in self._patterns]
        if unknown:
            raise ValueError(f"{_name(step)} names the rule {unknown[0]}, which the trace does not have")

    def _check_exist(self, named: Sequence[int], when: str) -> None:
        for node in named:
            if node not in self._history.inputs:
                raise ValueError(f"node {node!r} does not exist {when}, which names it")


def check_last(steps: Sequence[Step], reads: Mapping[int, Mapping[str, Any]]) -> None:
    """Check what holds once all steps are known. Raises: ValueError."""
    for step in steps[:-1]:
        if step.error is not None:
            raise ValueError(f"{_name(step)} failed, but is not the last step")
    for step in steps[start_of(steps) :]:
        if step.operator is not None:
            raise ValueError(f"{_name(step)} is an operator on circuits, but does not come before the compilation")
    for step in steps[: start_of(steps)]:
        if not step.changed:
            raise ValueError(f"{_name(step)} is an operator on circuits, but changes nothing")
        layers = [node for circuit in _circuits(step) for node in circuit.layers]
        if sorted(layers) != sorted(step.snapshot.graph.nodes):
            raise ValueError(f"the circuits of {_name(step)} do not have each of its nodes once")
    for step in steps:
        if set(step.snapshot.stats) != set(steps[0].snapshot.stats):
            raise ValueError(f"{_name(step)} has other statistics than the first step")
    for node, read in reads.items() if steps else ():
        _check_read(node, read["index"], steps[-1].snapshot.graph.nodes)


def _check_folds(step: Step, change: GraphChange) -> None:
    """Check that each group became a new node, which replaces its members, or is one layer that stays."""
    members = [member for group in step.folds for member in group.members]
    if len(members) != len(set(members)):
        raise ValueError(f"{_name(step)} folds a layer twice")
    for group in step.folds:
        is_new = group.node in change.added and set(group.members).issubset(change.removed)
        if group.members != (group.node,) and not is_new:
            raise ValueError(f"{_name(step)} folds layers into node {group.node}, but does not replace them by it")


def _check_read(node: int, index: Sequence[Sequence[Sequence[int]]], final: Mapping[int, NodeRecord]) -> None:
    """Check that every row of an index table has the same length, and names slices of nodes that exist."""
    if node in final and len(index) != final[node].num_folds:
        raise ValueError(f"node {node} has {final[node].num_folds} slices, but its index table has {len(index)} rows")
    for row in index:
        if len(row) != len(index[0]):
            raise ValueError(f"the rows of the index table of node {node} differ in length")
        for source, number in row:
            if source in final and number >= final[source].num_folds:
                raise ValueError(f"node {node} reads slice {number} of node {source}, which has fewer")
            if node in final and source not in final:
                raise ValueError(f"node {node} reads node {source}, which does not exist in the end")


def _circuits(step: Step) -> Sequence[PresentCircuit]:
    return () if step.operator is None else step.operator.circuits


def _sources(step: Step) -> Mapping[int, Sequence[int]]:
    return {} if step.operator is None else step.operator.sources


def _parameter_paths(step: Step) -> Iterator[str]:
    """The parameters that a step names."""
    for entry in (*step.matches, *step.refusals, *step.lost, *step.rewrites):
        if entry.parameter_path:
            yield entry.parameter_path


def _name(step: Step) -> str:
    return f"step {step.index} ({step.path})"
