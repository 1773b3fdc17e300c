"""A trace from data of JSON types, checked while it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from explorer.errors import CircuitError, FileFormatError
from explorer.files import check_format
from explorer.graph import Graph
from explorer.options import CompilerOptions
from explorer.passes import COMPILED
from explorer.trace.changes import GraphChange, GraphHistory
from explorer.trace.checking import ReferenceChecker, check_last, check_tensor_options
from explorer.trace.events import (
    Folded,
    LimitReached,
    MatchFound,
    MatchLost,
    OperatorApplied,
    PresentCircuit,
    ReadOrdered,
    Rewritten,
    RuleDescription,
)
from explorer.trace.file_types import CIRCUIT_FIELDS, FIELDS, TRACE_FORMAT, VERSION, check_types
from explorer.trace.ladder import LEVELS, Level, level_of
from explorer.trace.layers import LayerOrigin
from explorer.trace.memory import MemoryRecord
from explorer.trace.paths import Stage, StepPath
from explorer.trace.records import NODE_KINDS, NodeKind, NodeRecord, ParameterNodeRecord, ParameterRecord
from explorer.trace.refusal import Question, Refusal
from explorer.trace.steps import KeptNearMisses, MatchRefused, Step
from explorer.trace.text import CONTROL
from explorer.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class LoadedSnapshot:
    """A state read from a file: everything but the tensors."""

    history: GraphHistory
    step: int
    stats: Mapping[str, int]
    reads: Mapping[int, Mapping[str, Any]]
    level: Level = LEVELS[COMPILED]
    memory: MemoryRecord | None = None

    @property
    def graph(self) -> Graph[NodeRecord]:
        """The records of the nodes."""
        return self.history.graph_after(self.step)

    @property
    def change(self) -> GraphChange:
        """The change of the graph since the step before."""
        return self.history.changes[self.step]

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes and of folds."""
        return self.history.sizes[self.step]

    def circuit(self) -> Any:
        """Raises: CircuitError: a file holds no tensors."""
        raise CircuitError(f"this trace was loaded from a file and holds no tensors; {self.level.rerun}")

    def results(self, x: Any) -> tuple[Any, ...]:
        """Raises: CircuitError: a file holds no tensors."""
        return self.circuit()


def trace_from_json(data: Any, where: str = "trace data") -> Trace:
    """The trace of such data. Raises: FileFormatError, with what is wrong inside."""
    content = check_format(data, TRACE_FORMAT, VERSION, where)
    try:
        return _read(content)
    except (ValueError, CircuitError, RecursionError) as error:
        raise FileFormatError(f"{where}: not a whole trace: {_visible(str(error))}") from error
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{where}: not a whole trace: {type(error).__name__}: {_visible(str(error))}") from error


def _visible(data: Any) -> Any:
    """Return data in which control characters are text: nothing that is printed of a file controls the terminal."""
    if isinstance(data, str):
        return data if data.isprintable() else data.translate(CONTROL)
    if isinstance(data, dict):
        return {_visible(key): _visible(value) for key, value in cast("dict[Any, Any]", data).items()}
    return [_visible(value) for value in cast("list[Any]", data)] if isinstance(data, list | tuple) else data


def _read(data: Mapping[str, Any]) -> Trace:
    level = level_of(data["options"])
    check_types(data, level)
    data = {key: value if key == "circuit" else _visible(value) for key, value in data.items() if key in FIELDS}
    if data["circuit"] is not None:
        data["circuit"] = {key: value for key, value in data["circuit"].items() if key in CIRCUIT_FIELDS}
    for number, form in enumerate(data["parameters"]):
        _check_form(number, form)
    records = [_read_node(row, data["parameters"]) for row in data["nodes"]]
    rules = tuple(_read_rule(row) for row in data["rules"])
    reads = {g["node"]: g["read"] for row in data["steps"] for g in row["folds"] if "read" in g}
    times: Mapping[str, Any] = data.get("times") or {}
    options = dict(data["options"])
    if level.has_circuit:
        options = CompilerOptions.from_json(options).to_json()
    else:
        check_tensor_options(options)
    history = GraphHistory()
    checker = ReferenceChecker(rules, history, reads)
    steps: list[Step] = []
    memory: MemoryRecord | None = None
    for index, row in enumerate(data["steps"]):
        change = _read_change(row, records)
        memory = MemoryRecord.from_json(row["memory"]) if "memory" in row else memory
        snapshot = LoadedSnapshot(history, index, row["stats"], reads, level, memory)
        step = _read_step(index, row, snapshot, times, tuple(data["tried"][row["tried"]]) if "tried" in row else ())
        checker.check_before(step)
        history.add(change)
        checker.check_after(step, change)
        steps.append(step)
    check_last(steps, reads)
    origins = (LayerOrigin.from_json(row) for row in data.get("layers", ()))
    layers = {origin.layer: origin for origin in origins}
    return Trace(None, data["circuit"], options, rules, tuple(steps), layers=layers)


