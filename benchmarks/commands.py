"""The commands of `circuit-explorer bench`: compile times next to the peer, the tensor and program level, the views."""

from collections.abc import Set
from importlib.util import find_spec
from typing import Annotated

import torch
import typer

import benchmarks as b
from benchmarks.browser_times import measure_pages
from benchmarks.command_parts import JsonOption, conditions_of, note_if_busy, note_interrupt, tell_conditions
from benchmarks.conditions import Conditions, write_json
from benchmarks.dashboard_times import measure_dashboard
from benchmarks.learning_command import bench_learning
from benchmarks.operators_command import bench_operators
from benchmarks.pyjuice_command import bench_pyjuice
from benchmarks.rivals_command import bench_rivals
from benchmarks.speed_commands import bench_robustness, bench_roofline, bench_scaling, bench_suite
from benchmarks.sweep_command import bench_sweep
from benchmarks.view_times import (
    EXPORT_BYTES,
    LARGE_CASE,
    PROGRAM_CASE,
    VIEW_CASES,
    Measurement,
    export_of,
    export_size,
    large_export,
    layers_of,
    measure_views,
    view_table,
    views_to_json,
)
from benchmarks.watch_command import bench_watch
from explorer.app.circuits import load_circuit
from explorer.app.commands.console import notes, progress, results, say_note
from explorer.compiler import record
from explorer.errors import check_name
from explorer.recording import record as record_level
from explorer.templates import gallery
from explorer.trace import Trace

bench = typer.Typer(
    help="Measure speed, side by side with the peer compiler if it is installed.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=False,
)
bench.command("suite")(bench_suite)
bench.command("roofline")(bench_roofline)
bench.command("scaling")(bench_scaling)
bench.command("robustness")(bench_robustness)
bench.command("sweep")(bench_sweep)
bench.command("operators")(bench_operators)
bench.command("pyjuice")(bench_pyjuice)
bench.command("rivals")(bench_rivals)
bench.command("watch")(bench_watch)
bench.command("learning")(bench_learning)

PARTS = ("pictures", "pages", "recording", "dashboard")
"""What `bench views` measures: pictures in Python, exported pages, what the recorder adds, and the dashboard."""
RECORDED = {"digits": 15, "mnist": 3}
"""The circuits that are compiled with and without the recorder, and how often."""
RECORDING_PERCENT = 10.0
PROGRAM_CIRCUITS = ("digits", "hmm", "kronecker", "mnist")
"""The circuits whose memory is planned and measured by default; all of the gallery can be."""


@bench.command("compile")
def bench_compile(
    cases: Annotated[
        list[str] | None, typer.Argument(metavar="CASES", help="mnist and poon-domingos by default")
    ] = None,
    repeats: Annotated[int, typer.Option(help="timed runs per side")] = 5,
    growth: Annotated[
        bool, typer.Option("--growth/--no-growth", help="also time circuits of 1k, 5k and 20k layers")
    ] = True,
    json: JsonOption = None,
) -> None:
    """Time compilation: ours, ours with the recorder, the peer's; and how ours grows with the circuit."""
    chosen = [b.get_case(name) for name in cases or b.PEER_CASES]
    conditions = conditions_of(1, repeats)
    if not b.peer_is_installed():
        say_note(b.MISSING_PEER)
    times: list[b.CompileTimes] = []
    grown: tuple[b.CompileTimes, ...] = ()
    with progress(notes()) as bar:
        total = len(chosen) * b.num_compile_runs(repeats, b.peer_is_installed())
        total += len(b.GROWTH_CASES) * (repeats + 1) if growth else 0
        task = bar.add_task("Compiling", total=total, note="")

        def tell(name: str) -> None:
            bar.advance(task)
            bar.update(task, note=name)

        with note_interrupt():
            for case in chosen:
                times.append(b.measure_compile(case, repeats=repeats, on_run=tell))
            if growth:
                grown = b.measure_growth(repeats=repeats, on_run=tell)
    console = results()
    console.print(b.compile_table(times))
    if grown:
        console.print(b.growth_table(grown))
    tell_conditions(conditions)
    if json is not None:
        write_json(json, conditions, b.compile_to_json(times, grown))


@bench.command("views")
def bench_views(
    circuits: Annotated[
        list[str] | None, typer.Argument(metavar="CIRCUITS", help="digits, mnist and poon-domingos by default")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="also in a browser, if Playwright and Chromium are installed")
    ] = True,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PART", help=f"measure only {' or '.join(PARTS)}; repeat it for several")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Time the views of a trace against their budgets: steps, first picture, pages."""
    for part in only or ():
        check_name("part", part, PARTS)
    parts = set(only or PARTS)
    conditions = Conditions(0, 1, "")
    names = tuple(circuits or VIEW_CASES)
    measurements: list[Measurement] = []
    pages: dict[str, tuple[str, int]] = {}
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Measuring", total=len(names), note="")
        for name in names:
            bar.update(task, note=name)
            measurements += _measure_circuit(name, parts, pages)
            bar.advance(task)
        large: dict[str, Trace] = {}
        if browser and circuits is None and parts & {"pages", "dashboard"}:
            bar.update(task, note=LARGE_CASE)
            large[LARGE_CASE] = record(b.get_case(LARGE_CASE).circuit())
        if browser and "pages" in parts:
            for name, trace in large.items():
                pages[name] = (large_export(name, trace), layers_of(trace))
            if circuits is None:
                program = record_level(load_circuit(PROGRAM_CASE), level="program")
                pages[f"program of {PROGRAM_CASE}"] = (export_of(PROGRAM_CASE, program), layers_of(program))
            measurements += measure_pages(pages)
        if browser and "dashboard" in parts:
            measurements += measure_dashboard(large)
    results().print(view_table(measurements))
    note_if_busy()
    if json is not None:
        write_json(json, conditions, views_to_json(measurements))


