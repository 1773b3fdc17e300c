"""Trace files: JSON, version 1, gzip by extension.

Every layer stands once in the table `nodes`, and every form of parameter graph once in `parameters`; a step holds
only what changed: removed ids, added ids with their place in the table, ids whose inputs changed. Times stand in a
part of their own, so that a file without them is the same for two equal runs. Unknown fields are passed over; a newer
version is refused.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from explorer.errors import CircuitError, FileFormatError
from explorer.files import check_format, read_json, write_json
from explorer.graph import Graph
from explorer.trace.equivalence import EXACTNESS_ORDER
from explorer.trace.events import (
    COMPILER_OPTIONS,
    LATER_OPTIONS,
    TENSOR,
    TENSOR_OPTIONS,
    Folded,
    LimitReached,
    MatchFound,
    MatchLost,
    Rewritten,
    RuleDescription,
)
from explorer.trace.passes import PASS_OF_KIND
from explorer.trace.records import NodeRecord, ParameterNodeRecord, ParameterRecord, plain
from explorer.trace.refusal import Refusal
from explorer.trace.steps import MatchRefused, Step
from explorer.trace.trace import Trace

OPTION_TYPES: Mapping[str, type] = {
    "semiring": str,
    "optimize": bool,
    "fold": bool,
    "preset": str,
    "rules": list,
    "strategy": str,
    "max_rounds": int,
    "levels": str,
    "seed": int,
}
TENSOR_OPTION_TYPES: Mapping[str, type] = {
    "level": str,
    "subject": str,
    "pipeline": list,
    "mode": str,
    "operators": str,
    "layout": str,
    "one_by_one": bool,
}
IDS_PER_NODE = 10
"""Ids are counted up, so none lies far above the number of nodes that were made."""
RULE_TEXTS = ("name", "pattern", "kind", "exactness", "doc", "source")
FORMAT = "circuit-explorer trace"
VERSION = 1


@dataclass(frozen=True, eq=False)
class LoadedSnapshot:
    """A state read from a file: everything but the tensors."""

    graph: Graph[NodeRecord]
    figures: Mapping[str, int]
    reads: Mapping[int, Mapping[str, Any]]
    is_tensor: bool = False

    def circuit(self) -> Any:
        """Raises: CircuitError: a file holds no tensors."""
        again = "explorer.record(module, ...) records the module again"
        if not self.is_tensor:
            again = "explorer.rerun(trace) compiles it again"
        raise CircuitError(f"this trace was loaded from a file and holds no tensors; {again}")

    def results(self, x: Any) -> tuple[Any, ...]:
        """Raises: CircuitError: a file holds no tensors."""
        return self.circuit()


def save_trace(trace: Trace, path: "str | Path", times: bool = True) -> None:
    """Write a trace file."""
    write_json(trace_to_json(trace, times), path)


def load_trace(path: "str | Path") -> Trace:
    """Read a trace file. Raises: FileFormatError."""
    return trace_from_json(read_json(path, FORMAT), str(path))


# ---------------------------------------------------------------------- writing


class _Table:
    """Rows that are written once each and named by position."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._known: dict[str, int] = {}

    def place(self, row: Any) -> int:
        key = json.dumps(row, separators=(",", ":"))
        place = self._known.setdefault(key, len(self.rows))
        if place == len(self.rows):
            self.rows.append(row)
        return place