def _read_change(row: Mapping[str, Any], records: Sequence[NodeRecord]) -> GraphChange:
    added: dict[int, NodeRecord] = {node: records[position] for node, position, _ in row["added"]}
    rewired = {node: sources for node, _, sources in row["added"]} | dict(row["rewired"])
    return GraphChange(
        tuple(row["removed"]),
        added,
        {node: records[position] for node, position in row["replaced"]},
        {node: tuple(sources) for node, sources in rewired.items()},
        tuple(row["outputs"]),
    )


def _read_rule(row: Mapping[str, Any]) -> RuleDescription:
    known: dict[str, Any] = {f.name: row[f.name] for f in fields(RuleDescription) if f.name in row}
    known["entries"] = tuple(known["entries"])
    known["questions"] = tuple(tuple(Question(*one) for one in entry) for entry in row.get("questions", ()))
    return RuleDescription(**known)


def _lost(
    loser: int, winner: int, node: int, strategy: str, reason: str, path: str = "", measures: Sequence[Any] = ()
) -> MatchLost:
    """A conflict from its row."""
    return MatchLost(
        loser, winner, node, strategy, reason, path, tuple((name, won, lost) for name, won, lost in measures)
    )


def _read_step(
    index: int, row: Mapping[str, Any], snapshot: LoadedSnapshot, times: Mapping[str, Any], tried: tuple[str, ...]
) -> Step:
    rewrite_times = times["rewrites"][index] if times else [0.0] * len(row["rewrites"])
    fold_times = times["folds"][index] if times else [0.0] * len(row["folds"])
    kept = tuple(MatchRefused(Refusal.from_json(r), r.get("parameter_path", "")) for r in row["refusals"])
    near_misses = KeptNearMisses(kept, row["refusals_over"])
    return Step(
        index=index,
        at=StepPath(tuple(Stage(name, number, run) for name, number, run in row["stages"]), row["part"]),
        level=row["level"],
        changed=row["changed"],
        seconds=times["steps"][index] if times else 0.0,
        snapshot=snapshot,
        matches=tuple(MatchFound(i, m[0], m[1], tuple(m[2]), m[3], _score(m)) for i, m in enumerate(row["matches"])),
        near_misses=lambda: near_misses,
        lost=tuple(_lost(*one) for one in row["lost"]),
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
        reads=tuple(ReadOrdered(*x) for x in row.get("reads", ())),
        notes=tuple(row.get("notes", ())),
        operator=_read_operator(row["operator"]) if "operator" in row else None,
    )


def _read_operator(row: Mapping[str, Any]) -> OperatorApplied:
    circuits = tuple(PresentCircuit(formula, tuple(layers)) for formula, layers in row["circuits"])
    return OperatorApplied(row["name"], circuits, {node: tuple(found) for node, found in row["sources"]})


def _read_node(row: Mapping[str, Any], forms: list[Any]) -> NodeRecord:
    scope = row.get("scope")
    return NodeRecord(
        row["type"],
        row["folds"],
        row["config"],
        None if scope is None else tuple(tuple(s) for s in scope),
        {name: _read_parameter(p, forms) for name, p in row.get("parameters", {}).items()},
        {name: _read_node(inner, forms) for name, inner in row.get("nested", {}).items()},
        row.get("about", {}),
        _kind(row["kind"]),
        row["title"],
    )


def _read_parameter(row: Mapping[str, Any], forms: list[Any]) -> ParameterRecord:
    form = forms[row["form"]]
    nodes = tuple(
        ParameterNodeRecord(n[0], n[1], n[2], tuple(n[3]), tuple(leaves))
        for n, leaves in zip(form["nodes"], row["leaves"], strict=True)
    )
    return ParameterRecord(tuple(form["shape"]), nodes, tuple((a, b) for a, b in form["outputs"]))


def _score(match: Sequence[Any]) -> tuple[tuple[str, float], ...]:
    return tuple((name, value) for name, value in match[4]) if len(match) > 4 else ()


def _check_form(number: int, form: Mapping[str, Any]) -> None:
    """Check that each node of a form of parameter graphs reads nodes before it, and that the outputs exist."""
    nodes = form["nodes"]
    for position, node in enumerate(nodes):
        if any(source >= position for source in node[3]):
            raise ValueError(f"parameters[{number}].nodes[{position}] reads a node that is not before it")
    if not form["outputs"]:
        raise ValueError(f"parameters[{number}] has no output")
    for position, slot in form["outputs"]:
        if position >= len(nodes) or slot >= nodes[position][1]:
            raise ValueError(f"parameters[{number}] has slice {slot} of node {position} as an output: there is none")


def _kind(value: Any) -> NodeKind:
    if value not in NODE_KINDS:
        raise ValueError(f"unknown kind of node {value!r}; expected one of {', '.join(NODE_KINDS)}")
    return value
