"""`explorer.record`: the trace of compiling a circuit, or of a module at a lower level; loads only what it needs."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from explorer.errors import DataTypeError, ValueRangeError, check_name, look_up
from explorer.packages import require
from explorer.symbolic import Circuit, from_cirkit, is_cirkit
from explorer.trace import COMPILED, KERNELS, LEVELS, PROGRAM, TENSOR, WATCHED, LayerOrigin

if TYPE_CHECKING:
    from explorer.rewrite import FunctionPassPipeline, PassRegistry
    from explorer.trace import Trace

ROWS = 8
"""The batch size of exported circuits: their shapes are fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredLevel:
    """Functions that record a level below the compiled circuit."""

    record: "Callable[..., Trace]"
    """Accepts a module, example inputs, a pipeline, `listeners` and `name`."""
    passes: "PassRegistry[Any]"
    passes_module: str
    """Module of `passes`."""
    pipeline: "FunctionPassPipeline"
    """The default one."""
    options: Set[str]
    """The other options that `record` accepts, of `mode`, `operators` and `one_by_one`; with `operators` it exports."""
    rows: int = ROWS


def lowered_level(name: str) -> LoweredLevel:
    """Return the functions that record a level. Raises: UnknownNameError for a level that is not below compiled."""
    return look_up("level", name, _LOWERED)()


def _tensor() -> LoweredLevel:
    from explorer.tensor.passes import passes
    from explorer.tensor.passes.base import DEFAULT_PIPELINE
    from explorer.tensor.recording.record_module import record_module

    return LoweredLevel(
        record=record_module,
        passes=passes,
        passes_module="explorer.tensor.passes",
        pipeline=DEFAULT_PIPELINE,
        options={"mode", "operators", "one_by_one"},
    )


def _program() -> LoweredLevel:
    from explorer.program.passes import MEMORY_PIPELINE, passes
    from explorer.program.recording.record_program import record_program

    return LoweredLevel(
        record=record_program,
        passes=passes,
        passes_module="explorer.program.passes",
        pipeline=MEMORY_PIPELINE,
        options={"mode", "operators"},
    )


def _kernels() -> LoweredLevel:
    from explorer.runtime.recording.record_kernels import KERNELS_PIPELINE, TILE_ROWS, passes, record_kernels

    return LoweredLevel(
        record=record_kernels,
        passes=passes,
        passes_module="explorer.runtime.recording.record_kernels",
        pipeline=KERNELS_PIPELINE,
        options=set(),
        rows=TILE_ROWS,
    )


def _watched() -> LoweredLevel:
    from explorer.adapters import record_watched
    from explorer.rewrite import FunctionPassPipeline, PassRegistry

    return LoweredLevel(
        record=record_watched,
        passes=PassRegistry(),
        passes_module="explorer.adapters",
        pipeline=FunctionPassPipeline(),
        options={"mode"},
    )


_LOWERED: Mapping[str, Callable[[], LoweredLevel]] = {
    TENSOR: _tensor,
    PROGRAM: _program,
    KERNELS: _kernels,
    WATCHED: _watched,
}
"""Each loads what its level needs."""


def record(subject: Any, *arguments: Any, level: str = "", **options: Any) -> "Trace":
    """Compile a circuit, or rewrite a module, and return the trace; `trace.compiled` is the result.

    - A symbolic circuit: `record(circuit, preset="handbook", fold=False, ...)`, see `explorer.compiler.record_circuit`.
    - An `nn.Module`, an exported program, or a tensor graph: `record(module, example_inputs, pipeline=...)`, see
      `explorer.tensor.recording.record_module.record_module`.
    - With `level="program"`, any of these as instructions on buffers, see
      `explorer.program.recording.record_program.record_program`.
    - With `level="kernels"`, a circuit, symbolic or compiled, as the kernel calls that `fast()` makes of it, see
      `explorer.runtime.recording.record_kernels.record_kernels`.
    - With `level="watched"`, a circuit or a module as `torch.compile` compiles it, see
      `explorer.adapters.record_watched`.

    At the levels below "compiled", a symbolic circuit accepts `compiler` (options of `TorchCompiler`) and `batch_size`.

    A circuit of cirkit, symbolic or compiled, is converted first, with its values (`explorer.symbolic.from_cirkit`).

    Raises: UnknownNameError for a level; DataTypeError for anything else than these subjects; ValueRangeError for a
    batch size below 1; MissingPackageError without torch; otherwise as these functions.
    """
    require("explorer.record", "", "torch")
    is_circuit = isinstance(subject, Circuit)
    if not is_circuit and is_cirkit(subject):
        subject = from_cirkit(subject)
        is_circuit = isinstance(subject, Circuit)
    level = level or (COMPILED if is_circuit else TENSOR)
    check_name("level", level, LEVELS)
    if is_circuit and level == COMPILED:
        from explorer.compiler import record as record_circuit

        return record_circuit(subject, *arguments, **options)
    layers: Mapping[int, LayerOrigin] = {}
    if is_circuit:
        subject, arguments, options, layers = _compiled(subject, arguments, lowered_level(level).rows, **options)
    from torch import nn
    from torch.export import ExportedProgram

    from explorer.tensor import FunctionGraph

    if level == COMPILED or not isinstance(subject, nn.Module | ExportedProgram | FunctionGraph):
        wanted = "a circuit" if level == COMPILED else "a circuit, an nn.Module with example inputs, an exported "
        wanted += "" if level == COMPILED else "program or a tensor graph"
        raise DataTypeError(f"expected {wanted} to record, got {type(subject).__name__}")
    return replace(lowered_level(level).record(subject, *arguments, **options), layers=layers)


def _compiled(
    circuit: Circuit,
    arguments: tuple[Any, ...],
    rows: int,
    *,
    compiler: "dict[str, Any] | None" = None,
    batch_size: int | None = None,
    **options: Any,
) -> tuple[Any, tuple[Any, ...], dict[str, Any], Mapping[int, LayerOrigin]]:
    """A compiled circuit with example inputs, unless the caller has passed some, and the origins of its layers.

    Raises: ValueRangeError for a batch size below 1.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueRangeError(f"batch_size must be at least 1; found {batch_size}")
    from explorer.compiler import TorchCompiler, compile_with_origins
    from explorer.tensor.torch_io.importing import example_rows

    compiled, layers = compile_with_origins(circuit, TorchCompiler(**(compiler or {})))
    if not arguments and "example_inputs" not in options:
        arguments = ((example_rows(compiled, rows if batch_size is None else batch_size),),)
    return compiled, arguments, options, layers
