"""`explorer.watch`: compile a module or function by torch.compile, and return the trace of that."""

from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import torch
from torch import nn

from explorer.errors import CircuitError, DataTypeError, check_name
from explorer.trace import Trace
from explorer.watch.inductor.heard import HeardCompilation
from explorer.watch.inductor.listening import Session, Steering, listening
from explorer.watch.inductor.recording import run_compiled, trace_of
from explorer.watch.snapshot import Run

Mode = Literal["infer", "train"]


def watch(
    subject: nn.Module | Callable[..., Any],
    *arguments: Any,
    mode: Mode = "infer",
    dynamic: bool | None = None,
    name: str = "",
) -> Trace:
    """Compile a module or a function by `torch.compile`, call it once, and return the trace of the compilation.

    Caches are off, so that everything is compiled. If the program has graph breaks, the trace is of the first graph,
    and its first step says how many there are. Raises: DataTypeError for a subject that cannot be called;
    UnknownNameError for a mode; CircuitError if nothing was compiled.
    """
    if not callable(subject):
        raise DataTypeError(f"expected a module or a function to compile, got {type(subject).__name__}")
    check_name("mode", mode, ("infer", "train"))
    title = name or getattr(subject, "__name__", type(subject).__name__)
    compilations = _compile(subject, arguments, mode, dynamic, Steering())
    if not compilations:
        raise CircuitError(f"torch.compile compiled nothing of {title}: no operation on tensors was captured")

    def again(number: int) -> Run:
        heard = _compile(subject, arguments, mode, dynamic, Steering(last_round=number))[0]
        return run_compiled(heard)

    return trace_of(compilations[0], title, again)


def _compile(
    subject: Any, arguments: tuple[Any, ...], mode: Mode, dynamic: bool | None, steering: Steering
) -> list[HeardCompilation]:
    torch._dynamo.reset()
    session = Session(steering)
    with listening(session), torch.no_grad() if mode == "infer" else nullcontext():
        torch.compile(subject, dynamic=dynamic)(*arguments)
    torch._dynamo.reset()
    return session.compilations


@contextmanager
def watching() -> Generator[list[Trace]]:
    """Record what this thread compiles by `torch.compile` inside: a trace for each graph, in order."""
    traces: list[Trace] = []
    session = Session(on_compiled=lambda heard: traces.append(trace_of(heard, f"graph {len(traces) + 1}")))
    with listening(session):
        yield traces
