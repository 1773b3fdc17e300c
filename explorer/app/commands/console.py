"""Printing of the commands: results to standard output, progress and notes to standard error."""

import shutil
import sys
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from explorer.errors import FileFormatError
from explorer.packages import NAME

PIPE_WIDTH = 160
"""The width of output that is not printed to a terminal."""


def results() -> Console:
    """The console for results."""
    return _console(sys.stdout, stderr=False)


def notes() -> Console:
    """The console for progress, notes and errors."""
    return _console(sys.stderr, stderr=True)


def print_text(text: str) -> None:
    """Print text to standard output as is: no markup, no added line breaks."""
    results().print(text, markup=False, soft_wrap=True)


def progress(console: Console) -> Progress:
    """A progress bar that disappears when it is done, and is hidden without a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def command() -> str:
    """How to call this program: by name if it is on the path, otherwise by path (`.venv/bin/circuit-explorer`)."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py" and program.parent.name == "explorer":
        return "python -m explorer"
    if program.name != NAME or shutil.which(NAME) is not None:
        return NAME
    here = Path.cwd()
    return str(program.relative_to(here)) if program.is_relative_to(here) else str(program)


def check_writable(path: Path, *sources: str | Path | None) -> None:
    """Create the folder of a file and check that the file can be written, before any work is done.

    Raises: FileFormatError, also if it is one of the files that the command reads.
    """
    given = [str(source) for source in sources if source]
    read = [*given, *(source.rpartition(":")[0] for source in given)]  # FILE.py of FILE.py:FUNCTION
    if path.exists() and any(source and Path(source).exists() and path.samefile(source) for source in read):
        raise FileFormatError(f"{path} is read by this command, and would be overwritten; choose another file")
    new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise FileFormatError(f"cannot write {path}: {error.strerror}") from error


def say_error(message: str) -> None:
    """Print an error as one red line."""
    notes().print(f"Error: {message}", style="bold red", markup=False, soft_wrap=True)


def say_note(message: str) -> None:
    """Print a note as one yellow line."""
    notes().print(f"Note: {message}", style="yellow", markup=False, soft_wrap=True)


def _console(stream: TextIO, stderr: bool) -> Console:
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else PIPE_WIDTH)
