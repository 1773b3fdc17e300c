"""`circuit-explorer bench rivals`: the CPU next to SparC and KLay."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.table import Table

from benchmarks.command_parts import JsonOption, note_if_busy, note_interrupt
from benchmarks.conditions import Conditions, write_json
from benchmarks.rivals import (
    BATCHES,
    FORMULAS,
    KLAY,
    OURS,
    SPARC,
    SPARC_CASES,
    WANTED,
    RivalRow,
    measure_klay,
    measure_sparc,
    missing_modules,
)
from explorer.app.commands.console import check_writable, notes, progress, results, say_note
from explorer.bench import estimate

INSTALL = "pip install sparc-pc klaycircuits pysdd"


def bench_rivals(
    threads: Annotated[int, typer.Option(min=1, help="threads of both sides")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="timed runs of each, interleaved")] = 9,
    json: JsonOption = None,
) -> None:
    """Compare the forward pass on the CPU with SparC and KLay, on circuits with equal values."""
    if json is not None:
        check_writable(json)
    rows: list[RivalRow] = []
    runs = list(_runs(repeats, threads))
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(runs), note="")
        for name, run in runs:
            bar.update(task, note=name)
            rows.append(run())
            bar.advance(task)
    results().print(rivals_table(rows))
    note_if_busy()
    if json is not None:
        write_json(json, Conditions(threads, repeats, "", INSTALL), [asdict(row) for row in rows])


def _runs(repeats: int, threads: int) -> Iterator[tuple[str, Callable[[], RivalRow]]]:
    """Yield what is measured, and say which rivals are not installed."""
    for rival in WANTED:
        if missing := missing_modules(rival):
            say_note(f"{rival} is left out, as {' and '.join(missing)} cannot be imported: {INSTALL}")
        elif rival == SPARC:
            yield from ((case, partial(measure_sparc, case, repeats, threads)) for case in SPARC_CASES)
        else:
            yield from (
                (case, partial(measure_klay, case, size, repeats, threads)) for case in FORMULAS for size in BATCHES
            )


def rivals_table(rows: Sequence[RivalRow]) -> Table:
    """One row for each circuit and batch size."""
    table = Table(title=f"Forward pass in milliseconds, next to {SPARC} and {KLAY}")
    for name in ("circuit", "rival"):
        table.add_column(name)
    for name in ("size", "rows", OURS, "rival's", "times as fast", "wanted", "", "nats apart"):
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        ours, theirs = (estimate(row.samples[name]).median for name in (OURS, row.rival))
        wanted = WANTED[row.rival]
        met = "met" if row.speedup >= wanted else "MISSED"
        numbers = f"{row.size:,}", f"{row.batch_size:,}", f"{ours:.3f}", f"{theirs:.3f}", f"{row.speedup:.1f}"
        table.add_row(row.case, row.rival, *numbers, f"{wanted:g}", met, f"{row.difference:.1e}")
    return table
