"""Printing of the commands: results to standard output, progress and notes to standard error; tables that fit."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import measure_renderables
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from explorer.errors import FileFormatError
from explorer.files import check_writable
from explorer.packages import NAME
from explorer.trace.text import CONTROL

RUNS = Path("runs")
"""The folder of what commands write by default."""
PIPE_WIDTH = 160
"""The width of output that is not printed to a terminal."""


def complete_circuit(begun: str) -> list[str]:
    """Complete the name of a circuit of the gallery; the shell completes other words as files."""
    from explorer.templates import gallery

    return [name for name in gallery.names() if name.startswith(begun)]


def results() -> Console:
    """The console for results. Raises: FileFormatError if standard output is closed."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] (`>&-` in a shell)
        raise FileFormatError("cannot write the output: standard output is closed")
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
    """Return the call of this program in a shell: by name if it is on the path, otherwise by path."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py" and program.parent.name == "explorer":
        return "python -m explorer"
    if program.name != NAME or shutil.which(NAME) is not None:
        return NAME
    here = Path.cwd()
    return quote(str(program.relative_to(here) if program.is_relative_to(here) else program))


def check_output(path: Path, *sources: str | Path | None, new_folder: Path = RUNS) -> None:
    """Check that a file can be written, before any work is done; only `new_folder` is created for it.

    Raises: FileFormatError, also if it is one of the files that the command reads, or its folder does not exist: a
    misspelled path must not become a folder.
    """
    given = [str(source) for source in sources if source]
    read = [*given, *(source.rpartition(":")[0] for source in given)]  # FILE.py of FILE.py:FUNCTION
    if path.exists() and any(source and Path(source).exists() and path.samefile(source) for source in read):
        raise FileFormatError(f"{path} is read by this command, and would be overwritten; choose another file")
    folder = path.parent
    if not folder.is_dir() and not (folder == new_folder and folder.absolute().parent.is_dir()):
        name = quote(str(folder))
        raise FileFormatError(f"cannot write {path}: there is no folder {name}; correct the path, or: mkdir -p {name}")
    try:
        check_writable(path)
    except FileFormatError as error:
        if folder != new_folder:
            raise
        raise FileFormatError(f"{error}; write elsewhere with --out") from error


def say_error(message: str) -> None:
    """Print an error as one red line."""
    notes().print(f"Error: {message}", style="bold red", markup=False, soft_wrap=True)


def say_note(message: str) -> None:
    """Print a note as one yellow line."""
    notes().print(f"Note: {message}", style="yellow", markup=False, soft_wrap=True)


class _Console(Console):
    """A console for tables that fit, which reports what could not be written, such as to a full disk.

    Names in files and of files, in whatever is printed, do not control the terminal.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for one in super().render(renderable, options):
            yield one if one.control or one.text.isprintable() else Segment(one.text.translate(CONTROL), one.style)

    def print(self, *objects: Any, **options: Any) -> None:
        try:
            super().print(*(fit(one, self) if isinstance(one, Table) else one for one in objects), **options)
        except BrokenPipeError:
            raise  # what reads the output has seen enough of it
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # Python writes the rest when it ends
            raise FileFormatError(f"cannot write the output: {error.strerror or error}") from error


def _console(stream: TextIO | None, stderr: bool) -> Console:
    is_terminal = stream is not None and stream.isatty()
    return _Console(stderr=stderr, highlight=False, width=None if is_terminal else PIPE_WIDTH)


# ---------------------------------------------------------------------- tables in narrow terminals


def fit(table: Table, console: Console) -> RenderableType:
    """Return the table with columns that fit the console, or its rows one below another, so that no word is cut."""
    cells = [[column.header, *column.cells] for column in table.columns]
    measured = [measure_renderables(console, console.options, one) for one in cells]
    least, most = [one.minimum for one in measured], [one.maximum for one in measured]
    free = console.width - 3 * len(cells) - 1 - sum(least)
    if sum(most) - sum(least) <= free:
        return table
    if free < 0:
        return _as_list(table)
    for column, low, high in zip(table.columns, least, most, strict=True):
        column.width = low + free * (high - low) // (sum(most) - sum(least))
    return table


def _as_list(table: Table) -> Group:
    """The rows of a table, one cell per line, each after the name of its column."""
    lines: list[RenderableType] = [Text.from_markup(f"[italic]{table.title}[/]")] if table.title else []
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        lines.append(Text.from_markup(f"{table.columns[0].header}: [bold]{cells[0]}[/]"))
        for column, cell in zip(table.columns[1:], cells[1:], strict=True):
            if cell:
                lines.append(Padding(Text.from_markup(f"{column.header}: {cell}"), (0, 0, 0, 2)))
    if table.caption:
        lines.append(Text.from_markup(f"[dim italic]{table.caption}[/]"))
    return Group(*lines)
