"""`circuit-explorer explore`: the main job: builds, compiles and trains the digits circuit, and opens it."""

import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from explorer.app.commands.console import command, notes, print_text, results, say_note
from explorer.app.commands.serve import open_dashboard
from explorer.app.commands.trace import save
from explorer.app.commands.train import RUNS
from explorer.app.commands.training_output import baseline_of, epochs_table, train_with_progress
from explorer.options import MAX_SEED
from explorer.packages import UI, require

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
            show_default=False,
        ),
    ] = None,
) -> None:
    """Build the circuit over handwritten digits, compile it, train it, and open its compilation in the dashboard."""
    if dashboard is None:
        dashboard = sys.stdout.isatty()
    if dashboard:
        require("the dashboard", "ui", *UI)  # and not after the training
    with notes().status("Loading torch"):
        import torch

        from explorer.app.training.checkpoint import Checkpoint
        from explorer.app.training.replacing import is_reproduced
        from explorer.compiler import record
        from explorer.learning.baselines import independent_pixels_bits
        from explorer.learning.data import load_digits
        from explorer.learning.evaluation import bits_per_dimension
        from explorer.learning.options import TrainingOptions
        from explorer.templates import gallery

        torch.set_num_threads(1)  # the circuit is so small that more threads would wait for each other
        settings = TrainingOptions(epochs=epochs, seed=seed)
        images = load_digits()
        circuit = gallery.load_named(CIRCUIT)
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
    trace_file, checkpoint_file = out / f"{CIRCUIT}.trace.json.gz", out / f"{CIRCUIT}.pt"
    save(trace, trace_file)
    console.print(f"\n[bold]3. Training[/] on {len(images.training):,} images, {len(images.held_out)} held out.")
    result = train_with_progress(compiled, images, settings)
    console.print(epochs_table(result, images, baseline_of(images, result)))
    if result.interrupted:
        say_note(f"stopped after {len(result.epochs)} of {epochs} epochs; the finished ones are kept")
    checkpoint = Checkpoint(CIRCUIT, {"seed": seed}, "digits", compiled.leaf_state(), result.epochs, result.state)
    if is_reproduced(checkpoint_file, checkpoint, replace(settings, epochs=len(result.epochs)), images):
        checkpoint.save(checkpoint_file)
    else:
        say_note(f"{checkpoint_file} holds another run and stays; to save this one, name another folder with --out")
    reached, baseline = bits_per_dimension(compiled, images.held_out), independent_pixels_bits(images)
    console.print(
        f"[bold]4. Held-out images[/]: {reached:.3f} bits per dimension; independent pixels need {baseline:.3f}.\n"
    )
    console.print("[bold]Next[/]")
    for line, what in _next_commands(trace_file, checkpoint_file):
        print_text(f"  {line}\n      {what}")
    if dashboard:
        console.print("\n[bold]5. The dashboard[/]")
        open_dashboard(CIRCUIT)


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
