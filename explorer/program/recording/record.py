"""Lower a module to a program, run passes on it, and return the trace: `explorer.record(module, level="program")`."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import torch

from explorer.errors import CircuitError
from explorer.program.editing.working import WorkingProgram
from explorer.program.lowering.lower import lower
from explorer.program.passes import passes
from explorer.program.passes.pipelines import MEMORY_PIPELINE
from explorer.program.recording.observer import ProgramRecording
from explorer.program.recording.snapshot import ProgramSnapshot
from explorer.program.running.module import to_program_module
from explorer.rewrite import CompilationMode, FunctionPassPipeline, PassManager
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.recording.snapshot import run
from explorer.tensor.torch_io.exporting import to_module
from explorer.trace import (
    PROGRAM,
    Check,
    Listener,
    Recorder,
    Refusal,
    RuleDescription,
    RunStarted,
    Trace,
)
from explorer.trace.reasons import ANY_OPERATOR


def record_program(
    graph: FunctionGraph,
    example_inputs: Any = None,
    pipeline: FunctionPassPipeline = MEMORY_PIPELINE,
    *,
    mode: str = "infer",
    listeners: Sequence[Listener] = (),
    name: str = "",
    tensor_pipeline: Sequence[str] = (),
) -> Trace:
    """Lower a graph, run passes on the program, and return the trace; `trace.compiled` runs the last program.

    `tensor_pipeline` names the passes that made the graph, for the record.
    Raises: OperatorError for a graph that cannot be lowered, UnknownNameError for a pass; errors of rules, with the
    trace up to there.
    """
    started = perf_counter()
    program = lower(graph, name)
    program.verify()
    seconds = perf_counter() - started
    manager = PassManager(pipeline, passes)
    recorder = Recorder()
    recording = ProgramRecording((recorder, *listeners), graph, program)
    rules = describe_passes(pipeline)
    options = {
        "level": PROGRAM,
        "subject": name,
        "pipeline": [str(config) for config in pipeline],
        "mode": mode,
        "operators": "functional",
        "layout": "",
        "one_by_one": False,
        "tensor_pipeline": list(tensor_pipeline),
    }
    for listener in (recorder, *listeners):
        listener(RunStarted(None, options, rules))
    recording.first("lower", seconds)
    working = WorkingProgram(program, recording)
    source = partial(_run_graph, graph)
    try:
        manager.run(working, CompilationMode(mode))
    except CircuitError as error:
        error.trace = _trace(recorder, None, example_inputs, source)
        raise
    return _trace(recorder, to_program_module(graph, working.program), example_inputs, source)


def describe_passes(pipeline: FunctionPassPipeline) -> tuple[RuleDescription, ...]:
    """Descriptions of the rules of a pipeline, each once."""
    found = [passes[name] for name in pipeline.pass_ids if name in passes.passes]
    return tuple(
        RuleDescription(one.name, one.name, (ANY_OPERATOR,), PROGRAM, "exact", one.doc, one.source, guarded=True)
        for one in found
    )


def _run_graph(graph: FunctionGraph, x: Any) -> tuple[torch.Tensor, ...]:
    """The results of the operators, one by one."""
    return run(to_module(graph), x)


def _trace(
    recorder: Recorder, compiled: Any, examples: Any, source: Callable[[Any], tuple[torch.Tensor, ...]]
) -> Trace:
    return Trace(
        None, None, recorder.options, recorder.rules, tuple(recorder.steps), compiled, _explain, examples, source
    )


def _explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
    """What a rule kept at an instruction on the state before a step."""
    snapshot = trace.steps[max(step - 1, 0)].snapshot
    assert isinstance(snapshot, ProgramSnapshot)
    for missed in trace.steps[step].refusals:
        if missed.refusal.pattern == pattern and missed.refusal.root == node:
            return (), missed.refusal
    return (), None
