"""`circuit-explorer bench watch`: models compiled with and without watching, each in a process of its own."""

import json as text
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from benchmarks.command_parts import JsonOption, conditions_of, note_if_busy, note_interrupt
from benchmarks.conditions import write_json
from benchmarks.watch_models import FAMILIES, KINDS, MODELS, STAGES, WatchedModel, WatchResult, get_model
from explorer.app.commands.console import notes, progress, results, say_note
from explorer.bench import why_no_cuda
from explorer.errors import CircuitError, check_name
from explorer.timings import CPU, CUDA, DEVICES

COLUMNS = ("model", "graphs", "calls", "code", "output", "kernels", "seams", "time", "file", "")
LEGEND = """\
calls: captured, lowered, fused, at the end
code, output: = if equal with and without watching
kernels: those of Inductor; = if the fused pairs of the trace lead to them
seams: refused because, refused without a reason, put off, never tried, called as one function
time: processor time of compiling with watching, over that without; not with --build, where built code is used again"""


def bench_watch(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODELS", help=f"names, or {', '.join(FAMILIES)}; all that are installed by default"),
    ] = None,
    build: Annotated[bool, typer.Option("--build", help="build C++, and compare outputs")] = False,
    seconds: Annotated[int, typer.Option(min=1, help="maximum time of a model")] = 600,
    device: Annotated[
        str, typer.Option(metavar="cpu|cuda", help="where models are; on CUDA, code is in Triton, and always built")
    ] = CPU,
    json: JsonOption = None,
) -> None:
    """Compile models with and without watching, and compare code, outputs, kernels, seams and time.

    What Inductor decides is also heard without the adapter. Models have random weights; those of packages that are not
    installed are named and skipped. Each row is printed when it is finished, and the command fails if any row does.
    """
    check_name("device", device, DEVICES)
    if device == CUDA and (reason := why_no_cuda()):
        raise CircuitError(f"--device cuda needs a CUDA device: {reason}")
    chosen = _chosen(models)
    missing = [model.name for model in chosen if not model.is_installed]
    if missing:
        say_note(
            f"skipped, since their packages are not installed (torchvision, timm, transformers): {', '.join(missing)}"
        )
    chosen = [model for model in chosen if model.is_installed]
    found: list[WatchResult] = []
    console = results()
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Compiling", total=len(chosen), note="")
        for model in chosen:
            bar.update(task, note=model.name)
            row = measure_apart(model, build, seconds, device)
            found.append(row)
            console.print(" ".join(filter(None, cells_of(row))), markup=False, highlight=False, soft_wrap=True)
            for text_of_wrong in row.wrong:
                console.print(f"  {text_of_wrong}", markup=False, highlight=False, soft_wrap=True)
            if json is not None:
                write_json(json, conditions_of(1, 1, device), [asdict(one) for one in found])
            bar.advance(task)
    console.print(watch_table(found))
    console.print(LEGEND, markup=False)
    note_if_busy()
    if any(not row.ok for row in found):
        raise CircuitError(f"watching is not right for: {', '.join(row.name for row in found if not row.ok)}")


def _chosen(names: Sequence[str] | None) -> list[WatchedModel]:
    """The models of names and families. Raises: UnknownNameError."""
    if not names:
        return list(MODELS.values())
    found = [
        [model for model in MODELS.values() if model.family == name] if name in FAMILIES else [get_model(name)]
        for name in names
    ]
    return list(dict.fromkeys(model for models in found for model in models))


def measure_apart(model: WatchedModel, build: bool, seconds: int, device: str = CPU) -> WatchResult:
    """Measure a model in a process of its own; a row that says why, if that fails or takes longer."""
    with TemporaryDirectory() as folder:
        file, log = Path(folder, "row.json"), Path(folder, "log")
        command = [sys.executable, "-m", "benchmarks.watched_model", model.name, str(file), "--device", device]
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [*command, *(["--build"] if build else [])], stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                return WatchResult(model.name, model.family, wrong=(f"it took more than {seconds} seconds",))
            finally:
                process.kill()
                process.wait()
        if not file.is_file():
            lines = log.read_text("utf-8", "replace").strip().splitlines() or [f"status {process.returncode}"]
            return WatchResult(model.name, model.family, wrong=(lines[-1],))
        return WatchResult(**text.loads(file.read_text("utf-8")))


def watch_table(rows: Iterable[WatchResult]) -> Table:
    """One row per model."""
    table = Table(title="Compiled by torch.compile, with and without watching")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("model", "") else "right", overflow="fold")
    for row in rows:
        table.add_row(*cells_of(row))
    return table


def cells_of(row: WatchResult) -> tuple[str, ...]:
    """The cells of a row; see `COLUMNS`."""
    if not row.graphs:
        return (row.name, *("",) * (len(COLUMNS) - 2), "NOT MEASURED")
    return (
        row.name,
        str(row.graphs),
        " ".join(str(row.calls.get(stage, 0)) for stage in STAGES),
        _equal(row.same_code),
        _equal(row.same_output),
        f"{row.kernels} {_equal(row.same_kernels)}",
        " ".join(str(row.seams.get(kind, 0)) for kind in dict.fromkeys(KINDS.values())),
        f"{row.ratio:.2f}" if row.same_output is None else "",
        f"{row.file_bytes / 1000:,.0f} kB",
        "" if row.ok else "DIFFERS",
    )


def _equal(is_equal: bool | None) -> str:
    return "" if is_equal is None else "=" if is_equal else "DIFFERS"