def trace_to_json(trace: Trace, times: bool = True) -> dict[str, Any]:
    """The trace as data of JSON types."""
    forms, nodes = _Table(), _Table()
    places: dict[int, tuple[NodeRecord, int]] = {}

    def place_of(record: NodeRecord) -> int:
        if id(record) not in places:
            places[id(record)] = (record, nodes.place(_node_row(record, forms)))
        return places[id(record)][1]

    previous: Graph[NodeRecord] = Graph({}, {}, ())
    tried = _Table()
    steps: list[dict[str, Any]] = []
    for step in trace.steps:
        graph = previous if previous.nodes and not step.changed and not step.folds else trace.graph_at(step)
        steps.append({**_step_row(trace, step, previous, graph, place_of), **_rules_row(step, tried)})
        previous = graph
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "options": {name: plain(value) for name, value in trace.options.items()},
        "rules": [asdict(rule) for rule in trace.rules],
        "circuit": trace.circuit_json if trace.subject is None else trace.subject.to_json(),
        "steps": steps,
        "nodes": nodes.rows,
        "parameters": forms.rows,
    }
    if tried.rows:
        data["tried"] = tried.rows
    if times:
        data["times"] = {
            "steps": [step.seconds for step in trace.steps],
            "rewrites": [[rewrite.seconds for rewrite in step.rewrites] for step in trace.steps],
            "folds": [[group.seconds for group in step.folds] for step in trace.steps],
        }
    return data


def _rules_row(step: Step, tried: _Table) -> dict[str, int]:
    """The rules that a step tries, by their place in a table, as many steps try the same."""
    return {"tried": tried.place(list(step.rules))} if step.rules else {}


def _step_row(
    trace: Trace, step: Step, before: Graph[NodeRecord], after: Graph[NodeRecord], place_of: Any
) -> dict[str, Any]:
    added = [[n, place_of(v), list(after.inputs[n])] for n, v in after.nodes.items() if n not in before.nodes]
    changed = [[n, place_of(v)] for n, v in after.nodes.items() if n in before.nodes and before.nodes[n] is not v]
    rewired = [
        [n, list(sources)] for n, sources in after.inputs.items() if n in before.nodes and before.inputs[n] != sources
    ]
    reads = trace.steps[-1].snapshot.reads
    return {
        "path": step.path,
        "level": step.level,
        "changed": step.changed,
        "removed": [n for n in before.nodes if n not in after.nodes],
        "added": added,
        "replaced": changed,
        "rewired": rewired,
        "outputs": list(after.outputs),
        "figures": dict(step.snapshot.figures),
        "matches": [[m.rule, m.root, list(m.nodes), m.place] for m in step.matches],
        "refusals": [{**r.refusal.to_json(), **({"place": r.place} if r.place else {})} for r in step.refusals],
        "refusals_over": dict(step.refusals_over),
        "lost": [[x.loser, x.winner, x.node, x.strategy, x.reason, x.place] for x in step.lost],
        "rewrites": [
            [w.number, w.rule, list(w.removed), list(w.added), w.place, *([list(w.became)] if w.became else [])]
            for w in step.rewrites
        ],
        "folds": [
            {
                "level": g.level,
                "node": g.node,
                "type": g.type,
                "key": [[name, plain(value)] for name, value in g.key],
                "members": list(g.members),
                **({"read": dict(reads[g.node])} if g.node in reads else {}),
            }
            for g in step.folds
        ],
        "limits": [[x.what, x.limit, x.message] for x in step.limits],
        "error": step.error,
    }


def _node_row(record: NodeRecord, forms: _Table) -> dict[str, Any]:
    row: dict[str, Any] = {"type": record.type, "folds": record.num_folds, "config": dict(record.config)}
    if record.scope is not None:
        row["scope"] = [list(scope) for scope in record.scope]
    if record.about:
        row["about"] = dict(record.about)
    if record.parameters:
        row["parameters"] = {name: _parameter_row(parameter, forms) for name, parameter in record.parameters.items()}
    if record.nested:
        row["nested"] = {name: _node_row(inner, forms) for name, inner in record.nested.items()}
    return row


def _parameter_row(parameter: ParameterRecord, forms: _Table) -> dict[str, Any]:
    form = {
        "shape": list(parameter.shape),
        "nodes": [[n.type, n.num_folds, dict(n.config), list(n.inputs)] for n in parameter.nodes],
        "outputs": [list(pair) for pair in parameter.outputs],
    }
    return {"form": forms.place(form), "leaves": [list(node.leaves) for node in parameter.nodes]}


# ---------------------------------------------------------------------- reading


