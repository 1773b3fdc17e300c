"""`circuit-explorer trace`: compiles a circuit, records every decision, prints and writes the trace."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from explorer.app.commands.compiler_options import with_compiler_options
from explorer.app.commands.console import check_output, command, notes, print_text, say_note
from explorer.errors import CircuitError, check_name
from explorer.options import CompilerOptions

if TYPE_CHECKING:
    from explorer.app.user_functions import ExampleModule
    from explorer.symbolic import Circuit
    from explorer.trace import Trace

LEVELS_TEXT = (
    "compiled; tensor: operators of the exported circuit; program: instructions on buffers; kernels: the kernel calls "
    "of fast()"
)
CIRCUIT_TEXT = (
    "a circuit of the gallery, a circuit file, or FILE.py:FUNCTION, whose code is run: it returns a circuit, or a "
    "module and a tuple of inputs"
)
Source = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="a trace file, a circuit to compile, or FILE.py:FUNCTION")
]
OfLevel = Annotated[str, typer.Option("--level", help=f"the level at which a circuit is recorded: {LEVELS_TEXT}")]
TRACE_ENDINGS = (".trace.json", ".trace.json.gz")


@with_compiler_options
def trace(
    circuit: Annotated[str, typer.Argument(metavar="NAME|FILE", help=CIRCUIT_TEXT)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="write the trace here (.trace.json or .trace.json.gz)")
    ] = None,
    *,
    options: CompilerOptions,
    level: Annotated[str, typer.Option(help=LEVELS_TEXT)] = "compiled",
    pipeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="the passes of a level below compiled as YAML (the dashboard saves such files)"
        ),
    ] = None,
    mode: Annotated[str, typer.Option(help="infer or train: the mode of a level below compiled")] = "infer",
    operators: Annotated[
        str,
        typer.Option(help="functional, core, or circuit (layers stay whole): the operators of a level below compiled"),
    ] = "functional",
    times: Annotated[
        bool,
        typer.Option("--times/--no-times", help="keep times in the file; without them equal runs write equal bytes"),
    ] = True,
) -> None:
    """Compile a circuit, or rewrite a module, and print every step; the trace is written if -o is given.

    A module of FILE.py:FUNCTION is recorded at the level tensor unless another one is given.
    """
    from explorer.app.circuits import load_source, only_circuit
    from explorer.app.user_functions import ExampleModule

    if out is not None and not out.name.endswith(TRACE_ENDINGS):
        say_note(f"a trace is usually named NAME{' or NAME'.join(TRACE_ENDINGS)}; writing {out} as asked")
    if out is not None:
        check_output(out, circuit, pipeline)
    found = load_source(circuit)
    if isinstance(found, ExampleModule):
        recorded = _record(
            "Recording a module", out, times, lambda: _of_module(found, level, pipeline, mode, operators, options)
        )
    else:
        subject, recorder = only_circuit(found, circuit), recorder_of(level, circuit, pipeline, mode, operators)
        recorded = _record(f"Compiling {len(subject.graph):,} layers", out, times, lambda: recorder(subject, options))
    print_text(str(recorded))
    if out is not None:
        save(recorded, out, times)
        print_text(f"\nWrote {out}. Look inside: {command()} show {quote(str(out))}")


def save(recorded: "Trace", out: Path, times: bool = True) -> None:
    """Write a trace; a missing folder is created."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with notes().status(f"Writing {escape(str(out))}"):
        recorded.save(out, times=times)


def trace_of(source: str, level: str) -> "Trace":
    """Return the trace of a file, or record a circuit at a level. Raises: the errors of `load_circuit_or_trace`."""
    from explorer.app.circuits import load_circuit_or_trace
    from explorer.templates import gallery
    from explorer.trace import Trace

    found = load_circuit_or_trace(source, level)
    if isinstance(found, Trace):
        return found
    with notes().status(f"Compiling {escape(Path(source).name)}"):
        return recorder_of(level, source)(found, gallery.default_options(source))


Recorder = Callable[["Circuit", CompilerOptions], "Trace"]


def recorder_of(
    level: str,
    name: str,
    pipeline: Path | None = None,
    mode: str = "infer",
    operators: str = "functional",
    rows: int | None = None,
) -> Recorder:
    """Return the function that records a level; those below compiled use the other arguments.

    Raises: UnknownNameError, FileFormatError; CircuitError for a pipeline or a mode that the level does not have.
    """
    from explorer.app.session.options import COMPILED, LEVEL_NAMES, OPERATORS, TensorOptions
    from explorer.compiler import TorchCompiler, record
    from explorer.recording import lowered_level
    from explorer.rewrite import CompilationMode

    check_name("mode", mode, [known.value for known in CompilationMode])
    check_name("level", level, LEVEL_NAMES)
    check_name("set of operators", operators, OPERATORS)
    if level == COMPILED:
        if pipeline is not None or (mode, operators) != ("infer", "functional"):
            raise CircuitError(
                "--pipeline, --mode and --operators belong to the levels below; add --level tensor or --level program"
            )
        return lambda circuit, options: record(circuit, TorchCompiler(options))
    offered = lowered_level(level).options
    for option, is_given in (("mode", mode != "infer"), ("operators", operators != "functional")):
        if is_given and option not in offered:
            raise CircuitError(f"the level {level} has no --{option}; remove it")
    passes = () if pipeline is None else _entries(pipeline, level)
    chosen = TensorOptions(level, mode, passes, operators=operators)

    def below_compiled(circuit: "Circuit", options: CompilerOptions) -> "Trace":
        from explorer.app.session.exported_levels import exported_trace

        return exported_trace(circuit, TorchCompiler(options), chosen, name, rows=rows)

    return below_compiled


def _of_module(
    found: "ExampleModule", level: str, pipeline: Path | None, mode: str, operators: str, options: CompilerOptions
) -> "Trace":
    """Record a module. Raises: CircuitError for options that only circuits have."""
    from explorer.recording import lowered_level
    from explorer.rewrite import read_pipeline
    from explorer.trace import TENSOR
    from explorer.trace.ladder import COMPILED

    if options.non_defaults():
        given = ", ".join(options.non_defaults())
        raise CircuitError(f"a module is not compiled as a circuit is; remove the options for {given}")
    below = TENSOR if level == COMPILED.name else level
    passes = None if pipeline is None else read_pipeline(pipeline, lowered_level(below).passes.names)
    return found.record(below, pipeline=passes, mode=mode, operators=operators)


def _entries(pipeline: Path, level: str) -> tuple[str, ...]:
    from explorer.app.session.exported_levels import pass_names
    from explorer.app.session.pass_entries import entry_text
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
