"""The levels below the compiled circuit: their passes, and recording a circuit at one of them."""

from collections.abc import Sequence
from dataclasses import replace

from explorer.app.session.options import TensorOptions
from explorer.app.session.pass_entries import pipeline_of
from explorer.bench import random_inputs
from explorer.compiler import TorchCompiler, compile_with_origins
from explorer.recording import ROWS, record
from explorer.rewrite import FunctionPassPipeline
from explorer.symbolic import Circuit
from explorer.trace import PROGRAM, Listener, Trace


def exported_trace(
    circuit: Circuit,
    compiler: TorchCompiler,
    options: TensorOptions,
    name: str,
    listeners: tuple[Listener, ...] = (),
    rows: int = ROWS,
) -> Trace:
    """Compile a circuit, export it for a batch of some rows, and record it at the level of the options.

    Raises: the errors of compiling, exporting and the rules.
    """
    from explorer.tensor import from_module

    pipeline = pipeline_or_default(options)
    compiled, layers = compile_with_origins(circuit, compiler)
    x = random_inputs(compiled, rows)
    graph = from_module(compiled, (x,), level=options.operators, training=options.compile_for == "train")
    more = {} if options.level == PROGRAM else {"one_by_one": options.one_by_one}
    trace = record(
        graph,
        (x,),
        pipeline,
        level=options.level,
        mode=options.compile_for,
        listeners=listeners,
        name=name,
        **more,
    )
    return replace(trace, layers=layers)


def pass_names(level: str) -> Sequence[str]:
    """The names of the passes of a level."""
    if level == PROGRAM:
        from explorer.program.passes import passes as program_passes

        return program_passes.names
    from explorer.tensor.passes import passes

    return passes.names


def pipeline_or_default(options: TensorOptions) -> FunctionPassPipeline:
    """Return the pipeline of the options, or the default one of their level. Raises: UnknownNameError for a pass."""
    if options.passes:
        return pipeline_of(options.passes, pass_names(options.level))
    if options.level == PROGRAM:
        from explorer.program.passes.pipelines import MEMORY_PIPELINE

        return MEMORY_PIPELINE
    from explorer.tensor.passes.pipelines import DEFAULT_PIPELINE

    return DEFAULT_PIPELINE
