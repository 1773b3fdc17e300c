"""`circuit-explorer train`: fits a circuit to images and saves its values."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from explorer.app.commands.console import check_writable, command, notes, print_text, progress, results, say_note
from explorer.options import MAX_SEED

if TYPE_CHECKING:
    from explorer.app.training.data import ImageData
    from explorer.app.training.loop import Epoch, TrainingOptions, TrainingResult
    from explorer.backend import TorchCircuit

RUNS = Path("runs")
"""The default folder of the files that runs write."""


def train(
    circuit: Annotated[str, typer.Argument(metavar="NAME|FILE", help="a circuit of the gallery, or a circuit file")],
    data: Annotated[str, typer.Option(help="the data set: digits")] = "digits",
    epochs: Annotated[int, typer.Option(help="passes over the training images")] = 30,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="write the checkpoint here [runs/NAME.pt]")] = None,
    resume: Annotated[Path | None, typer.Option(help="continue from the values in this checkpoint")] = None,
    batch_size: Annotated[int, typer.Option(help="images per step of Adam")] = 64,
    learning_rate: Annotated[float, typer.Option(help="step size of Adam")] = 0.05,
    preset: Annotated[str, typer.Option(help="default or handbook")] = "default",
    optimize: Annotated[bool, typer.Option("--optimize/--no-optimize", help="apply rewrite rules")] = True,
    fold: Annotated[bool, typer.Option("--fold/--no-fold", help="batch equal layers")] = True,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="seed of the initial values and of the order of images")
    ] = 0,
    threads: Annotated[int, typer.Option(min=1, help="torch threads; more do not help small circuits")] = 1,
) -> None:
    """Train a circuit by maximum likelihood; Ctrl-C keeps the finished epochs."""
    with notes().status("Loading"):
        import torch

        from explorer.app.circuits import load_circuit
        from explorer.app.training.checkpoint import Checkpoint
        from explorer.app.training.data import load_data
        from explorer.app.training.loop import TrainingOptions
        from explorer.compiler import TorchCompiler

        torch.set_num_threads(threads)
        target = out if out is not None else RUNS / f"{Path(circuit).name.partition('.')[0]}.pt"
        check_writable(target)
        settings = TrainingOptions(epochs, batch_size, learning_rate, seed)
        images = load_data(data)
        options = {"preset": preset, "optimize": optimize, "fold": fold, "seed": seed}
        source = load_circuit(circuit)
        source.require(smooth=True, decomposable=True)
        compiled = TorchCompiler(**options).compile(source)
        earlier = Checkpoint.load(resume) if resume is not None else None
        if earlier is not None:
            compiled.load_leaf_state(earlier.leaf_state)
    result = train_with_progress(compiled, images, settings, earlier.history if earlier is not None else ())
    results().print(epochs_table(result, images))
    if not result.epochs:
        say_note("stopped before the end of the first epoch: nothing to keep")
        raise typer.Exit(130)
    Checkpoint(circuit, options, data, compiled.leaf_state(), result.epochs).save(target)
    if result.interrupted:
        say_note(f"stopped; the values are those after epoch {result.epochs[-1].number}")
    print_text(f"Wrote {target}. Continue from it: {command()} train {circuit} --resume {target}")


def train_with_progress(
    compiled: "TorchCircuit", images: "ImageData", settings: "TrainingOptions", before: "Sequence[Epoch]" = ()
) -> "TrainingResult":
    """Train with a progress bar that shows the result of the last epoch."""
    from explorer.app.training.loop import is_density, train as fit

    scale, unit = (math.log(2), "nats") if is_density(compiled) else (1.0, "bits")

    with progress(notes()) as bar:
        batches = -(-len(images.training) // settings.batch_size)
        task = bar.add_task(f"Training on {images.name}", total=settings.epochs * batches, note="")

        def tell(epoch: "Epoch") -> None:
            bar.update(
                task, note=f"epoch {epoch.number}: {scale * epoch.held_out_bits:.3f} {unit} per dimension, held out"
            )

        return fit(
            compiled, images, settings, before=before, on_batch=lambda done, total: bar.advance(task), on_epoch=tell
        )


def epochs_table(result: "TrainingResult", images: "ImageData") -> Table:
    """One row per epoch, in nats for a density, else in bits with the baseline of independent pixels below."""
    from explorer.app.training.data import independent_pixels_bits

    measure = "Negative log-density in nats per dimension" if result.is_density else "Bits per dimension"
    scale = math.log(2) if result.is_density else 1.0
    table = Table(title=f"{measure} on {images.name}: less is better", caption_justify="left")
    for name in ("epoch", "training images", "held-out images", "seconds"):
        table.add_column(name, justify="right")
    for epoch in result.epochs:
        reached = (f"{scale * bits:.4f}" for bits in (epoch.training_bits, epoch.held_out_bits))
        table.add_row(str(epoch.number), *reached, f"{epoch.seconds:.2f}")
    if not result.is_density:
        table.caption = f"Independent pixels reach {independent_pixels_bits(images):.4f} on the held-out images."
    return table
