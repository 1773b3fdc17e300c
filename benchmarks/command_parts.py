"""What the commands of `circuit-explorer bench` have in common: options, conditions, interrupts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.conditions import Conditions
from benchmarks.peer import PACKAGE
from explorer.app.commands.console import results, say_note
from explorer.bench import keep_freed_memory
from explorer.bench.machine import busy_machine
from explorer.timings import CPU

JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write all measurements here")]


def conditions_of(num_threads: int, repeats: int, device: str = CPU) -> Conditions:
    """The conditions of a benchmark next to the peer, with malloc tuned for all."""
    return Conditions(num_threads, repeats, keep_freed_memory(), PACKAGE, device)


@contextmanager
def note_interrupt() -> Iterator[None]:
    """Ctrl-C ends the measurement; the finished cases are reported."""
    try:
        yield
    except KeyboardInterrupt:
        say_note("stopped; these cases were finished")


def tell_conditions(conditions: Conditions) -> None:
    """Print the conditions, and a note if the machine is busy."""
    results().print(str(conditions), markup=False)
    note_if_busy()


def note_if_busy() -> None:
    """Say so if the machine is too busy for times."""
    warning = busy_machine()
    if warning is not None:
        say_note(warning)
