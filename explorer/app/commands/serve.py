"""`circuit-explorer serve` and `explore`: the dashboard in a browser, of any circuit or file, and of the main job."""

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import (
    RUNS,
    check_output,
    command,
    complete_circuit,
    notes,
    print_text,
    results,
    say_note,
)
from explorer.app.commands.trace import LEVELS_TEXT, not_recorded_again, save
from explorer.app.commands.train import checkpoint_path, train
from explorer.app.commands.training_output import baseline_of, epochs_table, train_with_progress
from explorer.app.ports import LOCAL, check_port, free_port, is_loopback, public_address
from explorer.errors import LearningError, check_name
from explorer.options import MAX_SEED
from explorer.packages import UI, require
from explorer.trace import COMPILED, LEVELS, Trace

if TYPE_CHECKING:
    from explorer.app.dashboard.serving import ServeOptions


PORT = 5006


def serve(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            autocompletion=complete_circuit,
            help="a circuit of the gallery, a circuit, trace or checkpoint, a table (a circuit is trained on it), "
            "a model of ONNX, an exported program of PyTorch (.pt2), or FILE.py:FUNCTION: what your function "
            "returns, also a circuit of cirkit (the last two run the code in the file)",
        ),
    ] = None,
    level: Annotated[str, typer.Option(help=f"the level at which the circuit is opened: {LEVELS_TEXT}")] = COMPILED,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help=f"the port to listen on (default: {PORT}, or a free one)"),
    ] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="open a browser")] = True,
    address: Annotated[str, typer.Option(help="the address to listen on: 127.0.0.1 is this machine only")] = LOCAL,
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:PORT]",
            help="a further name under which browsers may request the page, such as a proxy's; may be repeated",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="offer the circuit and trace files of this folder", file_okay=False, exists=True),
    ] = None,
) -> None:
    """Watch a compilation in the browser: step through it, ask why, change the pipeline, measure it.

    Without a name, the front page shows all circuits of the gallery.
    """
    if source is None or not _is_table(source):
        open_dashboard(source, port, show, address, folder, tuple(host or ()), level)
        return
    require("the dashboard", "ui", *UI)  # and not after the training
    check_name("level", level, LEVELS)
    if port is not None:
        check_port(address, port)
    file = checkpoint_path(None, source)
    again = f"{command()} train --data {quote(source)} --overwrite"
    if not file.exists():
        train(data=source)
    elif not _is_trained_on(file, source):
        raise LearningError(
            f"{file} was trained on something else than {source}, and stays; to replace it, run {again}, and then "
            f"{command()} serve {file}"
        )
    else:
        say_note(f"{file} was trained on {source}; to train again: {again}")
    open_dashboard(str(file), port, show, address, folder, tuple(host or ()), level, beliefs=True)


def _is_table(source: str) -> bool:
    if not Path(source).is_file():
        return False
    from explorer.learning.tables import READERS

    return Path(source).suffix.lower() in READERS


def _is_trained_on(file: Path, table: str) -> bool:
    """Whether a checkpoint is of a training on the rows and columns of this table."""
    from explorer.app.training.checkpoint import Checkpoint
    from explorer.learning.tables import load_table

    checkpoint, data = Checkpoint.load(file), load_table(table)
    reached = checkpoint.training
    return reached is not None and reached.rows_digest == data.digest and checkpoint.columns == data.columns


def open_dashboard(
    source: str | None = None,
    port: int | None = None,
    show: bool = True,
    address: str = LOCAL,
    folder: Path | None = None,
    hosts: tuple[str, ...] = (),
    level: str = COMPILED,
    trace: Trace | None = None,
    beliefs: bool = False,
) -> None:
    """Serve until Ctrl-C; without a `port` on the default one, or any other if it is taken.

    `trace` is shown under the name `source`, which is not opened again. With `beliefs`, what layers believe is shown.

    Raises: MissingPackageError, UnknownNameError, FileFormatError; CircuitError for a port that is taken; the errors
    of `call_function`.
    """
    require("the dashboard", "ui", *UI)
    check_name("level", level, LEVELS)
    with notes().status("Loading torch and panel"):
        import explorer.app.dashboard.page  # noqa: F401 (it takes longest)
        from explorer.app.circuits import load_circuit_or_trace, load_source
        from explorer.app.dashboard.serving import ServeOptions, serve as run
        from explorer.app.program_files import is_program
        from explorer.app.session.library import Library
        from explorer.app.session.opening import settle_heap
        from explorer.app.session.view_state import CloserLook, ViewState
        from explorer.app.user_functions import is_function
        from explorer.templates import gallery

    state, files, built = None, (), {}
    if source is not None and trace is not None:
        state, built, level = ViewState(circuit=source), {source: trace}, trace.level.name
    elif source is not None and (is_program(source) or (is_function(source) and not Path(source).is_file())):
        state, built = ViewState(circuit=source), {source: load_circuit_or_trace(source, level)}
    elif source is not None and source not in gallery.names() and Path(source).is_file():
        state, files = ViewState(circuit=Path(source).name), (Path(source),)
    elif source is not None:
        if source not in Library(folder).names():
            load_source(source)  # which says why there is none
        state = ViewState.of_circuit(source)
    if state is not None:
        state = replace(state, tensor=replace(state.tensor, level=level), closer=CloserLook(beliefs=beliefs))
        found = Library(folder, files, built).open(state.circuit)  # report an unknown name here, not in the browser
        if isinstance(found, Trace) and level not in (COMPILED, found.level.name):
            raise not_recorded_again(state.circuit, found, f"--level {level}")
    if port is not None:
        check_port(address, port)
    options = ServeOptions(state, port or free_port(address, PORT), address, show, folder, files, hosts, built)
    settle_heap()  # the imported packages have 350,000 objects, which no collection needs to look at
    run(options, lambda: announce(options))


