"""`circuit-explorer trace`: compiles a circuit, records every decision, prints and writes the trace."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from explorer.app.commands.console import check_output, command, complete_circuit, notes, print_text, say_note
from explorer.errors import CircuitError, FileFormatError, check_name
from explorer.options import CompilerOptions
from explorer.trace import COMPILED

if TYPE_CHECKING:
    from explorer.app.session.view_state import TensorOptions
    from explorer.app.user_functions import ExampleModule
    from explorer.symbolic import Circuit
    from explorer.trace import Trace


def with_compiler_options(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator: replace the parameter `options: CompilerOptions` of a command by one option per field."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        replacements = map(_parameter, fields(CompilerOptions)) if parameter.name == "options" else [parameter]
        parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in replacements]

    @wraps(command)
    def run(**arguments: Any) -> None:
        given = {f.name: arguments.pop(f.name) for f in fields(CompilerOptions)}
        named = {name: value for name, value in given.items() if value is not None}
        named.setdefault("semiring", _semiring_of(arguments.get("circuit")))
        command(options=CompilerOptions(**named), **arguments)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _semiring_of(circuit: object) -> str:
    """The semiring of a command's circuit unless another one is chosen."""
    from explorer.templates import gallery

    return gallery.default_options(str(circuit)).semiring


def _parameter(option: "Field[Any]") -> inspect.Parameter:
    """Return the command parameter of an option, with its help text; lists may be repeated.

    The default semiring is the one that the circuit needs.
    """
    name = option.name.replace("_", "-")
    flag = f"--{name}/--no-{name}" if option.type is bool else f"--{name}"
    kind: Any = list[str] if option.default == () else option.type
    own: dict[str, Any] = {}
    if option.name == "semiring":
        own["show_default"] = f"{option.default}, or what the circuit needs"
    if option.default in ((), None) or own:
        kind = kind | None
    annotation = Annotated[kind, typer.Option(flag, **option.metadata, **own)]
    default = None if option.default == () or own else option.default
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


LEVELS_TEXT = (
    "compiled; tensor: operators of the exported circuit; program: instructions on buffers; kernels: the kernel calls "
    "of fast()"
)
CIRCUIT_TEXT = (
    "a circuit of the gallery, a circuit or trace file, a model of ONNX, or what runs code: an exported program (.pt2) "
    "or FILE.py:FUNCTION, which returns a circuit (also a compiled one), a trace, or a module and a tuple of inputs"
)
Source = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE",
        autocompletion=complete_circuit,
        help="a trace file, a circuit to compile, a model of ONNX, or what runs code: .pt2, FILE.py:FUNCTION",
    ),
]
OfLevel = Annotated[str, typer.Option("--level", help=f"the level at which a circuit is recorded: {LEVELS_TEXT}")]
TRACE_ENDINGS = (".trace.json", ".trace.json.gz")
MODE, OPERATORS = "infer", "functional"
"""The defaults of --mode and --operators."""


@with_compiler_options
def trace(
    circuit: Annotated[str, typer.Argument(metavar="NAME|FILE", autocompletion=complete_circuit, help=CIRCUIT_TEXT)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="write the trace here (.trace.json or .trace.json.gz)")
    ] = None,
    *,
    options: CompilerOptions,
    level: Annotated[str, typer.Option(help=LEVELS_TEXT)] = COMPILED,
    pipeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="the passes of a level below compiled as YAML (the dashboard saves such files)"
        ),
    ] = None,
    mode: Annotated[str, typer.Option(help="infer or train: the mode of a level below compiled")] = MODE,
    operators: Annotated[
        str,
        typer.Option(help="functional, core, or circuit (layers stay whole): the operators of a level below compiled"),
    ] = OPERATORS,
    times: Annotated[
        bool,
        typer.Option("--times/--no-times", help="keep times in the file; without them equal runs write equal bytes"),
    ] = True,
) -> None:
    """Compile a circuit, or rewrite a module, and print every step; the trace is written if -o is given.

    A module of FILE.py:FUNCTION is recorded at the level tensor unless another one is given; a trace is printed.
    """
    from explorer.app.circuits import load_source
    from explorer.symbolic import Circuit

    if out is not None:
        check_output(out, circuit, pipeline)
        _check_ending(out)
    found = load_source(circuit)
    recorder = recorder_of(found, circuit, level, options, pipeline, mode, operators)
    what = f"Compiling {len(found.graph):,} layers" if isinstance(found, Circuit) else "Recording"
    recorded = _record(what, out, times, recorder)
    print_text(str(recorded))
    if out is not None:
        save(recorded, out, times)
        print_text(f"\nWrote {out}. Look inside: {command()} show {quote(str(out))}")


def _check_ending(out: Path) -> None:
    """Say how traces are named. Raises: FileFormatError if a file with another name would be replaced."""
    if not out.name.endswith(TRACE_ENDINGS):
        usual = f"a trace is usually named NAME{' or NAME'.join(TRACE_ENDINGS)}"
        if out.is_file():
            raise FileFormatError(f"{out} exists, and {usual}: choose another name, or remove the file")
        say_note(f"{usual}; writing {out} as asked")


def save(recorded: "Trace", out: Path, times: bool = True) -> None:
    """Write a trace."""
    with notes().status(f"Writing {escape(str(out))}"):
        recorded.save(out, times=times)


