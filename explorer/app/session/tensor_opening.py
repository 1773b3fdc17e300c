"""From a circuit to a trace of its tensor level: compiled, exported, and rewritten by the pipeline of a place."""

from explorer.app.session.options import TensorOptions
from explorer.app.session.pass_entries import pipeline_of
from explorer.bench import random_inputs
from explorer.compiler import TorchCompiler
from explorer.rewrite import CompilationMode, FunctionPassPipeline
from explorer.symbolic import Circuit
from explorer.trace import Listener, Trace

ROWS = 8
"""The batch that the tensor level of a circuit is made for: its shapes are fixed."""


def tensor_trace(
    circuit: Circuit,
    compiler: TorchCompiler,
    options: TensorOptions,
    name: str,
    listeners: tuple[Listener, ...] = (),
    rows: int = ROWS,
) -> Trace:
    """Compile a circuit, export what came out for a batch of some rows, rewrite it.

    Raises: what compiling, exporting and the rules raise.
    """
    from explorer.tensor import from_module
    from explorer.tensor.recording.managed import ManagedPipeline
    from explorer.tensor.recording.record import record_module

    compiled = compiler.compile(circuit)
    x = random_inputs(compiled, rows)
    graph = from_module(compiled, (x,), training=options.compile_for == "train")
    pipeline = ManagedPipeline(chosen_pipeline(options), CompilationMode(options.compile_for))
    return record_module(
        graph,
        (x,),
        pipeline,
        mode=options.compile_for,
        one_by_one=options.one_by_one,
        listeners=listeners,
        name=name,
    )


def chosen_pipeline(options: TensorOptions) -> FunctionPassPipeline:
    """The pipeline that options name, or the default one. Raises: UnknownNameError for a pass."""
    from explorer.tensor.passes import passes
    from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE

    if not options.passes:
        return DEFAULT_PIPELINE
    return pipeline_of(options.passes, passes.names)