def announce(options: "ServeOptions") -> None:
    """Print the address of the page; if other machines reach it, one that they can open."""
    if is_loopback(options.address):
        print_text(f"The explorer is at {options.url} (stop it with Ctrl-C).")
    else:
        public = replace(options, address=public_address(options.address))
        say_note(f"Anyone on this network can use this machine's CPU. Address: {public.url}")


# ---------------------------------------------------------------------- the main job


CIRCUIT = "digits"


def explore(
    epochs: Annotated[int, typer.Option(help="passes over the training images")] = 30,
    out: Annotated[Path, typer.Option("--out", "-o", help="the folder for the trace and the checkpoint")] = RUNS,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="seed of the initial values and of the order of images")
    ] = 0,
    dashboard: Annotated[
        bool | None,
        typer.Option(
            "--dashboard/--no-dashboard",
            help="open the dashboard at the end, until Ctrl-C (default: if this is a terminal)",
        ),
    ] = None,
) -> None:
    """Build the circuit over handwritten digits, compile it, train it, and open its compilation in the dashboard."""
    trace_file, checkpoint_file = out / f"{CIRCUIT}.trace.json.gz", out / f"{CIRCUIT}.pt"
    for file in (trace_file, checkpoint_file):
        check_output(file, new_folder=out)
    opens = results().is_terminal if dashboard is None else dashboard
    if opens:
        require("the dashboard", "ui", *UI)  # and not after the training
    with notes().status("Loading torch"):
        import torch

        from explorer.app.training.checkpoint import Checkpoint, is_reproduced
        from explorer.compiler import record
        from explorer.learning.data import load_digits
        from explorer.learning.log_likelihood import bits_per_dimension
        from explorer.learning.methods import TrainingOptions
        from explorer.learning.structures import independent_pixels_bits
        from explorer.templates import gallery

        torch.set_num_threads(1)  # the circuit is so small that more threads would wait for each other
        settings = TrainingOptions(epochs=epochs, seed=seed)
        images = load_digits()
        circuit = gallery.load_named(CIRCUIT)
    another = f"{checkpoint_file} holds another run and stays; to save this one, name another folder with --out"
    planned = Checkpoint(CIRCUIT, {"seed": seed}, "digits", {})
    is_saved = is_reproduced(checkpoint_file, planned, settings, images)
    if not is_saved:
        say_note(another)  # and not after the training
    console = results()
    console.print(f"[bold]1. The circuit[/] {CIRCUIT}: {len(circuit.graph)} layers over {len(circuit.scope)} pixels.")
    console.print(f"   {gallery.describe(CIRCUIT)}", markup=False)
    with notes().status("Compiling"):
        trace = record(circuit, seed=seed)
    compiled = trace.compiled
    console.print(
        f"\n[bold]2. Its compilation[/], step by step: {len(circuit.graph)} layers become "
        f"{trace.steps[-1].snapshot.size[1]} in {len(compiled.layers)} calls."
    )
    print_text(str(trace))
    save(trace, trace_file)
    console.print(f"\n[bold]3. Training[/] on {len(images.training):,} images, {len(images.held_out)} held out.")
    result = train_with_progress(compiled, images, settings)
    console.print(epochs_table(result, images, baseline_of(images, result)))
    if result.interrupted:
        say_note(f"stopped after {len(result.epochs)} of {epochs} epochs; the finished ones are kept")
    checkpoint = Checkpoint(CIRCUIT, {"seed": seed}, "digits", compiled.leaf_state(), result.epochs, result.state)
    if is_saved and is_reproduced(checkpoint_file, checkpoint, replace(settings, epochs=len(result.epochs)), images):
        checkpoint.save(checkpoint_file)
    elif is_saved:  # it was interrupted
        say_note(another)
    reached, baseline = bits_per_dimension(compiled, images.held_out), independent_pixels_bits(images)
    console.print(
        f"[bold]4. Held-out images[/]: {reached:.3f} bits per dimension; independent pixels need {baseline:.3f}.\n"
    )
    console.print("[bold]Next[/]")
    for line, what in _next_commands(trace_file, checkpoint_file):
        print_text(f"  {line}\n      {what}")
    if opens:
        console.print("\n[bold]5. The dashboard[/]")
        open_dashboard(CIRCUIT)
    elif dashboard is None:
        say_note(f"this is not a terminal, so the dashboard stays closed; open it with: {command()} serve {CIRCUIT}")


def _next_commands(trace_file: Path, checkpoint_file: Path) -> tuple[tuple[str, str], ...]:
    name, file, checkpoint = command(), quote(str(trace_file)), quote(str(checkpoint_file))
    return (
        (f"{name} serve {CIRCUIT}", "step through it in the browser: the dashboard"),
        (f"{name} lab", "step through it in Jupyter"),
        (f"{name} show {file} --step 3", "the changes of one step"),
        (
            f"{name} show {file} --near-misses all",
            "which patterns nearly matched, and why they did not",
        ),
        (f"{name} show {file} --folds", "which layers became one"),
        (f"{name} show {file} --stats", "layers, FLOPs and bytes after each step"),
        (f"{name} train {CIRCUIT} --resume {checkpoint} --epochs 20", "continue the training"),
        (f"{name} gallery", "more circuits, each with a lesson"),
    )
