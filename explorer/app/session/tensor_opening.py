"""Records the tensor level of a circuit: compiles, exports and rewrites it by the chosen pipeline."""

from explorer.app.session.options import TensorOptions
from explorer.app.session.pass_entries import pipeline_of
from explorer.bench import random_inputs
from explorer.compiler import TorchCompiler
from explorer.rewrite import CompilationMode, FunctionPassPipeline
from explorer.symbolic import Circuit
from explorer.trace import Listener, Trace

ROWS = 8
"""The batch size of the tensor level of a circuit, whose shapes are fixed."""


def tensor_trace(
    circuit: Circuit,
    compiler: TorchCompiler,
    options: TensorOptions,
    name: str,
    listeners: tuple[Listener, ...] = (),
    rows: int = ROWS,
) -> Trace:
    """Compile a circuit, export it for a batch of some rows, and rewrite it.

    Raises: the errors of compiling, exporting and the rules.
    """
    from explorer.tensor import from_module
    from explorer.tensor.recording.managed import ManagedPipeline
    from explorer.tensor.recording.record import record_module

    pipeline = ManagedPipeline(pipeline_or_default(options), CompilationMode(options.compile_for))
    compiled = compiler.compile(circuit)
    x = random_inputs(compiled, rows)
    graph = from_module(compiled, (x,), training=options.compile_for == "train")
    return record_module(
        graph,
        (x,),
        pipeline,
        mode=options.compile_for,
        one_by_one=options.one_by_one,
        listeners=listeners,
        name=name,
    )


def pipeline_or_default(options: TensorOptions) -> FunctionPassPipeline:
    """Return the pipeline of the options, or the default one. Raises: UnknownNameError for a pass."""
    from explorer.tensor.passes import passes
    from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE

    if not options.passes:
        return DEFAULT_PIPELINE
    return pipeline_of(options.passes, passes.names)
