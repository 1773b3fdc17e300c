"""The levels below the compiled circuit: their passes, and recording a circuit at one of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer.app.session.options import TensorOptions
from explorer.app.session.pass_entries import pipeline_of
from explorer.bench import random_inputs
from explorer.compiler import TorchCompiler, compile_with_origins
from explorer.recording import lowered_level
from explorer.rewrite import FunctionPassPipeline
from explorer.symbolic import Circuit
from explorer.trace import Listener, Trace


def exported_trace(
    circuit: Circuit,
    compiler: TorchCompiler,
    options: TensorOptions,
    name: str,
    listeners: tuple[Listener, ...] = (),
    rows: int | None = None,
) -> Trace:
    """Compile a circuit, export it for a batch of some rows if its level asks for it, and record it at that level.

    Raises: the errors of compiling, exporting and the rules.
    """
    level, pipeline = lowered_level(options.level), pipeline_or_default(options)
    compiled, layers = compile_with_origins(circuit, compiler)
    x = random_inputs(compiled, level.rows if rows is None else rows)
    subject: Any = compiled
    if "operators" in level.options:
        from explorer.tensor import from_module

        subject = from_module(compiled, (x,), level=options.operators, training=options.compile_for == "train")
    offered = {"mode": options.compile_for, "one_by_one": options.one_by_one}
    more = {key: value for key, value in offered.items() if key in level.options}
    return replace(level.record(subject, (x,), pipeline, listeners=listeners, name=name, **more), layers=layers)


def pass_names(level: str) -> Sequence[str]:
    """The names of the passes of a level."""
    return lowered_level(level).passes.names


def pipeline_or_default(options: TensorOptions) -> FunctionPassPipeline:
    """Return the pipeline of the options, or the default one of their level. Raises: UnknownNameError for a pass."""
    if options.passes:
        return pipeline_of(options.passes, pass_names(options.level))
    return lowered_level(options.level).pipeline
