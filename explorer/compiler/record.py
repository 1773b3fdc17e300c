"""Compile and keep the trace: `explorer.record(circuit)`."""

from collections.abc import Mapping
from typing import Any

from explorer.compiler.compiler import TorchCompiler
from explorer.errors import CircuitError
from explorer.rewrite import match_pattern
from explorer.symbolic import Circuit, circuit_from_json
from explorer.trace import Check, Recorder, Refusal, Trace

RERUN_OPTIONS = ("semiring", "optimize", "fold", "preset", "strategy", "max_rounds", "levels", "seed")


def record(circuit: Circuit, **compiler_options: Any) -> Trace:
    """Compile a circuit with the options of `TorchCompiler` and give the trace; `trace.compiled` is the circuit.

    Raises what the compiler raises; the error then carries the trace up to the failure as `error.trace`.
    """
    listeners = tuple(compiler_options.pop("listeners", ()))
    recorder = Recorder()
    return record_with(TorchCompiler(listeners=(recorder, *listeners), **compiler_options), recorder, circuit)


def record_with(compiler: TorchCompiler, recorder: Recorder, circuit: Circuit) -> Trace:
    """The trace of compiling with a compiler of one's own, which has `recorder` among its listeners."""
    try:
        compiled = compiler.compile(circuit)
    except CircuitError as error:
        error.trace = _trace(compiler, recorder, None)
        raise
    if not recorder.steps:
        raise CircuitError(
            "the circuit was compiled before by this compiler, so there is nothing to record; use a new one"
        )
    return _trace(compiler, recorder, compiled)


def rerun(trace: Trace) -> Trace:
    """Compile the circuit of a loaded trace again, with its options, so that its steps can be executed.

    Raises: CircuitError if the trace holds no circuit or was made with rules that are not part of its preset.
    """
    if trace.circuit_json is None:
        raise CircuitError("the trace holds no circuit; record the circuit again")
    circuit = circuit_from_json(trace.circuit_json, "the circuit in the trace")
    options = {name: trace.options[name] for name in RERUN_OPTIONS}
    preset_rules = TorchCompiler(preset=options["preset"]).rules.names
    wanted = trace.options["rules"]
    foreign = [name for name in wanted if name not in preset_rules]
    if foreign:
        raise CircuitError(
            f"the trace was made with the rules {foreign}, which its preset lacks; record it again with them"
        )
    return record(circuit, disable=[name for name in preset_rules if name not in wanted], **options)


def _trace(compiler: TorchCompiler, recorder: Recorder, compiled: Any) -> Trace:
    def explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
        graph = trace.steps[max(step - 1, 0)].snapshot.graph
        rules = {rule.pattern.name: rule for r in (compiler.rules.shatter, compiler.rules.fuse) for rule in r}
        checks: list[Check] = []
        result = match_pattern(graph, rules[pattern].pattern, node, checks=checks)
        return tuple(checks), result if isinstance(result, Refusal) else None

    options: Mapping[str, Any] = recorder.options
    return Trace(recorder.subject, None, options, recorder.rules, tuple(recorder.steps), compiled, explain)