def _measure_circuit(name: str, parts: Set[str], pages: dict[str, tuple[str, int]]) -> list[Measurement]:
    """Measure these parts of a circuit outside a browser, and add its page to `pages`."""
    found: list[Measurement] = []
    if parts & {"pictures", "pages"}:
        trace = record(load_circuit(name))
        if "pictures" in parts:
            found += measure_views(name, trace)
        if "pages" in parts:
            page = export_of(name, trace)
            pages[name] = (page, layers_of(trace))
            found.append(export_size(name, page, EXPORT_BYTES if name == VIEW_CASES[0] else None))
    if "recording" in parts and name in RECORDED:
        overhead = 100 * b.measure_recording(b.get_case(name), repeats=RECORDED[name])
        found.append(Measurement(name, "recording adds", overhead, "%", RECORDING_PERCENT))
    return found


@bench.command("reads")
def bench_reads(
    circuits: Annotated[list[str] | None, typer.Argument(metavar="CIRCUITS", help="all of the gallery")] = None,
    json: JsonOption = None,
) -> None:
    """Count the reads that copy, and their bytes, with slices in the order of appearance and with ordered slices."""
    counts: list[b.OrderedReads] = []
    names = tuple(circuits or gallery.names())
    with progress(notes()) as bar, note_interrupt():
        task = bar.add_task("Compiling", total=len(names), note="")
        for name in names:
            bar.update(task, note=name)
            counts.append(b.measure_reads(name))
            bar.advance(task)
    results().print(b.reads_table(counts))
    if json is not None:
        write_json(json, conditions_of(1, 1), b.reads_to_json(counts))


@bench.command("program")
def bench_program(
    circuits: Annotated[
        list[str] | None, typer.Argument(metavar="CIRCUITS", help="digits, hmm, kronecker and mnist by default")
    ] = None,
    growth: Annotated[
        bool, typer.Option("--growth/--no-growth", help="also time lowering and memory passes for 1k to 30k layers")
    ] = True,
    json: JsonOption = None,
) -> None:
    """Compare the memory that programs are planned for with what they allocate, and time lowering as circuits grow."""
    conditions = conditions_of(1, 1)
    torch.set_num_threads(1)
    names = tuple(circuits or PROGRAM_CIRCUITS)
    peaks: list[b.ProgramPeak] = []
    times: tuple[b.LoweringTime, ...] = ()
    num_sizes = len(b.FOLDED_CASES) + len(b.UNFOLDED_SIZES) if growth else 0
    with progress(notes()) as bar:
        task = bar.add_task("Measuring", total=len(names) + num_sizes, note="")

        def tell(name: str) -> None:
            bar.advance(task)
            bar.update(task, note=name)

        with note_interrupt():
            for name in names:
                tell(name)
                peaks.append(b.measure_peak(name))
            if growth:
                times = b.measure_lowering(on_run=tell)
    results().print(b.peaks_table(peaks))
    if times:
        results().print(b.lowering_table(times))
    tell_conditions(conditions)
    if json is not None:
        write_json(json, conditions, {"peaks": b.peaks_to_json(peaks), "lowering": b.lowering_to_json(times)})


@bench.command("tensor")
def bench_tensor(
    circuits: Annotated[
        list[str] | None, typer.Argument(metavar="CIRCUITS", help="all circuits of the gallery by default")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="torch threads; a single one is measured in CPU time")] = 1,
    growth: Annotated[
        bool,
        typer.Option(
            "--growth/--no-growth", help="also time rewriting 1k to 20k operators in several shapes, next to PyTensor"
        ),
    ] = True,
    identities: Annotated[
        bool, typer.Option("--identities/--no-identities", help="also count what is left of PyTensor's expressions")
    ] = True,
    json: JsonOption = None,
) -> None:
    """Count and time the operators of folded circuits before and after the default passes, with equal values."""
    torch.set_num_threads(threads)
    conditions = conditions_of(threads, 15)
    names = tuple(circuits or gallery.names())
    counts: list[b.TensorCounts] = []
    grown: tuple[b.RewriteTime, ...] = ()
    left: tuple[b.IdentityCount, ...] = ()
    if growth and find_spec("pytensor") is None:
        say_note(b.MISSING_PYTENSOR)
    with progress(notes()) as bar:
        more = len(b.SIZES) * len(b.SHAPES) * growth + len(b.IDENTITY_CASES) * identities
        task = bar.add_task("Measuring", total=len(names) + more, note="")

        def tell(name: str) -> None:
            bar.advance(task)
            bar.update(task, note=name)

        with note_interrupt():
            for name in names:
                bar.update(task, note=name)
                counts.append(b.measure_tensor(name, threads))
                bar.advance(task)
            if growth:
                grown = b.measure_rewriting(on_run=tell)
            if identities:
                left = b.measure_identities(on_run=tell)
    console = results()
    console.print(b.tensor_table(counts))
    if grown:
        console.print(b.rewrite_table(grown))
    if left:
        console.print(b.identities_table(left))
    tell_conditions(conditions)
    if json is not None:
        write_json(json, conditions, {**b.tensor_to_json(counts, grown), "identities": b.identities_to_json(left)})
