"""`circuit-explorer bench learning`: the default learning of tables next to scikit-learn's Gaussian mixtures."""

from dataclasses import asdict
from typing import Annotated

import torch
import typer

from benchmarks.command_parts import JsonOption, note_if_busy, note_interrupt
from benchmarks.conditions import Conditions, write_json
from benchmarks.learning_scores import LearningScore, measure_learning, scores_table, summary
from benchmarks.learning_tables import SOURCES, TABLES, is_shipped
from explorer.app.commands.console import check_writable, notes, progress, results, say_note
from explorer.errors import check_name
from explorer.packages import require


def bench_learning(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="TABLES", help=f"{', '.join(TABLES)} (default: all)")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="decides which fifth of the rows is held out")] = 0,
    json: JsonOption = None,
) -> None:
    """Compare what train learns from tables by default with Gaussian mixtures: held-out likelihood and time."""
    for table in tables or ():
        check_name("table", table, TABLES)
    if json is not None:
        check_writable(json)
    require("the command bench learning", "digits", "sklearn")
    torch.set_num_threads(1)
    chosen = [name for name in tables or TABLES if is_shipped(name)]
    missing = sorted({SOURCES[TABLES[name]] for name in tables or TABLES if name not in chosen})
    for package in missing:
        say_note(f"{package} is not installed, so its tables are left out; run: pip install {package}")
    scores: list[LearningScore] = []
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Learning", total=len(chosen), note="")
        for name in chosen:
            bar.update(task, note=name)
            scores.append(measure_learning(name, seed))
            bar.advance(task)
    if scores:
        results().print(scores_table(scores))
        results().print(summary(scores), markup=False)
    note_if_busy()
    if json is not None:
        write_json(json, Conditions(1, 1, ""), {"learning": [asdict(row) for row in scores]})
