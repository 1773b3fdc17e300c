"""`circuit-explorer bench pyjuice`: forward passes and steps of EM on CUDA next to PyJuice."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import torch
import typer
from rich.table import Table

from benchmarks.command_parts import JsonOption, note_interrupt
from benchmarks.conditions import Conditions, write_json
from benchmarks.pyjuice_cases import PYJUICE_CASES, get_pyjuice_case
from benchmarks.pyjuice_em import measure_em
from benchmarks.pyjuice_peer import (
    MISSING_PYJUICE,
    PYJUICE,
    PYJUICE_ENTRANTS,
    PYJUICE_PACKAGE,
    PyJuiceRow,
    measure_pyjuice,
    pyjuice_is_installed,
)
from explorer.app.commands.console import check_writable, notes, progress, results, say_note
from explorer.bench import device_name, estimate, why_no_cuda
from explorer.bench.machine import versions
from explorer.errors import CircuitError, check_name
from explorer.timings import CUDA, DEVICES

PRECISION = (
    f"{PYJUICE} multiplies in bfloat16 and adds in float32 by default (bf16); TF32 is its force_use_fp32=True, where "
    "Triton's tl.dot has its default precision."
)


def bench_pyjuice(
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="CASES", help=f"{', '.join(PYJUICE_CASES)} by default")
    ] = None,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, metavar="B", help="rows; repeat it for several [default: 256, 1024]")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="timed calls of each entrant, interleaved")] = 30,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ENTRANT", help=f"only {', '.join(PYJUICE_ENTRANTS)}; repeat it for several"),
    ] = None,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help=f"where to run; {PYJUICE} has CUDA only")] = CUDA,
    em: Annotated[
        bool, typer.Option("--em", help="steps of expectation-maximization, of all entrants, instead of forward passes")
    ] = False,
    tf32: Annotated[bool, typer.Option("--tf32", help="allow TF32 in our matrix products in PyTorch")] = False,
    json: JsonOption = None,
) -> None:
    """Compare the forward pass of our backends on CUDA with that of PyJuice, on circuits with equal values.

    Each case is printed, and the file written, when it has been measured. What Inductor compiles takes
    minutes for each batch size: leave it out by naming the others with --only.
    """
    for name in only or ():
        check_name("entrant", name, PYJUICE_ENTRANTS)
    check_name("device", device, DEVICES)
    chosen = [get_pyjuice_case(name) for name in cases or PYJUICE_CASES]
    if json is not None:
        check_writable(json)
    if not pyjuice_is_installed():
        say_note(MISSING_PYJUICE)
    if device == CUDA and (reason := why_no_cuda()):
        raise CircuitError(f"bench pyjuice needs a CUDA device: {reason}")
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    conditions = Conditions(torch.get_num_threads(), repeats, "", PYJUICE_PACKAGE, device)
    rows: list[PyJuiceRow] = []
    console = results()
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(chosen), note="")
        for case in chosen:

            def tell(note: str, name: str = case.name) -> None:
                bar.update(task, note=f"{name}, {note}")

            measure = measure_em if em else partial(measure_pyjuice, only=only or PYJUICE_ENTRANTS)
            for row in measure(case, batch or [256, 1024], repeats, device=device, on_run=tell):
                rows.append(row)
                console.print(pyjuice_table(row))
                for note in pyjuice_notes(row):
                    console.print(note, markup=False)
            if json is not None:
                statistics = {"device": device_name(device), "versions": _versions(), "rows": rows_to_json(rows)}
                write_json(json, conditions, statistics)
            torch.cuda.empty_cache()
            bar.advance(task)
    console.print(PRECISION, markup=False)
    console.print(conditions_text(repeats, device), markup=False)


def pyjuice_table(row: PyJuiceRow) -> Table:
    """The times of one case with one batch size, fastest first, and how many times as fast as the best of PyJuice."""
    what = "EM step" if row.is_em else "forward pass"
    table = Table(title=f"{row.case}, B={row.batch_size}: {what}, milliseconds")
    for name in ("entrant", "ms", "±", f"{PYJUICE}'s best / this", "relative difference", "nats"):
        table.add_column(name, overflow="fold", justify="left" if name == "entrant" else "right")
    best = row.best_peer
    for name in sorted(row.samples, key=row.seconds):
        relative, nats = row.differences[name]
        factor = "" if best is None else f"{row.seconds(best) / row.seconds(name):.2f}"
        spread = f"{estimate(row.samples[name]).spread:.0%}"
        table.add_row(name, f"{1000 * row.seconds(name):.3f}", spread, factor, f"{relative:.1e}", f"{nats:.1e}")
    return table


def pyjuice_notes(row: PyJuiceRow) -> list[str]:
    """Why entrants are absent, the fastest mode of PyJuice, and the kernels that it chose."""
    absent = [f"{name} is absent: {reason}" for name, reason in row.absent.items()]
    best = [f"fastest mode: {row.best_peer}"] if row.best_peer is not None else []
    return [*absent, *best, *row.notes]


def conditions_text(repeats: int, device: str = CUDA) -> str:
    """The device, the versions, the precision of our matrix products, and how times were taken."""
    found = ", ".join(f"{name} {version}" for name, version in _versions().items())
    precision = torch.get_float32_matmul_precision()
    return (
        f"{device_name(device)}; {found}; float32 matrix products of PyTorch: {precision}; medians of {repeats} "
        "interleaved calls, wall time until the device has finished, ± half the distance between the quartiles"
    )


def rows_to_json(rows: Sequence[PyJuiceRow]) -> list[dict[str, Any]]:
    """All rows as data of JSON types, with the medians in seconds."""
    return [{**asdict(row), "seconds": {name: row.seconds(name) for name in row.samples}} for row in rows]


def _versions() -> dict[str, str]:
    return versions(PYJUICE_PACKAGE, "triton", "nvidia-cutlass")
