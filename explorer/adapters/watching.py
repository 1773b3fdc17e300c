"""`explorer.watch`: compile a module or function by torch.compile, and return the trace of that."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import nn
from torch._inductor.exc import InvalidCxxCompiler

from explorer.adapters.inductor.heard import HeardCompilation
from explorer.adapters.inductor.hooks import listening
from explorer.adapters.inductor.listening import NotRunError, Session, Steering
from explorer.adapters.inductor.recording import compiled_module, trace_of
from explorer.errors import CircuitError, DataTypeError, LoweringError, ValueRangeError, check_name
from explorer.trace import Listener, Trace

NO_COMPILER = "torch.compile found no C++ compiler, which it needs for the CPU: apt-get install g++, or set CXX to one"


def watch(
    subject: nn.Module | Callable[..., Any],
    *arguments: Any,
    mode: str = "infer",
    dynamic: bool | None = None,
    name: str = "",
    apart: Sequence[tuple[str, str]] = (),
) -> Trace:
    """Compile a module or a function by `torch.compile`, call it once, and return the trace of the compilation.

    `apart` are pairs of scheduler nodes, such as `("op3", "op5")`, that are not to end in one kernel: what the compiler
    does without a fusion. The caches of graphs are off, so that everything is compiled. If the program has graph
    breaks, the trace is of the first graph and says how many there are; `explorer.watching` has all.

    Raises: DataTypeError for a subject that cannot be called; UnknownNameError for a mode; CircuitError if nothing was
    compiled; LoweringError without a C++ compiler; what the program itself raises.
    """
    if not callable(subject):
        raise DataTypeError(f"expected a module or a function to compile, got {type(subject).__name__}")
    return record_watched(subject, arguments, name=name, mode=mode, dynamic=dynamic, apart=apart)


def record_watched(
    subject: nn.Module | Callable[..., Any],
    example_inputs: Sequence[Any] = (),
    pipeline: Sequence[Any] | None = None,
    *,
    listeners: Sequence[Listener] = (),
    name: str = "",
    mode: str = "infer",
    dynamic: bool | None = None,
    apart: Sequence[tuple[str, str]] = (),
) -> Trace:
    """As `watch`, in the form of the other levels: `explorer.record(module, inputs, level="watched")`.

    Raises: as `watch`, and ValueRangeError for a pipeline: the passes of torch.compile are its own.
    """
    if pipeline:
        raise ValueRangeError("torch.compile runs its own passes; record without a pipeline at the level watched")
    check_name("mode", mode, ("infer",))
    title = name or getattr(subject, "__name__", type(subject).__name__)

    def compile_with(steering: Steering) -> list[HeardCompilation]:
        return _compile(subject, example_inputs, dynamic, steering)

    compilations = compile_with(Steering(frozenset(apart)))
    if not compilations:
        raise CircuitError(f"torch.compile compiled nothing of {title}: it captured no operation on tensors")
    first = compilations[0]
    if len(compilations) > 1:
        first.missed.append(f"The program was compiled as {len(compilations)} graphs; this is the first.")

    def up_to(number: int) -> nn.Module:
        return compiled_module(compile_with(Steering(frozenset(apart), number, runs=False))[0])

    return trace_of(first, title, up_to, listeners)


def _compile(
    subject: Any, arguments: Sequence[Any], dynamic: bool | None, steering: Steering
) -> list[HeardCompilation]:
    """Compile from scratch, and leave nothing behind that would keep a later call from compiling."""
    torch._dynamo.reset()
    session = Session(steering)
    try:
        with listening(session), torch.no_grad(), suppress(NotRunError):
            torch.compile(subject, dynamic=dynamic)(*arguments)
    except Exception as error:
        if isinstance(getattr(error, "inner_exception", None), InvalidCxxCompiler):
            raise LoweringError(NO_COMPILER) from error
        raise
    finally:
        torch._dynamo.reset()
    return session.compilations


@contextmanager
def watching() -> Generator[list[Trace]]:
    """Record what this thread compiles by `torch.compile` inside: a trace for each graph, in order.

    The list is filled at the end. A compilation that fails has a trace up to its failure.
    """
    traces: list[Trace] = []
    session = Session()
    try:
        with listening(session):
            yield traces
    finally:
        traces += [trace_of(heard, f"graph {number}") for number, heard in enumerate(session.compilations, 1)]
