"""`circuit-explorer time` and `bench`: times a circuit or its operators after the steps of a trace, on CPU and CUDA."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from explorer.app.commands.console import check_output, complete_circuit, notes, print_text, results, say_note
from explorer.app.commands.trace import LEVELS_TEXT, recorder_of
from explorer.errors import CircuitError, MissingPackageError, ValueRangeError, check_name
from explorer.trace import COMPILED

if TYPE_CHECKING:
    from explorer.bench import Progress, Run
    from explorer.trace import Trace
    from explorer.views import TraceIndex
    from explorer_widgets.schema import TableView

DEVICES = {"cpu": ("cpu",), "cuda": ("cuda",), "both": ("cpu", "cuda")}

BATCH = 256
"""The default of --batch."""

Measure = Callable[..., "Run"]
"""A measurement that accepts `on_progress`."""


def time(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            autocompletion=complete_circuit,
            help="a circuit, a trace file, which is compiled again, or what runs code: .pt2, FILE.py:FUNCTION",
        ),
    ],
    steps: Annotated[
        str | None,
        typer.Option(metavar="all|N,...", help="steps by number or path; by default rounds and fold levels"),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="rows of the input")] = BATCH,
    threads: Annotated[int, typer.Option(min=1, help="torch threads; a single one is measured in CPU time")] = 1,
    training: Annotated[bool, typer.Option("--training", help="a training step instead of the forward pass")] = False,
    layers: Annotated[bool, typer.Option("--layers", help="also each layer or call of the last step")] = False,
    sweep: Annotated[bool, typer.Option("--sweep", help="also batches of 1 to 1,024 rows")] = False,
    modes: Annotated[bool, typer.Option("--modes", help="also optimized or not, folded or not")] = False,
    backends: Annotated[bool, typer.Option("--backends", help="also the backends of fast(), forward")] = False,
    level: Annotated[str, typer.Option(help=f"the level whose steps are timed: {LEVELS_TEXT}")] = COMPILED,
    device: Annotated[str, typer.Option(metavar="cpu|cuda|both", help="where to run")] = "both",
    seconds: Annotated[float, typer.Option(help="maximum time of each part; it ends earlier once precise")] = 20.0,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="write the runs here (NAME.timing.json)")
    ] = None,
) -> None:
    """Time the steps of a compilation on CPU and CUDA: medians with 95 % intervals, and the circuit's bottlenecks."""
    check_name("device", device, DEVICES)
    if json is not None:
        check_output(json, source)
    with notes().status("Loading torch"):
        from explorer import bench as b
        from explorer.app.session.opening import circuit_of
        from explorer.compiler import options_of
        from explorer.views import TraceIndex, bottlenecks

    if device == "cuda" and (why := b.why_no_cuda()) is not None:
        raise CircuitError(f"--device cuda needs a CUDA device: {why}")
    trace, name = _trace(source, level, batch), Path(source).name
    for is_asked, what in ((modes, "modes are compared"), (backends, "backends are compared")):
        if is_asked:  # measured last, but said before anything is measured
            b.require_circuit(trace, what)
    kind = "training" if training else "forward"
    chosen = _steps(trace, steps)
    last = -1 if chosen is None else max(trace.step(step).index for step in chosen)

    common: dict[str, Any] = {"devices": DEVICES[device], "num_threads": threads, "max_seconds": seconds, "name": name}
    measures: list[Measure] = [partial(b.measure_steps, trace, chosen, kind=kind, batch_size=batch, **common)]
    if modes:
        circuit, options = circuit_of(trace), options_of(trace).non_defaults()
        measures.append(partial(b.measure_modes, circuit, options, kind=kind, batch_size=batch, **common))
    if backends:
        measures.append(partial(b.measure_backends, trace, last, batch_size=batch, **common))
    if layers:
        measures.append(partial(b.measure_layers, trace, last, batch_size=batch, **common))
    if sweep:
        measures.append(partial(b.measure_sweep, trace, last, kind=kind, **common))
    runs = _measure_all(measures)
    index = TraceIndex(trace)
    for run in runs:
        _print_run(index, run)
    found = bottlenecks(index, runs, last)
    for bottleneck in found:
        print_text(str(bottleneck))
    if any(run.devices for run in runs) and not found and trace.level.has_batches:
        results().print("By these times neither launch-bound, gather-bound nor memory-bound.", markup=False)
    if runs:
        _tell_conditions(runs)
    if json is not None and runs:
        b.save_runs(json, runs)
        print_text(f"\nWrote {json}.")


def _measure_all(measures: Sequence[Measure]) -> "list[Run]":
    """Run the measurements; Ctrl-C ends them, and the finished ones are reported."""
    runs: list[Run] = []
    with notes().status("Measuring") as status:

        def tell(progress: "Progress") -> None:
            status.update(f"Measuring: {progress.share:.0%} of the time, {progress.note}")

        try:
            for measure in measures:
                runs.append(measure(on_progress=tell))
        except KeyboardInterrupt:
            say_note("stopped; these parts were finished")
    return runs


