"""Lower a module to a program, run passes on it, and return the trace: `explorer.record(module, level="program")`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from explorer.compiler.compiler import pause_garbage_collection
from explorer.errors import CircuitError, DataTypeError, ExportError, OperatorError
from explorer.program.editing import WorkingProgram
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify
from explorer.program.lowering import lower, lower_joint
from explorer.program.passes import find_pass, passes
from explorer.program.passes.pipelines import MEMORY_PIPELINE
from explorer.program.recording.gradients import learned_of, run_source_with_gradients
from explorer.program.recording.notes import ParameterGraphs
from explorer.program.recording.observer import ProgramRecording
from explorer.program.recording.snapshot import ProgramSnapshot
from explorer.program.running.module import to_program_module
from explorer.rewrite import CompilationMode, FunctionPassConfig, FunctionPassPipeline, PassManager
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments
from explorer.tensor.recording.record import Chosen, Imported, entries_of, import_graph, pipelines_of
from explorer.tensor.torch_io.joint import JointGraph, joint_graph
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

Passes = FunctionPassPipeline | FunctionPassConfig | str
Source = Callable[[Any], tuple[torch.Tensor, ...]]


def record_program(
    subject: "nn.Module | ExportedProgram | FunctionGraph",
    example_inputs: Sequence[Any] = (),
    pipeline: Passes | Sequence[Passes] | None = None,
    *,
    tensor_pipeline: "Chosen | Sequence[Chosen] | None" = None,
    kwargs: Mapping[str, Any] | None = None,
    mode: str = "infer",
    operators: str = "functional",
    layout: str = "",
    listeners: Sequence[Listener] = (),
    name: str = "",
) -> Trace:
    """Export a module, rewrite its graph, lower it, run passes on the program, and return the trace.

    `trace.compiled` runs the last program. With `mode="train"` it has a backward pass, with gradients of the parameters
    and of the example inputs that require one; if none can be recorded, the first step says why. `pipeline` are passes
    on programs or their names (None: the memory passes); `tensor_pipeline` is what `record_module` accepts, and its
    steps are not recorded. All other arguments are those of `record_module`.
    Raises: as `record_module`; OperatorError for a graph that cannot be lowered.
    """
    chosen = _pipeline(pipeline)
    manager = PassManager(chosen, passes)
    rewriting = pipelines_of(tensor_pipeline, mode, layout)
    imported = import_graph(subject, example_inputs, kwargs=kwargs, mode=mode, operators=operators)
    before = ParameterGraphs.of(imported.graph)
    for part in rewriting:
        part.rewrite(imported.graph)
    started = perf_counter()
    title = name or type(subject).__name__
    joint, reason = _lower_with_gradients(imported, title) if mode == "train" else (None, "")
    graph, program = joint or (imported.graph, lower(imported.graph, title))
    recorder = Recorder()
    recording = ProgramRecording((recorder, *listeners), graph, program, reason)
    working = WorkingProgram(program, recording)
    working.verify()
    options = {
        "level": PROGRAM,
        "subject": title,
        "pipeline": [str(config) for config in chosen],
        "tensor_pipeline": [entry for part in rewriting for entry in entries_of(part)],
        "mode": mode,
        "operators": operators,
        "layout": layout,
        "one_by_one": False,
    }
    notes = [before.evaluated_note(imported.graph)] if mode == "infer" else []
    notes += [f"It has no backward pass: {reason}."] if reason else []
    recording.begin(RunStarted(None, options, describe_passes(chosen)), perf_counter() - started, notes)
    try:
        with pause_garbage_collection():
            manager.run(working, CompilationMode(mode))
            verify(working.program)
    except CircuitError as error:
        error.trace = _trace(recorder, None, imported.examples, imported.source)
        raise
    with pause_garbage_collection():
        compiled = to_program_module(graph, working.program, reason)
    source = imported.source
    if joint is not None and imported.exported is not None:
        source = partial(run_source_with_gradients, imported.exported, imported.graph, learned_of(joint[0], compiled))
    return _trace(recorder, compiled, imported.examples, source)


def _lower_with_gradients(imported: Imported, title: str) -> tuple[tuple[JointGraph, Program] | None, str]:
    """The joint graph of what was imported, and its program; or None and the reason why there is no backward pass."""
    graph, examples = imported.graph, imported.examples
    try:
        joint = joint_graph(graph, _learned_inputs(graph, examples) if examples is not None else ())
        program = lower_joint(joint, title)
        verify(program)
    except (ExportError, OperatorError) as error:
        return None, str(error)
    return (joint, program), ""


def _learned_inputs(graph: FunctionGraph, examples: Any) -> list[bool]:
    """For each input whether its example requires a gradient."""
    by_name = examples.by_name if isinstance(examples, Arguments) else {}
    return [tensor.requires_grad for tensor in graph.interface.flat_arguments(tuple(examples), dict(by_name))]


def describe_passes(pipeline: FunctionPassPipeline) -> tuple[RuleDescription, ...]:
    """Descriptions of the rules of a pipeline, each once."""
    found = [one for name in pipeline.pass_ids if (one := find_pass(name)) is not None]
    return tuple(
        RuleDescription(one.name, one.name, (ANY_OPERATOR,), PROGRAM, "exact", one.doc, one.source, guarded=True)
        for one in found
    )


def _pipeline(chosen: Passes | Sequence[Passes] | None) -> FunctionPassPipeline:
    """Raises: DataTypeError for something else than passes on programs."""
    if chosen is None:
        return MEMORY_PIPELINE
    if isinstance(chosen, FunctionPassPipeline):
        return chosen
    entries = (chosen,) if isinstance(chosen, FunctionPassConfig | str) else tuple(chosen)
    found = FunctionPassPipeline()
    for entry in entries:
        if not isinstance(entry, FunctionPassPipeline | FunctionPassConfig | str):
            raise DataTypeError(f"expected passes on programs or their names as the pipeline, got {entry!r}")
        found += entry if isinstance(entry, FunctionPassPipeline) else FunctionPassPipeline.of(entry)
    return found


def _trace(recorder: Recorder, compiled: Any, examples: Any, source: Source | None) -> Trace:
    options: Mapping[str, Any] = recorder.options
    return Trace(None, None, options, recorder.rules, tuple(recorder.steps), compiled, _explain, examples, source)


def _explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
    """What a rule says of an instruction in the state before a step, asked again."""
    snapshot = trace.steps[max(step - 1, 0)].snapshot
    assert isinstance(snapshot, ProgramSnapshot)
    return (), snapshot.refusal(pattern, node)
