"""The command `circuit-explorer`: its subcommands and how errors are reported.

Each command is a function in `explorer.app.commands`, which loads torch only when it runs, so that `--help` is quick.
"""

import logging
import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from explorer.app.commands import lab, listings, queries, serve, show, time, trace, train, watch
from explorer.app.commands.console import NAME, print_text, say_error, say_note
from explorer.errors import CircuitError
from explorer.packages import installed_version, missing_dependency

FAILED, INTERRUPTED = 2, 130
"""The usual exit codes of a command that was misused, and of one that was stopped by Ctrl-C."""

SIZES = ("--units", "--batch-size", "--count")
"""Options that decide how much memory a command needs."""

LONG_WORK = "explorer.runtime.native"
"""The logger that says that kernels are compiled."""


class Commands(TyperGroup):
    """The group of commands: a CircuitError is one line and exit code 2, Ctrl-C ends quietly, warnings are notes.

    So is what takes long: kernels that are compiled at first use.
    """

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings(), _long_work_noted():
            warnings.showwarning = _note
            try:
                return super().invoke(ctx)
            except CircuitError as error:
                say_error(in_options(str(error)))
                raise typer.Exit(FAILED) from error
            except ModuleNotFoundError as error:
                missing = missing_dependency(error)
                if missing is None:
                    raise
                say_error(str(missing))
                raise typer.Exit(FAILED) from error
            except BrokenPipeError:
                raise  # what reads the output has seen enough of it, such as `head`: click ends the command quietly
            except (MemoryError, RuntimeError) as error:
                needed = memory_needed(error)
                if needed is None:
                    raise
                say_error(f"not enough memory: {needed}{self._smaller(ctx)}")
                raise typer.Exit(FAILED) from error
            except OSError as error:
                say_error(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
                raise typer.Exit(FAILED) from error
            except KeyboardInterrupt as error:
                say_note("stopped")
                raise typer.Exit(INTERRUPTED) from error

    def _smaller(self, ctx: Any) -> str:
        """Advice to decrease those options of the command that decide how much memory it needs."""
        chosen = self.get_command(ctx, ctx.invoked_subcommand) if ctx.invoked_subcommand else None
        known = {option for parameter in (chosen.params if chosen else ()) for option in parameter.opts}
        found = [option for option in SIZES if option in known]
        return f"; choose a smaller {' or '.join(found)}" if found else ""


app = typer.Typer(
    cls=Commands,
    name=NAME,
    help="A compiler for probabilistic circuits that you can watch.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print_text(f"{NAME} {installed_version()}")
        raise typer.Exit


@app.callback()
def before_commands(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Accept the options before a command."""


app.command("explore")(serve.explore)
app.command("gallery")(listings.list_gallery)
app.command("trace")(trace.trace)
app.command("show")(show.show)
app.command("rules")(listings.rules)
app.command("validate")(listings.validate)
app.command("train")(train.train)
app.command("evaluate")(queries.evaluate)
app.command("sample")(queries.sample)
app.command("query")(queries.query)
app.command("count")(queries.count)
app.command("serve")(serve.serve)
app.command("watch")(watch.watch)
app.command("time")(time.time)
app.command("html")(show.html)
app.command("svg")(show.svg)
app.command("lab")(lab.lab)
app.command("course")(lab.course)
app.command("bench", context_settings=time.SETTINGS)(time.bench)


def main() -> None:
    """The entry point of the command."""
    app()


def _note(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    say_note(str(message))


@contextmanager
def _long_work_noted() -> Generator[None, None, None]:
    logger, handler = logging.getLogger(LONG_WORK), _NoteHandler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _NoteHandler(logging.Handler):
    """Prints what is logged as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        say_note(record.getMessage())


# ---------------------------------------------------------------------- messages of errors


OPTIONS = {
    "max_seconds": "--seconds",
    " (the cause of this error says more)": "",  # Python chains it; a command prints one line
    "assume_deterministic=True": "--assume-deterministic",
    "root=(output, class)": "--root OUTPUT,CLASS",
}
"""Words of a command for what a message of a function says to callers in Python."""
BYTES = re.compile(r"(?i)(?:tried|unable) to allocate (\d[\d.]*) ?(bytes|[KMGTPE]iB)")
"""The messages of PyTorch and NumPy."""


def in_options(message: str) -> str:
    """A message in terms of the command line.

    >>> in_options("say which one by root=(output, class)")
    'say which one by --root OUTPUT,CLASS'
    """
    for argument, option in OPTIONS.items():
        message = message.replace(argument, option)
    return message


def memory_needed(error: MemoryError | RuntimeError) -> str | None:
    """Return how much memory could not be allocated; None if the error is a different one.

    >>> memory_needed(RuntimeError("DefaultCPUAllocator: you tried to allocate 240000000000 bytes."))
    '223.5 GiB were asked for at once'
    """
    found = BYTES.search(str(error))
    if found is None:
        return "a large array was asked for" if isinstance(error, MemoryError) else None
    number, unit = float(found[1].rstrip(".")), found[2]
    if unit == "bytes":
        number, unit = number / 2**30, "GiB"
    return f"{number:,.1f} {unit} were asked for at once"
