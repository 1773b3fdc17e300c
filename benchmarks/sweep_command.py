"""`circuit-explorer bench sweep`: times combinations of circuits and options on Dask."""

import os
from typing import Annotated

import typer

from benchmarks.command_parts import JsonOption, note_interrupt
from benchmarks.sweep import (
    Configuration,
    SweepRow,
    conditions_of,
    configurations,
    failures,
    sweep_table,
    sweep_to_json,
)
from benchmarks.sweep_workers import connected, run_sweep
from explorer.app.commands.console import check_writable, notes, progress, results, say_note
from explorer.bench.circuit_times import NAMES_OF_MODES
from explorer.files import write_json
from explorer.runtime.backends import BACKENDS
from explorer.timings import CPU, FORWARD, LAYERS_AS_THEY_ARE


def bench_sweep(
    circuits: Annotated[list[str], typer.Argument(metavar="CIRCUITS", help="of the gallery, or circuit files")],
    preset: Annotated[list[str] | None, typer.Option(help="default or handbook; repeat it for both")] = None,
    mode: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(NAMES_OF_MODES)}; may be repeated (default: the last one)")
    ] = None,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="rows of the input; may be repeated (default: 256)")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="forward or training; repeat it for both")] = None,
    backend: Annotated[
        list[str] | None, typer.Option(help=f"layers, auto, {', '.join(BACKENDS)}; may be repeated (default: layers)")
    ] = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="where to run")] = CPU,
    seconds: Annotated[float, typer.Option(help="maximum time of each; it ends earlier once precise")] = 10.0,
    threads: Annotated[int, typer.Option(min=1, help="torch threads; a single one is measured in CPU time")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="a Dask scheduler such as tcp://10.0.0.1:8786 (default: local workers)"),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="local workers, which run side by side and disturb each other a little")
    ] = max(1, (os.cpu_count() or 1) // 2),
    json: JsonOption = None,
) -> None:
    """Time every combination of circuits and options, on local workers or a Dask cluster."""
    if json is not None:
        check_writable(json)
    modes = mode or [list(NAMES_OF_MODES)[-1]]
    chosen = configurations(
        circuits,
        preset or ["default"],
        modes,
        batch or [256],
        kind or [FORWARD],
        backend or [LAYERS_AS_THEY_ARE],
        device,
    )
    rows: dict[Configuration, SweepRow] = {}
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(chosen), note="starting workers")

        def tell(row: SweepRow) -> None:
            rows[row.configuration] = row
            bar.advance(task)
            bar.update(task, note=f"{row.configuration.circuit}, batch {row.configuration.batch_size}")

        with connected(scheduler, workers) as client:
            run_sweep(client, chosen, max_seconds=seconds, num_threads=threads, on_row=tell)
    finished = [rows[one] for one in chosen if one in rows]
    results().print(sweep_table(finished))
    for line in failures(finished):
        say_note(line)
    for line in conditions_of(finished):
        results().print(line, markup=False)
    if json is not None:
        write_json({"sweep": sweep_to_json(finished)}, json)
    if any(row.reason for row in finished):
        raise typer.Exit(1)