def trace_from_json(data: Any, where: str = "trace data") -> Trace:
    """The trace of such data. Raises: FileFormatError, with what is wrong inside."""
    content = check_format(data, FORMAT, VERSION, where)
    try:
        return _checked(_read(content))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, CircuitError) as error:
        raise FileFormatError(f"{where}: not a whole trace: {type(error).__name__}: {error}") from error


def _read(data: Mapping[str, Any]) -> Trace:
    records = [_read_node(row, data["parameters"]) for row in data["nodes"]]
    rules = tuple(_read_rule(row) for row in data["rules"])
    reads = {g["node"]: g["read"] for row in data["steps"] for g in row["folds"] if "read" in g}
    times: Mapping[str, Any] = data.get("times") or {}
    options = dict(data["options"])
    if options.get("level") != TENSOR:
        options |= {name: plain(value) for name, value in LATER_OPTIONS.items() if name not in options}
    nodes: dict[int, NodeRecord] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    steps: list[Step] = []
    for index, row in enumerate(data["steps"]):
        for node in row["removed"]:
            del nodes[node], inputs[node]
        for node, place, sources in row["added"]:
            nodes[node], inputs[node] = records[place], tuple(sources)
        for node, place in row["replaced"]:
            nodes[node] = records[place]
        for node, sources in row["rewired"]:
            inputs[node] = tuple(sources)
        graph = Graph[NodeRecord].ordered({n: nodes[n] for n in sorted(nodes)}, inputs, row["outputs"])
        tried = tuple(data["tried"][row["tried"]]) if "tried" in row else ()
        snapshot = LoadedSnapshot(graph, row["figures"], reads, options.get("level") == TENSOR)
        steps.append(_read_step(index, row, snapshot, times, tried))
    return Trace(None, data["circuit"], options, rules, tuple(steps))


def _read_rule(row: Mapping[str, Any]) -> RuleDescription:
    name, pattern, kind, exactness, doc, source = (row[n] for n in RULE_TEXTS)
    entries, guarded = tuple(row["entries"]), row.get("guarded", False)
    return RuleDescription(name, pattern, entries, kind, exactness, doc, source, guarded)


def _read_step(
    index: int, row: Mapping[str, Any], snapshot: LoadedSnapshot, times: Mapping[str, Any], tried: tuple[str, ...]
) -> Step:
    rewrite_times = times["rewrites"][index] if times else [0.0] * len(row["rewrites"])
    fold_times = times["folds"][index] if times else [0.0] * len(row["folds"])
    return Step(
        index=index,
        path=row["path"],
        level=row["level"],
        changed=row["changed"],
        seconds=times["steps"][index] if times else 0.0,
        snapshot=snapshot,
        matches=tuple(MatchFound(i, m[0], m[1], tuple(m[2]), m[3]) for i, m in enumerate(row["matches"])),
        refusals=tuple(MatchRefused(Refusal.from_json(r), r.get("place", "")) for r in row["refusals"]),
        refusals_over=row["refusals_over"],
        lost=tuple(MatchLost(*x) for x in row["lost"]),
        rewrites=tuple(
            Rewritten(w[0], w[1], tuple(w[2]), tuple(w[3]), seconds, w[4], tuple(w[5]) if len(w) > 5 else ())
            for w, seconds in zip(row["rewrites"], rewrite_times, strict=True)
        ),
        folds=tuple(
            Folded(g["level"], g["node"], g["type"], tuple((k, v) for k, v in g["key"]), tuple(g["members"]), seconds)
            for g, seconds in zip(row["folds"], fold_times, strict=True)
        ),
        limits=tuple(LimitReached(*x) for x in row["limits"]),
        error=row["error"],
        rules=tried,
    )


def _read_node(row: Mapping[str, Any], forms: list[Any]) -> NodeRecord:
    scope = row.get("scope")
    return NodeRecord(
        row["type"],
        _folds(row["folds"]),
        row["config"],
        None if scope is None else tuple(tuple(s) for s in scope),
        {name: _read_parameter(p, forms) for name, p in row.get("parameters", {}).items()},
        {name: _read_node(inner, forms) for name, inner in row.get("nested", {}).items()},
        row.get("about", {}),
    )


