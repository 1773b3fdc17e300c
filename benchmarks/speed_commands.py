"""The commands of `circuit-explorer bench` about how fast circuits run, and whether they are right."""

from pathlib import Path
from typing import Annotated

import torch
import typer

import benchmarks as b
from benchmarks.command_parts import JsonOption, conditions_of, note_interrupt, tell_conditions
from benchmarks.conditions import write_json
from explorer.app.commands.console import notes, progress, results, say_note
from explorer.bench import why_no_cuda
from explorer.bench.roofs import measure_hardware_limits
from explorer.errors import CircuitError, check_name
from explorer.files import replace_file
from explorer.timings import CPU, CUDA, DEVICES

FALLBACK_REPEATS = 9


def bench_suite(
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="CASES", help="S1, S2, M1, M2 and L1 to L7 by default")
    ] = None,
    threads: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="N", help="torch threads; repeat it for several [default: 1, 2; on CUDA 1]"),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="timed runs of each entrant")] = 9,
    train: Annotated[bool, typer.Option("--train", help="training steps too")] = False,
    forward: Annotated[
        bool, typer.Option("--forward/--no-forward", help="forward passes; --train --no-forward leaves them out")
    ] = True,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="where to run")] = CPU,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ENTRANT", help="only this entrant; repeat it for several")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="also print a table for a README")] = False,
    json: JsonOption = None,
) -> None:
    """Time our backends next to libcirkit, libcirkit under torch.compile, and a hand-written circuit under Inductor.

    Each case is printed, and the file written, when it has been measured. What torch.compile compiles takes half a
    minute for each. On CUDA, the opponents are also compiled with CUDA graphs, and wanted figures are not compared.
    """
    check_name("device", device, DEVICES)
    known = dict.fromkeys((*b.names_for(device, False), *b.names_for(device, True)))
    for name in only or ():
        check_name("entrant", name, known)
    chosen = [b.get_case(name) for name in cases or b.SUITE_CASES]
    if device == CUDA and (reason := why_no_cuda()) is not None:
        raise CircuitError(f"--device cuda needs a CUDA device: {reason}")
    numbers = threads or ([1] if device == CUDA else [1, 2])
    conditions = [conditions_of(num_threads, repeats, device) for num_threads in numbers]
    if not b.peer_is_installed():
        say_note(b.MISSING_PEER)
    console = results()
    if device == CUDA:
        console.print(conditions[0].caption(), markup=False)
    rows: list[b.SuiteRow] = []
    kinds = [training for training, is_asked in ((False, forward), (True, train)) if is_asked]
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(chosen) * len(numbers) * len(kinds), note="")
        for num_threads in numbers:
            for training in kinds:
                for case in chosen:
                    what = f"{case.name}, {'training step' if training else 'forward'}"
                    row = b.measure_suite(
                        case,
                        num_threads=num_threads,
                        repeats=repeats,
                        training=training,
                        only=only or b.NAMES,
                        device=device,
                        on_run=lambda name, what=what: bar.update(task, note=f"{what}: {name}"),
                    )
                    rows.append(row)
                    console.print(b.suite_table(row))
                    if json is not None:
                        write_json(json, conditions, b.suite_to_json(rows))
                    bar.advance(task)
    if b.outcomes(rows):
        console.print(b.wanted_table(rows))
    if markdown:
        console.print(b.suite_markdown(rows), markup=False, soft_wrap=True)
    for note in b.suite_notes(rows):
        console.print(note, markup=False)
    for one in conditions:
        tell_conditions(one)


def bench_scaling(
    threads: Annotated[int, typer.Option(min=1, help="torch threads; a single one is measured in CPU time")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="timed runs of each entrant")] = 9,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg", help="draw the times")] = None,
    json: JsonOption = None,
) -> None:
    """Time forward passes against the number of layers and the batch size, next to libcirkit, and plot them."""
    conditions = conditions_of(threads, repeats)
    if not b.peer_is_installed():
        say_note(b.MISSING_PEER)
    with progress(notes()) as bar:
        task = bar.add_task("Measuring", total=len(b.IMAGE_SIZES) + len(b.BATCH_SIZES), note="")

        def tell(name: str) -> None:
            bar.advance(task)
            bar.update(task, note=name)

        found = b.measure_scaling(threads, repeats, on_run=tell)
    results().print(b.scaling_table(found))
    tell_conditions(conditions)
    if plot is not None:
        replace_file(plot, b.scaling_svg(found, conditions.caption()).encode())
    if json is not None:
        write_json(json, conditions, b.scaling_to_json(found))


def bench_roofline(
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="CASES", help="S1, S2, M1, M2 and L1 to L7 by default")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="torch threads; a single one is measured in CPU time")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="timed runs")] = 21,
    json: JsonOption = None,
) -> None:
    """Compare the native kernels with the limits of the machine: multiplications, and bytes to read."""
    chosen = [b.get_case(name) for name in cases or b.SUITE_CASES]
    conditions = conditions_of(threads, repeats)
    limits = measure_hardware_limits(threads)
    found: list[b.Roofline] = []
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(chosen), note="")
        for case in chosen:
            bar.update(task, note=case.name)
            found.append(b.measure_roofline(case, limits, repeats))
            bar.advance(task)
    results().print(b.roofline_table(found))
    results().print(b.limits_text(limits), markup=False)
    tell_conditions(conditions)
    if json is not None:
        write_json(json, conditions, b.roofline_to_json(found))


def bench_robustness(
    train: Annotated[
        bool, typer.Option("--train/--no-train", help="also circuits that are trained first, some minutes")
    ] = True,
    fallback: Annotated[
        bool, typer.Option("--fallback/--no-fallback", help="also time the fallback next to libcirkit")
    ] = True,
    json: JsonOption = None,
) -> None:
    """Count wrong answers of fast circuits with sharp distributions, and time what evaluates uncertified rows again."""
    conditions = conditions_of(torch.get_num_threads(), FALLBACK_REPEATS)
    found: list[b.Robustness] = []
    times: list[b.FallbackTime] = []
    if fallback and not b.peer_is_installed():
        say_note(b.MISSING_PEER)
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Comparing", total=len(b.ROBUSTNESS_CASES) * (1 + train + fallback), note="")

        def tell(name: str) -> None:
            bar.update(task, note=name)

        for case in b.ROBUSTNESS_CASES:
            found.extend(b.measure_robustness(case, on_run=tell))
            bar.advance(task)
        for case in b.ROBUSTNESS_CASES if train else ():
            found.extend(b.measure_trained(case, on_run=tell))
            bar.advance(task)
        for case in b.ROBUSTNESS_CASES if fallback and b.peer_is_installed() else ():
            tell(f"{case.name}, fallback")
            times.append(b.measure_fallback(case, conditions.num_threads, FALLBACK_REPEATS))
            bar.advance(task)
    results().print(b.robustness_table(found))
    again = f"{b.share_again(found):.1%} of all rows were not certified and took the fallback" if found else ""
    results().print(f"{sum(entry.wrong for entry in found)} finite answers are wrong; {again}.", markup=False)
    if times:
        results().print(b.fallback_table(times))
        tell_conditions(conditions)
    if json is not None:
        write_json(json, conditions, {"rows": b.robustness_to_json(found), "fallback": b.fallback_to_json(times)})
    if any(entry.wrong for entry in found):
        raise typer.Exit(1)
