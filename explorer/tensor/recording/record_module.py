"""Rewrite a module and return the trace: `explorer.record(module, example_inputs, pipeline=...)`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.func import functional_call

from explorer.errors import DataTypeError, check_name
from explorer.levels import Recorded, run_options
from explorer.rewrite import (
    DCE_PASS,
    CompilationMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
    Pass,
    PassManager,
    PassOptions,
    PassRegistry,
    PassRun,
)
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments
from explorer.tensor.ir.variables import Apply
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE, Pipeline, describe_rules
from explorer.tensor.recording.observer import Observer
from explorer.tensor.recording.tensor_snapshot import TensorSnapshot, run
from explorer.tensor.rewriting import Declined, LocalRewriter, PatternSub, Rewriter
from explorer.tensor.rewriting.rewriters import check_tracks, is_tracked
from explorer.tensor.torch_io.exporting import to_module
from explorer.tensor.torch_io.importing import export, from_exported
from explorer.tensor.torch_io.nhwc import check_layout, nhwc_rewriter
from explorer.trace import TENSOR, Check, Listener, Recorder, Refusal, Trace

MODES = tuple(mode.value for mode in CompilationMode)


Chosen = Pipeline | FunctionPassPipeline | FunctionPassConfig | str
"""Specification of a pipeline; a string is the name of a pass."""


def record_module(
    subject: "nn.Module | ExportedProgram | FunctionGraph",
    example_inputs: Sequence[Any] = (),
    pipeline: "Chosen | Sequence[Chosen] | None" = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    mode: str = "infer",
    operators: str = "functional",
    layout: str = "",
    one_by_one: bool = False,
    listeners: Sequence[Listener] = (),
    name: str = "",
) -> Trace:
    """Export a module, rewrite its graph, and return the trace; `trace.compiled` is the rewritten module.

    `kwargs` are example inputs by name; an exported program has its own. `pipeline` is a pipeline of passes, the name
    of a pass, a rewriter, or several of these; None: the default passes. With `one_by_one` each rewrite is a step of
    its own; else rewrites that do not match each other's results share one. A graph is rewritten as a copy. With the
    layout "nhwc" the first step makes channels last explicit.
    Raises: ExportError, UnknownNameError, DataTypeError for an invalid pipeline, and errors of rules; these have the
    trace up to there.
    """
    steps = pipelines_of(pipeline, mode, layout)
    imported = import_graph(subject, example_inputs, kwargs=kwargs, mode=mode, operators=operators)
    graph, kept, source = imported.graph, imported.examples, imported.source
    recorder = Recorder()
    observer = Observer((recorder, *listeners), one_by_one)
    graph.attach_feature(observer)
    entries = [entry for part in steps for entry in entries_of(part)]
    options = run_options(
        TENSOR,
        name or type(subject).__name__,
        entries,
        mode=mode,
        operators=operators,
        layout=layout,
        one_by_one=one_by_one,
    )
    observer.begin(options, describe_rules(steps))
    observer.first("import")
    explain = explainer({r.label: r for part in steps for r in part.local_rewriters()})
    recorded = Recorded(recorder, explain, kept, source)
    with recorded.kept_on_failure():
        for part in steps:
            part.rewrite(graph)
    return recorded.trace(to_module(graph))


@dataclass(frozen=True)
class Imported:
    """A graph that was imported, its example inputs, and the program it was imported from, to run it."""

    graph: FunctionGraph
    examples: Any
    source: Callable[[Any], tuple[torch.Tensor, ...]] | None
    exported: ExportedProgram | None = None


def import_graph(
    subject: "nn.Module | ExportedProgram | FunctionGraph",
    example_inputs: Sequence[Any] = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    mode: str = "infer",
    operators: str = "functional",
) -> Imported:
    """Export a module, or copy a graph. Raises: ExportError, UnknownNameError, DataTypeError."""
    check_name("mode", mode, MODES)
    examples = _examples(subject, example_inputs, kwargs or {})
    training = mode == "train"
    kept = examples if examples.by_name else tuple(examples) or None
    if isinstance(subject, FunctionGraph):
        return Imported(subject.clone(), kept, None)
    if isinstance(subject, nn.Module):
        module, exported = subject, export(subject, examples, examples.by_name, level=operators, training=training)
    else:
        module, exported = None, subject
    graph = from_exported(exported, level=operators, training=training, module=module)
    return Imported(graph, kept, partial(_run_exported, exported), exported)


def pipelines_of(pipeline: "Chosen | Sequence[Chosen] | None", mode: str, layout: str = "") -> tuple[Pipeline, ...]:
    """The pipelines to run, in order. Raises: UnknownNameError, DataTypeError."""
    check_name("mode", mode, MODES)
    check_layout(layout)
    return (*((nhwc_rewriter,) if layout == "nhwc" else ()), *_pipelines(pipeline, mode))


def _examples(subject: object, positional: Sequence[Any], by_name: Mapping[str, Any]) -> Arguments:
    """The given example inputs, or else the example inputs of an exported program.

    Raises: DataTypeError for a tensor in place of a tuple of arguments.
    """
    if isinstance(positional, torch.Tensor):
        raise DataTypeError("expected a tuple of example inputs, such as (x,), got a tensor")
    if isinstance(subject, ExportedProgram) and subject.example_inputs and not (positional or by_name):
        positional, by_name = subject.example_inputs
    return Arguments(positional, by_name)


def _run_exported(program: ExportedProgram, x: Any) -> tuple[torch.Tensor, ...]:
    """The results of an exported program, run on a copy of its mutable state."""
    module = program.module()
    state = {name: buffer.clone() for name, buffer in module.named_buffers()}
    return run(lambda *args, **kwargs: functional_call(module, state, args, kwargs), x)


def _pipelines(pipeline: "Chosen | Sequence[Chosen] | None", mode: str) -> tuple[Pipeline, ...]:
    """The pipelines to run; consecutive passes and names of passes are one pipeline."""
    chosen: Any = DEFAULT_PIPELINE if pipeline is None else pipeline
    several = isinstance(chosen, Sequence) and not isinstance(chosen, str)
    steps: list[Pipeline] = []
    for is_pass, entries in groupby(chosen if several else (chosen,), _is_pass):
        if is_pass:
            passes = FunctionPassPipeline.of(*(config for entry in entries for config in _configs(entry)))
            steps.append(ManagedPipeline(passes, CompilationMode(mode)))
        else:
            steps.extend(map(_check, entries))
    return tuple(steps)


def _is_pass(entry: object) -> bool:
    return isinstance(entry, FunctionPassPipeline | FunctionPassConfig | str)


def _configs(entry: Any) -> "Iterable[FunctionPassConfig | str]":
    return entry if isinstance(entry, FunctionPassPipeline) else (entry,)


def _check(entry: Any) -> Pipeline:
    """Raises: DataTypeError if `entry` is not a pipeline."""
    if isinstance(entry, type):
        raise DataTypeError(f"a pipeline cannot be the class {entry.__name__}: pass an object of it")
    if isinstance(entry, Pipeline):
        return entry
    if isinstance(entry, LocalRewriter):
        raise DataTypeError(
            f"a pipeline cannot be the rule {entry.label}: wrap it in a graph walker, e.g. in2out(rule)"
        )
    raise DataTypeError(
        f"a pipeline cannot be {entry!r}: expected passes or their names, rewriters, or a list of these"
    )


def entries_of(pipeline: Pipeline) -> list[str]:
    """The entries of a pipeline in a record: its passes in order, or the name of a rewriter."""
    return pipeline.entries() if isinstance(pipeline, ManagedPipeline) else [label_of(pipeline)]


def label_of(pipeline: Pipeline) -> str:
    """The name of a pipeline or rewriter."""
    return str(getattr(pipeline, "label", "")) or type(pipeline).__name__


def explainer(
    rewriters: Mapping[str, LocalRewriter],
) -> Callable[[Trace, int, str, int], tuple[tuple[Check, ...], Refusal | None]]:
    """Returns a function that tries a rule again on the state before a step."""

    def explain(trace: Trace, step: int, pattern: str, node: int) -> tuple[tuple[Check, ...], Refusal | None]:
        snapshot = trace.steps[max(step - 1, 0)].snapshot
        rewriter = rewriters.get(pattern)
        if rewriter is None or not isinstance(snapshot, TensorSnapshot):
            return (), None
        graph = snapshot.state.function_graph()
        found = next((known for known in graph.nodes if known.id == node), None)
        return ((), None) if found is None else _try_again(rewriter, found)

    return explain


def _try_again(rewriter: LocalRewriter, node: Apply) -> tuple[tuple[Check, ...], Refusal | None]:
    checks: list[Check] = []
    if isinstance(rewriter, PatternSub):
        answer = rewriter.match(node, checks)
        if isinstance(answer, Refusal):
            return tuple(checks), answer
    tracked = check_tracks(rewriter)
    if tracked is not None and not any(is_tracked(node.op, wanted) for wanted in tracked):
        return tuple(checks), None
    given = rewriter.attempt(node)
    if isinstance(given, Refusal):
        return tuple(checks), given
    if isinstance(given, Declined):
        return tuple(checks), given.refusal(rewriter.label, node)
    return tuple(checks), None


@dataclass(eq=False)
class ManagedPipeline:
    """Runs a pipeline in a mode. Raises: UnknownNameError for an unknown pass."""

    pipeline: FunctionPassPipeline
    mode: CompilationMode = CompilationMode.INFER
    passes: PassRegistry[FunctionGraph] | None = None
    options: PassOptions[FunctionGraph] | None = None
    label: str = "pipeline"

    def __post_init__(self) -> None:
        self._passes: PassRegistry[FunctionGraph] = passes if self.passes is None else self.passes
        self._manager = PassManager(self.pipeline, self._passes, self.options)

    def rewrite(self, graph: FunctionGraph) -> tuple[PassRun, ...]:
        """Run all passes of the mode; return what each one did, with a `Profile` for each of its rounds."""
        return self._manager.run(graph, self.mode)

    def rule_names(self) -> tuple[str, ...]:
        """The rules of all its passes, each once."""
        return tuple(dict.fromkeys(name for made in self._pipeline_passes() for name in made.rule_names()))

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        """The local rewriters of all its passes, each once."""
        return tuple(dict.fromkeys(local for rewriter in self._rewriters() for local in rewriter.local_rewriters()))

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        """The global rewriters of all its passes, each once."""
        return tuple(dict.fromkeys(found for rewriter in self._rewriters() for found in rewriter.global_rewriters()))

    def entries(self) -> list[str]:
        """The names of its passes in order, as a record keeps them."""
        return [str(config) for config in self.pipeline]

    def _rewriters(self) -> list[Rewriter]:
        return [made.rewriter() for made in self._pipeline_passes() if isinstance(made, GraphPass)]

    def _pipeline_passes(self) -> list[Pass[FunctionGraph]]:
        """The passes that may run: its entries, and DCE if it runs before one of them."""
        names = [*self.pipeline.pass_ids]
        if any(config.dce is DCERequiredMode.BEFORE_PASS for config in self.pipeline):
            names.append(DCE_PASS)
        return [self._passes[name] for name in dict.fromkeys(names) if name in self._passes.passes]
