"""`explorer.record`: the trace of compiling a circuit, or of rewriting a module; loads only what it needs."""

from typing import TYPE_CHECKING, Any

from explorer.errors import DataTypeError
from explorer.symbolic import Circuit

if TYPE_CHECKING:
    from explorer.trace import Trace


def record(subject: Any, *arguments: Any, **options: Any) -> "Trace":
    """Compile a circuit, or rewrite a module, and return the trace; `trace.compiled` is the result.

    - A symbolic circuit: `record(circuit, preset="handbook", fold=False, ...)`, see `explorer.compiler.record`.
    - An `nn.Module`, an exported program, or a tensor graph: `record(module, example_inputs, pipeline=...)`, see
      `explorer.tensor.recording.record.record_module`.

    Raises: DataTypeError for anything else; otherwise as these two functions.
    """
    if isinstance(subject, Circuit):
        from explorer.compiler import record as record_circuit

        return record_circuit(subject, *arguments, **options)
    from torch import nn
    from torch.export import ExportedProgram

    from explorer.tensor import FunctionGraph
    from explorer.tensor.recording.record import record_module

    if not isinstance(subject, nn.Module | ExportedProgram | FunctionGraph):
        raise DataTypeError(
            "expected a circuit, an nn.Module with example inputs, an exported program or a tensor graph to record, "
            f"got {type(subject).__name__}"
        )
    return record_module(subject, *arguments, **options)
