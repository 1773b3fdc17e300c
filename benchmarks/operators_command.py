"""`circuit-explorer bench operators`: squared circuits next to the peer."""

from dataclasses import asdict
from typing import Annotated

import torch
import typer

from benchmarks.command_parts import JsonOption, conditions_of, note_interrupt, tell_conditions
from benchmarks.compile_report import MISSING_PEER
from benchmarks.conditions import write_json
from benchmarks.operator_times import (
    SQUARED_UNITS,
    OperatorTime,
    exceeding,
    measure_operators,
    operators_table,
    squared_case,
)
from benchmarks.peer import peer_is_installed
from explorer.app.commands.console import check_writable, notes, progress, results, say_note
from explorer.errors import check_name


def bench_operators(
    layers: Annotated[
        list[str] | None, typer.Argument(metavar="LAYERS", help=f"{', '.join(SQUARED_UNITS)} (default: all)")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="timed calls per side, interleaved")] = 30,
    json: JsonOption = None,
) -> None:
    """Compare the parameters and times of squared circuits, and of their integrals, with the peer's."""
    for layer in layers or ():
        check_name("sum-product layer", layer, SQUARED_UNITS)
    if json is not None:
        check_writable(json)
    if not peer_is_installed():
        say_note(MISSING_PEER)
    torch.set_num_threads(1)
    conditions = conditions_of(1, repeats)
    cases = [squared_case(layer, units) for layer in layers or SQUARED_UNITS for units in SQUARED_UNITS[layer]]
    times: list[OperatorTime] = []
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(cases), note="")
        for case in cases:
            bar.update(task, note=case.name)
            times.append(measure_operators(case, repeats=repeats))
            bar.advance(task)
    console = results()
    console.print(operators_table(times))
    found = [text for row in times for text in exceeding(row)]
    if peer_is_installed():
        console.print("\n".join(found) or "Never more parameters than the peer, and never slower.", markup=False)
    tell_conditions(conditions)
    if json is not None:
        write_json(json, conditions, {"operators": [asdict(row) for row in times]})
