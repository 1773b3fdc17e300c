"""`explorer.watch`: compile a module or function by torch.compile, and return the trace of that."""

import logging
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import signature
from pathlib import Path
from typing import Any

import torch
import torch._functorch.config as aot
from torch import nn
from torch._inductor.exc import InvalidCxxCompiler

from explorer.adapters.inductor.heard import HeardCompilation
from explorer.adapters.inductor.hooks import listening
from explorer.adapters.inductor.listening import Session
from explorer.adapters.inductor.recording import compiled_module, trace_of
from explorer.adapters.inductor.steering import NotRunError, Steering
from explorer.adapters.inductor.training import differentiate
from explorer.errors import CircuitError, DataTypeError, LoweringError, UserCodeError, ValueRangeError, check_name
from explorer.trace import Listener, Trace

NO_COMPILER = "torch.compile found no C++ compiler, which it needs for the CPU: apt-get install g++, or set CXX to one"
ISOLATED: Any = {"isolate_recompiles": True} if "isolate_recompiles" in signature(torch.compile).parameters else {}
"""Options of `torch.compile` by which a call does not count for the limit of another one, where it has them."""
LOGGER = "torch._subclasses.fake_tensor"
"""The logger that repeats an error, with its traceback, before it is raised."""
STDLIB = sysconfig.get_paths()["stdlib"]
FOREIGN = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]), "<")
"""Beginnings of the names of files that are not the user's, nor of the standard library."""


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

    Raises: DataTypeError for a subject that cannot be called; UnknownNameError for a mode or a scheduler node;
    CircuitError if nothing was compiled; LoweringError without a C++ compiler; UserCodeError, with the original as its
    cause, for whatever else the program or its compilation raises.
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
    check_name("mode", mode, ("infer", "train"))
    title = name or getattr(subject, "__name__", type(subject).__name__)
    _check_pairs(apart)

    def compile_with(**wishes: Any) -> list[HeardCompilation]:
        session = Session(Steering(frozenset((one, other) for one, other in apart), **wishes))
        with _as_one_error(getattr(subject, "__name__", type(subject).__name__)):
            compile_watched(session, subject, example_inputs, mode, dynamic)
        return session.compilations

    compilations = compile_with()
    if not compilations:
        raise CircuitError(f"torch.compile compiled nothing of {title}: it captured no operation on tensors")
    first = compilations[0]
    first.check_apart()
    if len(compilations) > 1:
        first.missed.append(f"The program was compiled as {len(compilations)} graphs; this is the first.")

    def up_to(part: str, number: int) -> nn.Module:
        return compiled_module(compile_with(last_round=number, part=part, runs=False)[0], part)

    return trace_of(first, title, up_to, listeners)


def _check_pairs(apart: Sequence[tuple[str, str]]) -> None:
    """Raises: DataTypeError unless these are pairs of strings."""
    for pair in apart:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise DataTypeError(f'expected pairs of names in apart, got {pair!r}; write apart=[("op1", "op2")]')


def compile_watched(
    session: Session, subject: Any, arguments: Sequence[Any], mode: str = "infer", dynamic: bool | None = None
) -> None:
    """Compile from scratch, and run. A backward part is compiled when it is needed, unless the program is not run."""
    lazily = "force_non_lazy_backward_lowering"  # torch 2.6 has no such setting: it lowers the backward part at once
    early: Any = {lazily: True} if not session.steering.runs and hasattr(aot, lazily) else {}
    try:
        with (
            _fresh_backend() as backend,
            listening(session),
            torch.set_grad_enabled(mode == "train"),
            suppress(NotRunError),
            aot.patch(early),
        ):
            outputs = torch.compile(subject, backend=backend, dynamic=dynamic, **ISOLATED)(*arguments)
            if mode == "train" and not differentiate(outputs):
                raise ValueRangeError("mode='train' needs an output that depends on something with requires_grad=True")
    except Exception as error:
        if isinstance(getattr(error, "inner_exception", None), InvalidCxxCompiler):
            raise LoweringError(NO_COMPILER) from error
        raise


@contextmanager
def _fresh_backend() -> Generator[Callable[..., Any]]:
    """Inductor as a backend of its own: nothing that is compiled already is used or changed, and nothing is left.

    Dynamo keeps what it compiled with the code of each function, for this backend only; shapes that it has seen are
    not remembered.
    """
    from torch._C._dynamo.eval_frame import reset_code
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list
    from torch._dynamo.guards import DeletedGuardManagerWrapper

    def inductor(graph: Any, inputs: Any) -> Any:
        return torch._dynamo.lookup_backend("inductor")(graph, inputs)

    def compiled() -> list[tuple[Any, Any]]:
        codes = [reference() for reference in tuple(torch._dynamo.convert_frame.input_codes.seen)]
        return [(code, _debug_get_cache_entry_list(code)) for code in codes if code is not None]

    def is_mine(one: Any) -> bool:
        if hasattr(one, "backend"):
            return getattr(one.backend, "compiler_fn", None) is inductor
        return one.compile_id not in before  # torch 2.6 does not say of which backend it is

    before = {one.compile_id for _, entries in compiled() for one in entries}
    kind = "recompile" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size"  # its name in torch 2.6
    limits = dict.fromkeys((f"{kind}_limit", f"accumulated_{kind}_limit"), sys.maxsize)
    settings: Any = {"automatic_dynamic_shapes": False, **limits}
    try:
        with torch._dynamo.config.patch(settings):
            yield inductor
    finally:
        for code, entries in compiled():
            mine = [one for one in entries if is_mine(one)]
            if mine and all(one in mine or getattr(one, "backend", one) is None for one in entries):
                reset_code(code)
            else:
                for one in mine:
                    manager = one.guard_manager
                    manager.extra_state.invalidate(one, DeletedGuardManagerWrapper("it was compiled to be watched"))


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


@contextmanager
def _as_one_error(title: str) -> Generator[None]:
    """Raise what the program or its compilation raises as one error, with the original as its cause.

    Raises: UserCodeError; errors of this package as they are.
    """
    thread = threading.get_ident()

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger = logging.getLogger(LOGGER)
    logger.addFilter(is_of_others)
    try:
        yield
    except (CircuitError, MemoryError):
        raise
    except Exception as error:
        *_, inner = _causes(error)
        reason = next((line.strip() for line in str(inner).splitlines() if line.strip()), "")
        said = f"{title} failed{_user_line(error)}: {type(inner).__name__}{reason and f': {reason}'}"
        raise UserCodeError(f"{said} (the cause of this error says more)") from error
    finally:
        logger.removeFilter(is_of_others)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it is about if Dynamo raised it: its own words are long."""
    yield error
    if type(error).__module__.startswith("torch._dynamo"):
        context = error.__context__ if type(error.__context__).__module__.startswith("torch._dynamo") else None
        inner = getattr(error, "inner_exception", None) or error.__cause__ or context
        if inner is not None:
            yield from _causes(inner)


def _user_line(error: BaseException) -> str:
    """The innermost line of the user's program: where Dynamo captured an operator, or of a traceback."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    foreign = (*FOREIGN, cache_dir())
    for cause in _causes(error):
        for stack in (getattr(cause, "real_stack", None) or (), traceback.extract_tb(cause.__traceback__)):
            for frame in reversed(stack):
                of_python = frame.filename.startswith(STDLIB) and "site-packages" not in frame.filename
                if not frame.filename.startswith(foreign) and not of_python:
                    at = f" at {Path(frame.filename).name}:{frame.lineno}"
                    return at + (f", in `{frame.line}`" if frame.line else "")
    return ""