def _print_run(index: "TraceIndex", run: "Run") -> None:
    from explorer.views import (
        INTERVALS,
        backend_bars,
        layer_table,
        layers_note,
        mode_bars,
        step_bars,
        sweep_bars,
        time_change_bars,
    )

    console = results()
    if run.subject == "layers":
        for device in ("cpu", "cuda"):
            if device in run.devices:
                name = "the CPU" if device == "cpu" else "CUDA"
                title = f"Where the time goes on {name}, {_when(index, run)}"
                console.print(_table(title, layer_table(index, run, device)))
                console.print(layers_note(run, device), markup=False)
        return
    views = {"backends": backend_bars, "modes": mode_bars, "sweep": sweep_bars}
    # why a device is missing is said once, at the end; only a table without any times says it too
    view = views.get(run.subject, partial(step_bars, index))(run, says_missing=not run.devices)
    console.print(_table(view["title"], view["table"]))
    if note := view["note"].replace(INTERVALS, "").strip():  # a table has neither dots nor lines
        print_text(note)
    if run.subject == "steps":
        for device in run.devices:
            bought = time_change_bars(index, run, device)
            if bought["table"]["rows"]:
                console.print(_table(bought["title"], bought["table"]))


def _tell_conditions(runs: "Sequence[Run]") -> None:
    from explorer.bench import recorded_runs
    from explorer.views import conditions, no_cuda_text

    section = conditions(replace(runs[0], missing={}))  # they are in the last line
    for name, text in section["rows"]:
        print_text(f"{name}: {text}")
    warning = next((run.setup.warning for run in runs if run.setup.warning), "")
    if warning:
        say_note(warning)  # the warnings of the other runs differ in the load
    calm = [replace(run, setup=replace(run.setup, warning="")) for run in runs]
    for line in dict.fromkeys(line for run in calm for line in conditions(run)["lines"]):
        say_note(line)
    why = runs[0].missing.get("cuda")
    if why is not None:
        say_note(no_cuda_text(why, len([file for file in recorded_runs() if file.runs]), app="the dashboard"))


def _when(index: "TraceIndex", run: "Run") -> str:
    """Say which state a run has measured: the last step may be one that changed nothing, so it is not named."""
    step = index.step(next((timing.step for timing in run.timings if timing.step is not None), -1))
    later = index.trace.steps[step.index + 1 :]
    return f"after step {step.index}: {step.at.words}" if any(one.changed for one in later) else "after all steps"


def _table(title: str, view: "TableView") -> Table:
    table = Table(title=title)
    for position, name in enumerate(view["columns"]):
        table.add_column(name, justify="left" if position == 0 else "right", overflow="fold")
    for row in view["rows"]:
        table.add_row(*row)
    return table


def _steps(trace: "Trace", given: str | None) -> "list[int | str] | None":
    """Parse the steps; `all` selects those that changed something; None: the default ones."""
    if given is None:
        return None
    if given == "all":
        return [step.index for step in trace.steps[trace.start :] if step.changed or step.index == trace.start]
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not parts:
        raise ValueRangeError(f"--steps must be all, or numbers or paths separated by commas; found {given!r}")
    return [int(part) if part.lstrip("-").isdigit() else part for part in parts]


def _trace(source: str, level: str, batch: int) -> "Trace":
    """Compile a circuit; a trace from a file is compiled again, because a file contains no tensors."""
    from explorer.app.circuits import load_source
    from explorer.app.user_functions import ExampleModule
    from explorer.compiler import rerun
    from explorer.trace import Trace

    found = load_source(source)
    with notes().status("Compiling"):
        trace = recorder_of(found, source, level, rows=batch)()
        trace = trace if trace.is_live else rerun(trace)
    has_inputs = isinstance(found, Trace) or (isinstance(found, ExampleModule) and found.inputs is not None)
    if batch != BATCH and has_inputs and not trace.level.has_circuit:
        say_note(f"--batch {batch} is not used: {source} has inputs of its own")
    return trace


# ---------------------------------------------------------------------- benchmarks of a checkout


SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Every argument belongs to the command of `benchmarks/`, `--help` included."""


def bench(context: typer.Context) -> None:
    """Measure speed next to the peer compilers, and the views against their budgets."""
    if find_spec("benchmarks") is None:
        raise MissingPackageError(
            "the benchmarks are in the folder benchmarks/ of the project, which is not installed with the package: "
            "clone the project, run pip install -e '.[bench]' in its folder, and then this command"
        )
    from benchmarks.commands import bench as commands

    command = typer.main.get_command(commands)
    code = command(context.args, prog_name=context.command_path, standalone_mode=False)
    if code:
        raise typer.Exit(code)
