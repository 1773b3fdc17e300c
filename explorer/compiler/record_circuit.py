"""Traces of circuits: by compiling with a recorder (`explorer.record(circuit)`), or of one step without a recording."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch

from explorer.backend import TorchCircuit
from explorer.compiler.compiler import TorchCompiler
from explorer.compiler.compiler_snapshot import reads_of
from explorer.compiler.stats import StatsCounter
from explorer.errors import CircuitError
from explorer.graph import Graph
from explorer.optimize import preset_rules
from explorer.options import CompilerOptions
from explorer.rewrite import GraphOptPattern, match_pattern, match_pattern_graph
from explorer.symbolic import Circuit, circuit_from_json
from explorer.trace import (
    COMPILED,
    Check,
    LayerOrigin,
    Listener,
    NodeRecord,
    Recorder,
    Refusal,
    RuleDescription,
    Step,
    StepPath,
    Trace,
    record_of,
)


def record(circuit: Circuit, compiler: TorchCompiler | None = None, **compiler_options: Any) -> Trace:
    """Compile a circuit and return the trace; `trace.compiled` is the compiled circuit.

    Pass options of `TorchCompiler`, or a compiler, for instance one with custom rules and layers; the recorder listens
    to it for this compilation only. Raises what the compiler raises, with the trace up to the failure as `error.trace`;
    CircuitError if both a compiler and options are passed.
    """
    if compiler is None:
        compiler = TorchCompiler(**compiler_options)
    elif compiler_options:
        raise CircuitError(f"got both a compiler and options; remove {', '.join(compiler_options)}")
    recorder, before = Recorder(), compiler.listeners
    compiler.listeners = (recorder, *before)
    try:
        return record_with(compiler, recorder, circuit)
    finally:
        compiler.listeners = before


def compile_with_origins(circuit: Circuit, compiler: TorchCompiler) -> tuple[Any, Mapping[int, LayerOrigin]]:
    """The compiled circuit, and what each of its layers was made from. Raises what the compiler raises."""
    try:
        trace = record(circuit, compiler)
    except CircuitError as error:
        error.trace = None  # the caller records another level
        raise
    return trace.compiled, trace.layer_origins()


def record_with(compiler: TorchCompiler, recorder: Recorder, circuit: Circuit) -> Trace:
    """The trace of compiling with a compiler that has `recorder` among its listeners.

    Raises: CircuitError if there is nothing to record: the circuit was compiled before, or the recorder is missing.
    """
    if circuit in compiler.circuits:
        raise CircuitError(
            "this compiler has compiled the circuit before, so there is nothing to record; use a new compiler"
        )
    try:
        compiled = compiler.compile(circuit)
    except CircuitError as error:
        error.trace = _trace(compiler, recorder, None)
        raise
    if recorder.subject is not circuit:
        raise CircuitError("the recorder received no events; pass it in `listeners=` when creating the compiler")
    return _trace(compiler, recorder, compiled)


def rerun(trace: Trace, compiler: TorchCompiler | None = None, listeners: Sequence[Listener] = ()) -> Trace:
    """Compile the circuit of a trace again with its options, so that the steps of a loaded trace can be executed.

    A trace that was made with custom rules or layers needs a `compiler` that has them; otherwise `listeners` receive
    every event.
    Raises: CircuitError if the trace holds no circuit, or its rules differ from those of its preset.
    """
    if not trace.level.has_circuit:
        raise CircuitError(
            f"only compilations of circuits are run again; this trace is at the level {trace.level.name}, and its "
            f"{trace.level.noun}s cannot be run after it was read from a file: {trace.level.rerun}"
        )
    if compiler is not None:
        return record(_circuit_of(trace), compiler)
    options = options_of(trace)
    wanted = {rule.name: _without_docs(rule) for rule in trace.rules}
    offered = {rule.name: _without_docs(rule) for rule in preset_rules(options.preset).describe()}
    if list(wanted.values()) != [rule for name, rule in offered.items() if name in wanted]:
        foreign = [name for name, rule in wanted.items() if offered.get(name) != rule]
        what = ", ".join(foreign) or "their order"
        raise CircuitError(
            f"the rules of the trace differ from those of its preset: {what}; pass a compiler that has them"
        )
    return record(_circuit_of(trace), TorchCompiler(options, listeners=listeners))


def options_of(trace: Trace) -> CompilerOptions:
    """The options that compile the circuit of a trace again; rules of its preset that it lacks are disabled."""
    if not trace.is_compilation:  # it has a pipeline instead, or no history
        return CompilerOptions()
    options, used = CompilerOptions.from_json(trace.options), [rule.name for rule in trace.rules]
    names = preset_rules(options.preset).names
    return replace(options, disable=tuple(name for name in names if name not in used))


def _circuit_of(trace: Trace) -> Circuit:
    if isinstance(trace.subject, Circuit):
        return trace.subject
    if trace.circuit_json is None:
        raise CircuitError("the trace holds no symbolic circuit to compile; record the circuit again")
    return circuit_from_json(trace.circuit_json, "the circuit in the trace")


def _without_docs(rule: RuleDescription) -> RuleDescription:
    """The description without docstring and source location, which may change between versions."""
    return replace(rule, doc="", source="")


def _layers_before(trace: Trace, step: int) -> Graph[Any]:
    """The live layers that the rules of a step were tried on."""
    return trace.steps[max(step - 1, 0)].snapshot.graph


def _trace(compiler: TorchCompiler, recorder: Recorder, compiled: Any) -> Trace:
    def pattern_of(name: str) -> GraphOptPattern:
        rules = {rule.pattern.name: rule for r in (compiler.rules.shatter, compiler.rules.fuse) for rule in r}
        return rules[name].pattern

    def explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
        checks: list[Check] = []
        result = match_pattern(_layers_before(trace, step), pattern_of(pattern), node, checks=checks)
        return tuple(checks), result if isinstance(result, Refusal) else None

    def search(
        trace: Trace, step: int, pattern: str, waived: Refusal | None
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[Refusal, ...]]:
        found = match_pattern_graph(_layers_before(trace, step), (pattern_of(pattern),), waived=waived)
        return tuple(match.nodes for match in found.matches), tuple(found.refusals)

    options: Mapping[str, Any] = recorder.options
    return Trace(
        recorder.subject,
        None,
        options,
        recorder.rules,
        tuple(recorder.steps),
        compiled,
        explainer=explain,
        searcher=search,
    )


@dataclass(frozen=True, eq=False, repr=False)
class CircuitSnapshot:
    """The state of a compiled circuit. The origin of its folded layers is unknown; their reads are known."""

    compiled: TorchCircuit
    graph: Graph[NodeRecord]
    stats: Mapping[str, int]
    reads: Mapping[int, Mapping[str, Any]]
    change: None = None
    """There is no previous step."""
    memory: None = None
    """Layers have no buffers."""

    @property
    def size(self) -> tuple[int, int]:
        """Number of layers and of folds."""
        return self.stats["layers"], self.stats["folds"]

    def circuit(self) -> TorchCircuit:
        """A copy of the circuit with the current values."""
        return deepcopy(self.compiled)

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs of the circuit for rows of data."""
        return (self.compiled(x).detach(),)


def trace_of_circuit(circuit: TorchCircuit) -> Trace:
    """A trace with the given circuit as its only step: it can be viewed and run, but has no history."""
    graph, names = circuit.graph, circuit.leaf_names
    nodes = {node: record_of(layer, names.__getitem__) for node, layer in graph.nodes.items()}
    counter = StatsCounter(circuit.semiring.is_complex)
    stats, reads = dict(counter.stats(graph)), reads_of(graph, circuit.fold_index, counter.number_bytes(graph))
    if circuit.fold_index is not None:
        stats["copied_bytes"] = sum(read["copied_bytes"] for read in reads.values())
    snapshot = CircuitSnapshot(circuit, Graph[NodeRecord](nodes, graph.inputs, graph.outputs), stats, reads)
    step = Step(0, StepPath.of("compiled circuit"), COMPILED, changed=True, seconds=0.0, snapshot=snapshot)
    return Trace(None, None, {}, (), (step,), circuit)