def _read_parameter(row: Mapping[str, Any], forms: list[Any]) -> ParameterRecord:
    form = forms[row["form"]]
    nodes = tuple(
        ParameterNodeRecord(n[0], _folds(n[1]), n[2], tuple(n[3]), tuple(leaves))
        for n, leaves in zip(form["nodes"], row["leaves"], strict=True)
    )
    return ParameterRecord(tuple(form["shape"]), nodes, tuple((a, b) for a, b in form["outputs"]))


def _folds(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"a number of folds is a whole number; found {value!r}")
    return value


# ---------------------------------------------------------------------- checking


def _checked(trace: Trace) -> Trace:
    """The trace, if all that it names is there. Raises: ValueError."""
    _check_options(trace)
    made = sum(len(step.snapshot.graph.nodes) for step in trace.steps[:1]) + sum(
        len(rewrite.added) for step in trace.steps for rewrite in step.rewrites
    )
    made += sum(len(step.folds) for step in trace.steps)
    largest = max((node for step in trace.steps for node in step.snapshot.graph.nodes), default=0)
    if largest > IDS_PER_NODE * made + IDS_PER_NODE:
        raise ValueError(f"there is a node {largest}, but only {made} nodes were ever made")
    for rule in trace.rules:
        if rule.kind not in (*PASS_OF_KIND, TENSOR) or rule.exactness not in EXACTNESS_ORDER or not rule.entries:
            raise ValueError(f"the rule {rule.name} has an unknown kind or exactness, or no entries")
    before: Graph[Any] = Graph({}, {}, ())
    for step in trace.steps:
        after = step.snapshot.graph
        _check_references(step, before, after)
        before = after
    return trace


def _check_options(trace: Trace) -> None:
    types = TENSOR_OPTION_TYPES if trace.is_tensor else OPTION_TYPES
    lacking = [name for name in (TENSOR_OPTIONS if trace.is_tensor else COMPILER_OPTIONS) if name not in trace.options]
    if lacking:
        raise ValueError(f"the options lack {', '.join(lacking)}")
    for name, kind in types.items():
        if type(trace.options[name]) is not kind:
            raise ValueError(f"the option {name} is {trace.options[name]!r}, no {kind.__name__}")
    for name in () if trace.is_tensor else ("rules", "skip"):
        if not all(isinstance(entry, str) for entry in trace.options[name]):
            raise ValueError(f"the option {name} holds something that is no text")


def _check_references(step: Step, before: Graph[Any], after: Graph[Any]) -> None:
    """Numbers name matches of the step; ids of layers name nodes there before it or after it."""
    where = f"step {step.index} ({step.path})"
    numbers = [rewrite.number for rewrite in step.rewrites]
    numbers += [number for lost in step.lost for number in (lost.loser, lost.winner)]
    for number in numbers:
        if number not in range(len(step.matches)):
            raise ValueError(f"{where} names match {number!r}, and has {len(step.matches)}")
    old = [node for match in step.matches if not match.place for node in (match.root, *match.nodes)]
    old += [refused.refusal.root for refused in step.refusals if not refused.place]
    old += [lost.node for lost in step.lost if not lost.place]
    old += [node for rewrite in step.rewrites if not rewrite.place for node in rewrite.removed]
    old += [node for group in step.folds for node in group.members]
    new = [group.node for group in step.folds]
    if step.error is None:  # a failed step leaves the graph as it was
        new += [node for rewrite in step.rewrites if not rewrite.place for node in rewrite.added]
    for nodes, graph, when in ((old, before, "before"), (new, after, "after")):
        for node in nodes:
            if node not in graph.nodes:
                raise ValueError(f"{where} names node {node!r}, which is not there {when} it")
    for group in step.folds:
        if group.level not in range(step.index):
            raise ValueError(f"{where} folds level {group.level!r}, before which there is no step")
