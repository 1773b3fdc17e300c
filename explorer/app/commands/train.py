"""`circuit-explorer train`: fits a circuit to images and saves its values."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from explorer.app.commands.console import check_writable, command, notes, print_text, progress, results, say_note
from explorer.app.commands.workers import joined_workers
from explorer.errors import CircuitError
from explorer.options import MAX_SEED

if TYPE_CHECKING:
    from explorer.app.training.data import ImageData
    from explorer.app.training.loop import Epoch, TrainingOptions, TrainingResult
    from explorer.app.training.state import TrainingState
    from explorer.app.training.workers import Workers
    from explorer.backend import TorchCircuit

RUNS = Path("runs")
"""The default folder of the files that runs write."""


def train(
    circuit: Annotated[str, typer.Argument(metavar="NAME|FILE", help="a circuit of the gallery, or a circuit file")],
    data: Annotated[str, typer.Option(help="the data set: digits")] = "digits",
    epochs: Annotated[int, typer.Option(help="passes over the training images")] = 30,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="write the checkpoint here [the one to resume, or runs/NAME.pt]")
    ] = None,
    save_every: Annotated[
        int, typer.Option(min=0, metavar="STEPS", help="also write it every STEPS steps, not only after each epoch")
    ] = 0,
    resume: Annotated[
        Path | None, typer.Option(help="continue where this checkpoint ended, with its settings unless they are given")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="images per step of Adam [64]", show_default=False)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="step size of Adam [0.05]", show_default=False)] = None,
    preset: Annotated[str, typer.Option(help="default or handbook")] = "default",
    optimize: Annotated[bool, typer.Option("--optimize/--no-optimize", help="apply rewrite rules")] = True,
    fold: Annotated[bool, typer.Option("--fold/--no-fold", help="batch equal layers")] = True,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MAX_SEED,
            help="seed of the initial values and of the order of images, which a resumed run continues [0]",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="torch threads; more do not help small circuits")] = 1,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="take the steps on the fastest backend of this machine, as circuit.fast() does"),
    ] = False,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="where to run")] = "cpu",
    distributed: Annotated[
        bool, typer.Option("--distributed", help="share each batch among the processes that torchrun started")
    ] = False,
) -> None:
    """Train a circuit by maximum likelihood; Ctrl-C keeps the finished epochs."""
    target = out or resume or RUNS / f"{Path(circuit).name.partition('.')[0]}.pt"
    advice = _Advice(target, resume)
    with joined_workers(distributed, device, f"train {circuit}", advice) as workers:
        import torch

        from explorer.app.circuits import load_circuit
        from explorer.app.training.checkpoint import Checkpoint
        from explorer.app.training.data import load_data
        from explorer.app.training.loop import TrainingOptions
        from explorer.compiler import TorchCompiler

        torch.set_num_threads(threads)
        if workers.is_first:
            check_writable(target)
        source = load_circuit(circuit)
        workers.require_equal({"the circuit": source.to_json()})
        earlier = Checkpoint.load(resume) if resume is not None else None
        state = earlier.training if earlier is not None else None
        if earlier is not None and earlier.data != data:
            say_note(f"{resume} was trained on {earlier.data}: only its values are used")
            state = None
        given = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "seed": seed}
        kept = state.options if state is not None else {}
        settings = TrainingOptions(**{**kept, **{name: value for name, value in given.items() if value is not None}})
        images = load_data(data)
        options = {"preset": preset, "optimize": optimize, "fold": fold, "seed": settings.seed}
        source.require(smooth=True, decomposable=True)
        compiled = TorchCompiler(**options).compile(source).to(workers.device)
        if earlier is not None:
            compiled.load_leaf_state(earlier.leaf_state)
        before = earlier.history if earlier is not None else ()
        advice.last_epoch = len(before) + epochs

        def save(finished: "tuple[Epoch, ...]", reached: "TrainingState") -> None:
            if workers.is_first:
                Checkpoint(circuit, options, data, compiled.leaf_state(), finished, reached).save(target)

        result = train_with_progress(compiled, images, settings, workers, fast, before, state, save_every, save)
        results().print(epochs_table(result, images))
        if result.state is None:
            say_note("stopped before the end of the first epoch: nothing to keep")
            raise typer.Exit(130)
        if result.interrupted:
            save(result.epochs, result.state)
            say_note(f"stopped; the values are those after epoch {result.epochs[-1].number}")
        print_text(f"Wrote {target}. Continue from it: {command()} train {circuit} --resume {target}")
        if result.interrupted and workers.distributed:
            raise typer.Exit(130)  # without waiting for the other workers, which were interrupted too


class _Advice:
    """What to do when a distributed run has ended early: which checkpoint it wrote, and how to continue from it."""

    def __init__(self, target: Path, resume: Path | None) -> None:
        self._target, self._resume = target, resume
        self._before = self._written()
        self.last_epoch = 0

    def __call__(self) -> str:
        from explorer.app.training.checkpoint import Checkpoint

        if self._written() == self._before:
            again = f"; continue again from {self._resume}" if self._resume is not None else ""
            return f"This run has not written a checkpoint yet{again}"
        try:
            checkpoint = Checkpoint.load(self._target)
        except CircuitError as error:
            return f"The checkpoint {self._target} was written, and cannot be read: {error}"
        found = f"The checkpoint {self._target} has {checkpoint.progress}"
        left = self.last_epoch - len(checkpoint.history)
        if left <= 0:
            return found
        return f"{found}; continue, with or without --distributed: --resume {self._target} --epochs {left}"

    def _written(self) -> int | None:
        """When the checkpoint was written; None if there is none."""
        return self._target.stat().st_mtime_ns if self._target.exists() else None


def train_with_progress(
    compiled: "TorchCircuit",
    images: "ImageData",
    settings: "TrainingOptions",
    workers: "Workers | None" = None,
    fast: bool = False,
    before: "Sequence[Epoch]" = (),
    state: "TrainingState | None" = None,
    save_every: int = 0,
    on_state: "Callable[[tuple[Epoch, ...], TrainingState], None]" = lambda epochs, state: None,
) -> "TrainingResult":
    """Train with a progress bar that shows the result of the last epoch."""
    from explorer.app.training.loop import is_density, train as fit
    from explorer.app.training.workers import ALONE

    scale, unit = (math.log(2), "nats") if is_density(compiled) else (1.0, "bits")

    with progress(notes()) as bar:
        batches = -(-len(images.training) // settings.batch_size)
        done = state.rows_done // settings.batch_size if state is not None else 0
        task = bar.add_task(f"Training on {images.name}", total=settings.epochs * batches, completed=done, note="")

        def tell(epoch: "Epoch") -> None:
            bar.update(
                task, note=f"epoch {epoch.number}: {scale * epoch.held_out_bits:.3f} {unit} per dimension, held out"
            )

        return fit(
            compiled,
            images,
            settings,
            workers=workers or ALONE,
            fast=fast,
            before=before,
            state=state,
            save_every=save_every,
            on_batch=lambda done, total: bar.advance(task),
            on_epoch=tell,
            on_state=on_state,
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
