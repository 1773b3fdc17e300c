"""`explorer.record`: the trace of compiling a circuit, or of a module at a lower level; loads only what it needs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from explorer.errors import DataTypeError, check_name
from explorer.symbolic import Circuit
from explorer.trace import LEVELS, PROGRAM, LayerOrigin
from explorer.trace.ladder import COMPILED

if TYPE_CHECKING:
    from explorer.trace import Trace

ROWS = 8
"""The batch size of the lower levels of a circuit, whose shapes are fixed."""


def record(subject: Any, *arguments: Any, level: str = "", **options: Any) -> "Trace":
    """Compile a circuit, or rewrite a module, and return the trace; `trace.compiled` is the result.

    - A symbolic circuit: `record(circuit, preset="handbook", fold=False, ...)`, see `explorer.compiler.record`.
    - An `nn.Module`, an exported program, or a tensor graph: `record(module, example_inputs, pipeline=...)`, see
      `explorer.tensor.recording.record.record_module`.
    - With `level="program"`, any of these as instructions on buffers, see
      `explorer.program.recording.record.record_program`. At the levels below "compiled", a circuit accepts
      `compiler` (options of `TorchCompiler`) and `batch_size`.

    Raises: UnknownNameError for a level; DataTypeError for anything else than these subjects; otherwise as these
    functions.
    """
    is_circuit = isinstance(subject, Circuit)
    level = level or (COMPILED.name if is_circuit else "tensor")
    check_name("level", level, LEVELS)
    if is_circuit and level == COMPILED.name:
        from explorer.compiler import record as record_circuit

        return record_circuit(subject, *arguments, **options)
    layers: Mapping[int, LayerOrigin] = {}
    if is_circuit:
        subject, arguments, options, layers = _exported(subject, arguments, **options)
    from torch import nn
    from torch.export import ExportedProgram

    from explorer.tensor import FunctionGraph

    if level == COMPILED.name or not isinstance(subject, nn.Module | ExportedProgram | FunctionGraph):
        wanted = "a circuit" if level == COMPILED.name else "a circuit, an nn.Module with example inputs, an exported "
        wanted += "" if level == COMPILED.name else "program or a tensor graph"
        raise DataTypeError(f"expected {wanted} to record, got {type(subject).__name__}")
    if level == PROGRAM:
        from explorer.program.recording.record import record_program

        return replace(record_program(subject, *arguments, **options), layers=layers)
    from explorer.tensor.recording.record import record_module

    return replace(record_module(subject, *arguments, **options), layers=layers)


def _exported(
    circuit: Circuit,
    arguments: tuple[Any, ...],
    *,
    compiler: "dict[str, Any] | None" = None,
    batch_size: int = ROWS,
    **options: Any,
) -> tuple[Any, tuple[Any, ...], dict[str, Any], Mapping[int, LayerOrigin]]:
    """A compiled circuit with example inputs, unless the caller has passed some, and the origins of its layers."""
    from explorer.compiler import TorchCompiler, compile_with_origins
    from explorer.tensor.torch_io.circuits import example_rows

    compiled, layers = compile_with_origins(circuit, TorchCompiler(**(compiler or {})))
    if not arguments and "example_inputs" not in options:
        arguments = ((example_rows(compiled, batch_size),),)
    return compiled, arguments, options, layers
