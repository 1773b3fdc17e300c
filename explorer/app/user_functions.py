"""Runs a function of the user, named as FILE.py:FUNCTION, and returns the circuit or module that it returns.

The file and the function are the user's code and are executed with all rights of this process.
"""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, signature
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Any, cast

from explorer.app.commands.console import say_note
from explorer.errors import (
    CircuitError,
    ConversionError,
    DataTypeError,
    UnknownNameError,
    UserCodeError,
    did_you_mean,
    unknown_name,
)
from explorer.symbolic import Circuit, from_cirkit, is_cirkit
from explorer.trace import COMPILED, KERNELS, TENSOR, Trace

RETURNS = (
    "a circuit or compiled circuit of this package or of cirkit, a trace, (circuit of cirkit, its context), or "
    "(module, its example inputs as a tuple)"
)

PREFIX = "user_file_"
"""Keeps a file that is named like a package, such as random.py, from replacing it."""


@dataclass(frozen=True, slots=True, eq=False)
class ExampleModule:
    """A module of PyTorch with example inputs, or a compiled circuit, which has rows of zeros if it has no inputs."""

    module: Any
    inputs: tuple[Any, ...] | None
    name: str

    @property
    def is_circuit(self) -> bool:
        """Whether it is a compiled circuit."""
        from explorer.backend import TorchCircuit

        return isinstance(self.module, TorchCircuit)

    def level(self, asked: str = COMPILED) -> str:
        """The level at which it is recorded: `tensor` for a module that is not asked for at a lower one.

        Raises: CircuitError for the level of kernel calls, which only circuits have.
        """
        if asked == KERNELS and not self.is_circuit:
            raise CircuitError(
                "a module has no kernel calls, which fast() makes of circuits; use --level tensor or --level program"
            )
        return TENSOR if asked == COMPILED and not self.is_circuit else asked

    def record(self, level: str = COMPILED, rows: int | None = None, **options: Any) -> Trace:
        """Record it at a level; at the level `compiled`, a compiled circuit becomes a trace of one step.

        `rows` is the number of rows if it has no inputs, by default the number of the level.

        Raises: as `level` and as `explorer.record`.
        """
        from explorer.compiler import trace_of_circuit
        from explorer.recording import lowered_level, record
        from explorer.tensor.torch_io.importing import example_rows

        level = self.level(level)
        if level == COMPILED:
            return trace_of_circuit(self.module)
        inputs = self.inputs
        if inputs is None:
            inputs = (example_rows(self.module, rows or lowered_level(level).rows),)
        return record(self.module, inputs, level=level, name=self.name, **options)


def is_function(source: str) -> bool:
    """Whether a name has the form FILE.py:FUNCTION.

    >>> is_function("models/mine.py:build"), is_function("digits"), is_function("mine.py")
    (True, False, False)
    """
    file, _, name = source.rpartition(":")
    return file.endswith(".py") and name.isidentifier()


@cache
def _note_running(file: str) -> None:
    """Print a note, once in a process."""
    say_note(f"running the code in {file}, which may do anything that you may do")


def call_function(source: str) -> Circuit | Trace | ExampleModule:
    """Execute the file, call the function without arguments, and return what it returns, once a note has said so.

    Raises: UnknownNameError for an unknown file or function; UserCodeError, with the traceback, if the user's code
    raises; DataTypeError if it needs arguments or returns anything else; ConversionError for a circuit of cirkit that
    cannot be converted.
    """
    file, _, name = source.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file():
        near = did_you_mean(path.name, files_beside(Path(file), ".py"))
        raise UnknownNameError(
            f"file not found: {file!r}, which {source!r} names{near and f'; {near}'}; the form is FILE.py:FUNCTION"
        )
    _note_running(file)
    with _importable(path):
        module = _execute(path, source)
        function = _function(module, name, source)
        with _reported(source, path, f"{name}()"):
            found = function()
    return _converted(found, source)


def files_beside(path: Path, ending: str = "") -> dict[str, str]:
    """Return the files in the folder of a path by name; none if the folder cannot be read."""
    try:
        return {found.name: str(found) for found in path.parent.iterdir() if found.name.endswith(ending)}
    except OSError:
        return {}


def _execute(path: Path, source: str) -> ModuleType:
    spec = spec_from_file_location(PREFIX + path.stem, path)
    assert spec is not None, "a file whose name ends in .py has a loader"
    assert spec.loader is not None, "as above"
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # classes that are defined in the file look their module up
    with _reported(source, path, "the file"):
        spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, name: str, source: str) -> Any:
    """The function of this name. Raises: UnknownNameError; DataTypeError if it cannot be called without arguments."""
    if not hasattr(module, name):
        defined = [
            key
            for key, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and callable(value)
        ]
        raise unknown_name("function", name, defined)
    function = getattr(module, name)
    if not callable(function):
        raise DataTypeError(f"{source} is not a function; found {type(function).__name__}")
    empty, free = Parameter.empty, (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    needed = [key for key, p in signature(function).parameters.items() if p.default is empty and p.kind not in free]
    if needed:
        raise DataTypeError(f"{source} must be callable without arguments; it needs {', '.join(needed)}")
    return function


@contextmanager
def _importable(path: Path) -> Iterator[None]:
    """Let the file import its neighbours, as `python FILE.py` does."""
    folder = str(path.parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _reported(source: str, path: Path, what: str) -> Iterator[None]:
    """Raises: UserCodeError with the part of the traceback that is the user's, for whatever the code raises."""
    try:
        yield
    except (Exception, SystemExit) as error:
        shown = traceback.TracebackException.from_exception(error)
        first = next((n for n, frame in enumerate(shown.stack) if Path(frame.filename) == path), len(shown.stack))
        shown.stack = traceback.StackSummary.from_list(shown.stack[first:])
        lines = "".join(shown.format())
        raise UserCodeError(
            f"{source}: {what} raised {type(error).__name__}; this is its traceback:\n{lines}"
        ) from error


def _converted(found: object, source: str) -> Circuit | Trace | ExampleModule:
    context: object = None
    if isinstance(found, tuple) and len(cast("tuple[object, ...]", found)) == 2:
        found, context = cast("tuple[object, object]", found)
    if isinstance(found, Circuit | Trace):
        return found
    if is_cirkit(found):
        try:
            return from_cirkit(found, context=context)
        except ConversionError as error:
            raise ConversionError(f"{source}: {error}; a function may return (circuit, context)") from error
    from torch import nn

    from explorer.backend import TorchCircuit

    inputs = cast("tuple[Any, ...]", context) if isinstance(context, tuple) else None
    if isinstance(found, nn.Module) and (inputs is not None or (isinstance(found, TorchCircuit) and context is None)):
        return ExampleModule(found, inputs, Path(source).name)
    if isinstance(found, nn.Module):
        missing = "no example inputs" if context is None else f"example inputs of type {type(context).__name__}"
        raise DataTypeError(
            f"{source} returned the module {type(found).__name__} with {missing}; return both, the inputs as a tuple: "
            "(module, (x, ...))"
        )
    is_jax = callable(found) and inputs is not None and "jax" in sys.modules
    hint = f"; a function of JAX is for XLA: circuit-explorer watch {quote(source)} --adapter xla" if is_jax else ""
    raise DataTypeError(f"{source} must return {RETURNS}; found {type(found).__name__}{hint}")
