"""Lower a module to a program, run passes on it, and return the trace: `explorer.record(module, level="program")`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from torch import nn
from torch.export import ExportedProgram

from explorer.errors import ExportError, OperatorError
from explorer.levels import (
    PassChoice,
    Recorded,
    StateRecording,
    choose_passes,
    describe_passes,
    explainer_of,
    pause_garbage_collection,
    run_options,
)
from explorer.program.editing import WorkingProgram
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify
from explorer.program.lowering import lower, lower_joint
from explorer.program.passes import MEMORY_PIPELINE, passes
from explorer.program.recording.program_snapshot import ProgramSnapshot, learned_of, run_source_with_gradients
from explorer.program.running.module import to_program_module
from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor.facts import parameter_graphs
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments
from explorer.tensor.ir.variables import Apply, Constant
from explorer.tensor.recording.record_module import Chosen, Imported, entries_of, import_graph, pipelines_of
from explorer.tensor.torch_io.joint import JointGraph, joint_graph
from explorer.trace import PROGRAM, Listener, Recorder, Trace

MAX_NAMES = 6
"""Maximum number of operators that a note counts by name."""


@dataclass(frozen=True, slots=True, eq=False)
class ParameterGraphs:
    """The results of the parameter graphs of a graph at one time, and the tensors of its constants."""

    operators: Counter[str]
    tensors: tuple[object, ...]

    @classmethod
    def of(cls, graph: FunctionGraph) -> "ParameterGraphs":
        """The parameter graphs of a graph as it is now."""
        nodes = parameter_graphs(graph.toposort(), graph.inputs)
        names = Counter(node.op.name.strip("_") for node in nodes if not _is_view(node))
        return cls(names, tuple(constant.data for constant in graph.constants))

    def evaluated_note(self, graph: FunctionGraph) -> str:
        """Tell which of their operators the graph does not have any more, because rewriting it has evaluated them.

        Empty if there is none.
        """
        gone = self.operators - ParameterGraphs.of(graph).operators
        if not gone:
            return ""
        known = {id(tensor) for tensor in self.tensors}
        held = sum(_size_bytes(constant) for constant in graph.constants if id(constant.data) not in known)
        counts = [f"{count:,} {name}" for name, count in gone.most_common(MAX_NAMES)]
        rest = gone.total() - sum(count for _, count in gone.most_common(MAX_NAMES))
        counts += [f"{rest:,} others"] if rest else []
        return (
            f"Evaluated once, on copies of the parameters: {', '.join(counts)}; the results are {held:,} bytes. "
            "Record again when parameters change."
        )


def _is_view(node: Apply) -> bool:
    """Whether all results of an operator are views, which cost nothing."""
    return all(result.alias_info is not None for result in node.op.target._schema.returns)


def _size_bytes(constant: Constant) -> int:
    return constant.data.numel() * constant.data.element_size()


def record_program(
    subject: "nn.Module | ExportedProgram | FunctionGraph",
    example_inputs: Sequence[Any] = (),
    pipeline: PassChoice | Sequence[PassChoice] | None = None,
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
    steps are not recorded. All other arguments are as in `record_module`.
    Raises: as `record_module`; OperatorError for a graph that cannot be lowered.
    """
    chosen = choose_passes(pipeline, MEMORY_PIPELINE)
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
    recording = StateRecording(PROGRAM, (recorder, *listeners), ProgramSnapshot.of(program, graph, reason))
    working = WorkingProgram(program, recording)
    working.verify()
    options = run_options(
        PROGRAM,
        title,
        [str(config) for config in chosen],
        mode=mode,
        operators=operators,
        layout=layout,
        tensor_pipeline=[entry for part in rewriting for entry in entries_of(part)],
    )
    notes = [before.evaluated_note(imported.graph)] if mode == "infer" else []
    notes += [f"It has no backward pass: {reason}."] if reason else []
    recording.begin(options, describe_passes(passes, chosen.pass_ids))
    recording.first("lower", perf_counter() - started, notes)
    recorded = Recorded(recorder, explainer_of(WorkingProgram, passes), imported.examples, imported.source)
    with recorded.kept_on_failure(), pause_garbage_collection():
        manager.run(working, CompilationMode(mode))
        verify(working.program)
    with pause_garbage_collection():
        compiled = to_program_module(graph, working.program, reason)
    source = imported.source
    if joint is not None and imported.exported is not None:
        source = partial(run_source_with_gradients, imported.exported, imported.graph, learned_of(joint[0], compiled))
    return recorded.trace(compiled, source)


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
