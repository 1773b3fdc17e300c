"""Trace files: JSON, version 2, gzip by extension.

The table `nodes` contains every node once, and `parameters` every form of parameter graph once. A step contains only
its changes: removed ids, added ids with their index in the table, ids with different inputs. Times are stored apart, so
that files without them are equal for equal runs. Unknown fields are ignored; a newer version is refused.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from explorer.errors import CircuitError
from explorer.files import read_json, write_json
from explorer.graph import Graph
from explorer.trace.changes import GraphChange, compare_graphs
from explorer.trace.events import MatchFound, OperatorApplied
from explorer.trace.file_types import TRACE_FORMAT, VERSION
from explorer.trace.records import NodeRecord, ParameterRecord, plain
from explorer.trace.steps import Step
from explorer.trace.trace import Trace
from explorer.trace.trace_reading import trace_from_json


class _Table:
    """Rows that are written once each and named by position."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._known: dict[str, int] = {}

    def add(self, row: Any) -> int:
        key = json.dumps(row, separators=(",", ":"))
        position = self._known.setdefault(key, len(self.rows))
        if position == len(self.rows):
            self.rows.append(row)
        return position


def trace_to_json(trace: Trace, times: bool = True) -> dict[str, Any]:
    """The trace as data of JSON types. Raises: CircuitError for a circuit that was compiled before."""
    if trace.level.has_circuit and not trace.is_compilation:
        raise CircuitError(
            "a trace file holds the steps of a compilation, and this circuit was compiled before; record the symbolic "
            "circuit, or record the compiled one at a lower level"
        )
    forms, nodes = _Table(), _Table()
    places: dict[int, tuple[NodeRecord, int]] = {}

    def place_of(node: Any) -> int:
        record = trace.records.of(node)
        if id(record) not in places:
            places[id(record)] = (record, nodes.add(_node_row(record, forms)))
        return places[id(record)][1]

    tried = _Table()
    reads: Mapping[int, Any] = trace.steps[-1].snapshot.reads if trace.steps else {}
    steps = [
        {**_change_row(change, place_of), **_step_row(step, reads), **memory, **_rules_row(step, tried)}
        for step, change, memory in zip(trace.steps, _changes(trace.steps), _memory_rows(trace.steps), strict=True)
    ]
    data: dict[str, Any] = {
        "format": TRACE_FORMAT,
        "version": VERSION,
        "options": {name: plain(value) for name, value in trace.options.items()},
        "rules": [asdict(rule) for rule in trace.rules],
        "circuit": trace.circuit_json if trace.subject is None else trace.subject.to_json(),
        "steps": steps,
        "nodes": nodes.rows,
        "parameters": forms.rows,
    }
    if trace.layers:
        data["layers"] = [origin.to_json() for origin in trace.layers.values()]
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
    """The index of the list of rules that a step tries, as many steps try the same ones."""
    return {"tried": tried.add(list(step.rules))} if step.rules else {}


def _changes(steps: Sequence[Step]) -> Iterator[GraphChange]:
    """Yield the change of each step, compared with an empty graph for the first one."""
    before: Graph[Any] = Graph({}, {}, ())
    outputs: tuple[int, ...] = ()
    for i, step in enumerate(steps):
        if i and not step.changed and not step.folds:
            yield GraphChange((), {}, {}, {}, outputs)
            continue
        change = step.snapshot.change
        if change is None:
            before = steps[i - 1].snapshot.graph if i else before
            change = compare_graphs(before, step.snapshot.graph)
        outputs = change.outputs
        yield change


def _change_row(change: GraphChange, place_of: Callable[[Any], int]) -> dict[str, Any]:
    inputs = {node: list(sources) for node, sources in change.inputs.items()}
    return {
        "removed": list(change.removed),
        "added": [[node, place_of(value), inputs[node]] for node, value in change.added.items()],
        "replaced": [[node, place_of(value)] for node, value in change.replaced.items()],
        "rewired": [[node, sources] for node, sources in inputs.items() if node not in change.added],
        "outputs": list(change.outputs),
    }


def _step_row(step: Step, reads: Mapping[int, Any]) -> dict[str, Any]:
    return {
        "stages": [[stage.name, stage.number, stage.run] for stage in step.at.stages],
        "part": step.part,
        "level": step.level,
        "changed": step.changed,
        "stats": dict(step.snapshot.stats),
        "matches": [[m.rule, m.root, list(m.nodes), m.parameter_path, *_score(m)] for m in step.matches],
        "refusals": [
            {**r.refusal.to_json(), **({"parameter_path": r.parameter_path} if r.parameter_path else {})}
            for r in step.refusals
        ],
        "refusals_over": dict(step.refusals_over),
        "lost": [[*x[:6], *([x.measures] if x.measures else [])] for x in step.lost],
        "rewrites": [
            [
                w.number,
                w.rule,
                list(w.removed),
                list(w.added),
                w.parameter_path,
                *([list(w.became)] if w.became else []),
            ]
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
        **_reads_row(step),
        **({"notes": list(step.notes)} if step.notes else {}),
        **({} if step.operator is None else {"operator": _operator_row(step.operator)}),
    }


def _score(match: MatchFound) -> list[list[list[Any]]]:
    """The parts of a score, where there is one."""
    return [[list(part) for part in match.score]] if match.score else []


def _operator_row(applied: OperatorApplied) -> dict[str, Any]:
    circuits = [[one.formula, list(one.layers)] for one in applied.circuits]
    sources = [[node, list(found)] for node, found in applied.sources.items()]
    return {"name": applied.operator, "circuits": circuits, "sources": sources}


def _reads_row(step: Step) -> dict[str, Any]:
    """Return the reads that ordering the slices changed, if the step did that."""
    rows = [[x.node, x.before, x.after, x.bytes_before, x.bytes_after, x.reason] for x in step.reads]
    return {"reads": rows} if rows else {}


def _memory_rows(steps: Sequence[Step]) -> Iterator[dict[str, Any]]:
    """Yield the buffers of the program after each step, unless they did not change."""
    before = None
    for step in steps:
        memory = step.snapshot.memory
        yield {} if memory is None or memory is before else {"memory": memory.to_json()}
        before = memory


def _node_row(record: NodeRecord, forms: _Table) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": record.type,
        "title": record.title,
        "kind": record.kind,
        "folds": record.num_folds,
        "config": dict(record.config),
    }
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
    return {"form": forms.add(form), "leaves": [list(node.leaves) for node in parameter.nodes]}


def save_trace(trace: Trace, path: "str | Path", times: bool = True) -> None:
    """Write a trace file."""
    write_json(trace_to_json(trace, times), path)


def load_trace(path: "str | Path") -> Trace:
    """Read a trace file. Raises: FileFormatError."""
    return trace_from_json(read_json(path, TRACE_FORMAT), str(path))