def trace_of(source: str, level: str) -> "Trace":
    """Return the trace of a file, or record a circuit or module at a level. Raises: as `load_source`, `recorder_of`."""
    from explorer.app.circuits import load_source

    found = load_source(source)
    with notes().status(f"Compiling {escape(Path(source).name)}"):
        return recorder_of(found, source, level)()


def recorder_of(
    found: "Circuit | Trace | ExampleModule",
    source: str,
    level: str = COMPILED,
    options: CompilerOptions | None = None,
    pipeline: Path | None = None,
    mode: str = MODE,
    operators: str = OPERATORS,
    rows: int | None = None,
) -> "Callable[[], Trace]":
    """Return the function that records what `source` named; a trace is returned as it is.

    By default, `options` are those that the circuit needs. `pipeline`, `mode`, `operators` and, for a circuit without
    inputs of its own, `rows` are about the levels below compiled.
    Raises: UnknownNameError, FileFormatError; CircuitError for arguments that such a source or level does not have.
    """
    from explorer.app.session.pipeline_draft import exported_trace, pipeline_or_default
    from explorer.app.session.view_state import LEVEL_NAMES, OPERATORS as SETS
    from explorer.app.user_functions import ExampleModule
    from explorer.compiler import TorchCompiler, record
    from explorer.rewrite import CompilationMode
    from explorer.templates import gallery
    from explorer.trace import Trace

    check_name("mode", mode, [known.value for known in CompilationMode])
    check_name("level", level, LEVEL_NAMES)
    check_name("set of operators", operators, SETS)
    given = () if options is None else tuple(options.non_defaults())
    if isinstance(found, Trace):
        _check_unchanged(found, source, given, level, pipeline, mode, operators)
        return lambda: found
    if isinstance(found, ExampleModule) and given:
        what = "a compiled circuit" if found.is_circuit else "a module"
        raise CircuitError(
            f"{source} returned {what}, and the compiler is not run on it; remove the options for {', '.join(given)}"
        )
    lower = _lower_options(found.level(level) if isinstance(found, ExampleModule) else level, pipeline, mode, operators)
    if isinstance(found, ExampleModule):
        own: dict[str, Any] = {"mode": mode, "operators": operators}
        own = {key: value for key, value in own.items() if value not in (MODE, OPERATORS)}
        if lower.passes:
            own["pipeline"] = pipeline_or_default(lower)
        return lambda: found.record(lower.level, rows, **own)
    compiler = TorchCompiler(gallery.default_options(source) if options is None else options)
    if lower.level == COMPILED:
        return lambda: record(found, compiler)
    return lambda: exported_trace(found, compiler, lower, source, rows=rows)


def _check_unchanged(
    trace: "Trace", source: str, options: Sequence[str], level: str, pipeline: Path | None, mode: str, operators: str
) -> None:
    """Raises: CircuitError for any argument of recording, since a trace is not recorded again."""
    is_asked = {
        f"--level {level}": level not in (COMPILED, trace.level.name),
        "--pipeline": pipeline is not None,
        "--mode": mode != MODE,
        "--operators": operators != OPERATORS,
        f"the options for {', '.join(options)}": bool(options),
    }
    asked = [argument for argument, given in is_asked.items() if given]
    if asked:
        raise not_recorded_again(source, trace, ", ".join(asked))


def not_recorded_again(source: str, trace: "Trace", asked: str) -> CircuitError:
    """Make the error for a trace with arguments of recording."""
    return CircuitError(
        f"{source} is a trace at the level {trace.level.name}, which is not recorded again; remove {asked}, or name "
        "the circuit or module itself"
    )


def _lower_options(level: str, pipeline: Path | None, mode: str, operators: str) -> "TensorOptions":
    """Return the options of a level. Raises: CircuitError for an option that the level does not have."""
    from explorer.app.session.view_state import TensorOptions
    from explorer.recording import lowered_level

    if level == COMPILED:
        if pipeline is not None or (mode, operators) != (MODE, OPERATORS):
            raise CircuitError(
                "--pipeline, --mode and --operators belong to the levels below; add --level tensor or --level program"
            )
        return TensorOptions()
    offered = lowered_level(level).options
    for option, is_given in (("mode", mode != MODE), ("operators", operators != OPERATORS)):
        if is_given and option not in offered:
            raise CircuitError(f"the level {level} has no --{option}; remove it")
    passes = () if pipeline is None else _entries(pipeline, level)
    return TensorOptions(level, mode, passes, operators=operators)


def _entries(pipeline: Path, level: str) -> tuple[str, ...]:
    from explorer.app.session.pipeline_draft import entry_text, pass_names
    from explorer.rewrite import read_pipeline

    return tuple(entry_text(config) for config in read_pipeline(pipeline, pass_names(level)))


def _record(what: str, out: Path | None, times: bool, recorder: "Callable[[], Trace]") -> "Trace":
    """Record the trace; if a rule fails, the trace up to it is printed and written before the error is raised."""
    with notes().status(what):
        try:
            return recorder()
        except CircuitError as error:
            partial: Trace | None = getattr(error, "trace", None)
            if partial is not None and partial.steps:
                print_text(str(partial))
                if out is not None:
                    save(partial, out, times)
                    say_note(f"the trace up to the failure is in {out}")
            raise
