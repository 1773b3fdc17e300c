"""`circuit-explorer train`: fits a circuit to images and saves its values."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from explorer.app.commands.console import check_writable, command, notes, print_text, progress, results, say_note
from explorer.app.commands.workers import joined_workers
from explorer.errors import CircuitError, FormError
from explorer.options import MAX_SEED

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.backend import TorchCircuit
    from explorer.learning.data import DataSet
    from explorer.learning.loop import Epoch, TrainingResult
    from explorer.learning.options import TrainingOptions
    from explorer.learning.state import TrainingState
    from explorer.learning.tables import TableData
    from explorer.learning.workers import Workers

RUNS = Path("runs")
"""The default folder of the files that runs write."""


def train(
    circuit: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]", help="a circuit of the gallery, or a circuit file (default: one built for the data)"
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="digits, a table (FILE.csv, .tsv, .npy, .parquet), or a folder of images (default: digits)",
            show_default=False,
        ),
    ] = None,
    structure: Annotated[
        str | None,
        typer.Option(
            help="how a circuit is built for the data: hclt, chow-liu, random-binary-tree ... (default: hclt)",
            show_default=False,
        ),
    ] = None,
    units: Annotated[
        int | None, typer.Option(min=1, help="units per region of such a circuit (default: 8)", show_default=False)
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND", help="the kind of a column: categorical, binomial, gaussian, ignore; may be repeated"
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="missing values: error, or ignore, which sums them out (default: error)", show_default=False),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="gradient (Adam), or em: expectation-maximization (default: gradient)", show_default=False),
    ] = None,
    epochs: Annotated[int, typer.Option(help="passes over the training rows; with --resume, this many more")] = 30,
    patience: Annotated[
        int | None,
        typer.Option(min=1, metavar="EPOCHS", help="stop after so many epochs without a better held-out likelihood"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="write the checkpoint here (default: the one to resume, or runs/NAME.pt)"),
    ] = None,
    save_every: Annotated[
        int, typer.Option(min=0, metavar="STEPS", help="also write it every STEPS steps, not only after each epoch")
    ] = 0,
    resume: Annotated[
        Path | None, typer.Option(help="continue where this checkpoint ended, with its settings unless they are given")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="rows per step (default: 64; em: all)", show_default=False)
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="step size of Adam (default: 0.05); em: share of a batch in the averages (default: decreasing)",
            show_default=False,
        ),
    ] = None,
    pseudo_count: Annotated[
        float | None,
        typer.Option(help="em: added to the counts of each row of weights (default: 0)", show_default=False),
    ] = None,
    preset: Annotated[str, typer.Option(help="default or handbook")] = "default",
    optimize: Annotated[bool, typer.Option("--optimize/--no-optimize", help="apply rewrite rules")] = True,
    fold: Annotated[bool, typer.Option("--fold/--no-fold", help="batch equal layers")] = True,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MAX_SEED,
            help="seed of the initial values and of the order of rows, which a resumed run continues (default: 0)",
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
    """Train a circuit by maximum likelihood, on digits or on a table of yours; Ctrl-C keeps the finished epochs."""
    target = out or resume or RUNS / f"{Path(circuit or data or 'digits').name.partition('.')[0]}.pt"
    advice = _Advice(target, resume)
    with joined_workers(distributed, device, f"train {circuit or '--data FILE'}", advice) as workers:
        import torch

        from explorer.app.training.checkpoint import Checkpoint
        from explorer.app.training.job import Request, columns_of, find_job
        from explorer.compiler import TorchCompiler
        from explorer.learning.curves import curve_files, save_curves
        from explorer.learning.data import ImageData
        from explorer.learning.loop import best_epoch
        from explorer.learning.options import TrainingOptions
        from explorer.learning.tables import TableData

        torch.set_num_threads(threads)
        request = Request(circuit, data, structure, units, _kinds(column or ()), missing, resume)
        if workers.is_first:
            for written in (target, *curve_files(target)):
                check_writable(written, circuit, data)
        earlier = Checkpoint.load(resume) if resume is not None else None
        job = find_job(request, earlier)
        workers.require_equal({"the circuit": job.symbolic.to_json()})
        state = earlier.training if earlier is not None else None
        given = {
            "method": method,
            "epochs": epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "pseudo_count": pseudo_count,
            "patience": patience,
            "seed": seed,
        }
        if earlier is not None and earlier.data != job.data.name:
            say_note(f"{resume} was trained on {earlier.data}: only its values are used")
            state = None
        elif state is not None and method not in (None, state.method):
            say_note(f"{resume} was trained with --method {state.method}: only its values are used")
            state = None
        kept = state.options if state is not None else {}
        settings = TrainingOptions(**{**kept, **{name: value for name, value in given.items() if value is not None}})
        if isinstance(job.data, TableData):
            results().print(columns_table(job.data))
        options = {"preset": preset, "optimize": optimize, "fold": fold, "seed": settings.seed}
        job.symbolic.require(smooth=True, decomposable=True)
        compiled = TorchCompiler(**options).compile(job.symbolic).to(workers.device)
        if earlier is not None:
            compiled.load_leaf_state(earlier.leaf_state)
        if fast and settings.method == "gradient":
            from explorer.runtime import fast as fast_circuit

            name = fast_circuit(compiled).backend.name
            layers = " (the layers in PyTorch)" if name == "torch" else ""
            say_note(f"the steps run on the backend {name}{layers}")
        before = earlier.history if earlier is not None else ()
        advice.last_epoch = len(before) + epochs
        symbolic = job.symbolic.to_json() if job.built else None
        shape = job.data.shape if isinstance(job.data, ImageData) else None
        treated = missing or (earlier.missing if earlier is not None else "error")

        def save(
            finished: "tuple[Epoch, ...]", reached: "TrainingState", values: "Mapping[str, Tensor] | None" = None
        ) -> None:
            if workers.is_first:
                found = values or compiled.leaf_state()
                columns = columns_of(job.data)
                trained = (job.name, options, job.data.name, found, finished, reached)
                Checkpoint(*trained, symbolic, columns, treated, shape).save(target)

        result = train_with_progress(compiled, job.data, settings, workers, fast, before, state, save_every, save)
        baseline = baseline_of(job.data, result)
        results().print(epochs_table(result, job.data, baseline))
        if result.state is None:
            say_note("stopped before the end of the first epoch: nothing to keep")
            raise typer.Exit(130)
        if result.interrupted:
            save(result.epochs, result.state, result.values)
            say_note(f"stopped; the values are those after epoch {result.epochs[-1].number}")
        best = best_epoch(result.epochs).number
        kept_values = f" with the values of epoch {best}, the best one" if best < result.epochs[-1].number else ""
        again = f"{command()} train {job.argument}--resume {target}"
        if workers.is_first:
            unit = "nats" if result.is_density else "bits"
            save_curves(target, result.epochs, f"{job.name} on {Path(job.data.name).name}", unit, baseline)
        print_text(
            f"Wrote {target}{kept_values}, and its learning curves: {', '.join(map(str, curve_files(target)))}. "
            f"Continue from the last epoch: {again}"
        )
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
            again = (
                f"; continue again from {self._resume}" if self._resume is not None and self._resume.exists() else ""
            )
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


def _kinds(given: Sequence[str]) -> dict[str, str]:
    """The kinds of columns by name, from `NAME=KIND`. Raises: FormError."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise FormError(f"--column must be NAME=KIND, such as --column age=gaussian; found {text!r}")
        found[name] = kind
    return found


def columns_table(data: "TableData") -> Table:
    """The columns of a table with their kinds."""
    rows = len(data.training) + len(data.held_out)
    table = Table(title=f"{Path(data.name).name}: {rows:,} rows, {len(data.held_out):,} held out")
    for name in ("column", "kind", "values"):
        table.add_column(name)
    if all(column.name == f"x{position}" for position, column in enumerate(data.columns)):
        table.caption = "The file has no names of columns."
    for column in data.columns:
        table.add_row(escape(column.name), column.kind, escape(column.describe()))
    return table


def train_with_progress(
    compiled: "TorchCircuit",
    data: "DataSet",
    settings: "TrainingOptions",
    workers: "Workers | None" = None,
    fast: bool = False,
    before: "Sequence[Epoch]" = (),
    state: "TrainingState | None" = None,
    save_every: int = 0,
    on_state: "Callable[[tuple[Epoch, ...], TrainingState], None]" = lambda epochs, state: None,
) -> "TrainingResult":
    """Train with a progress bar that shows the result of the last epoch."""
    from explorer.learning.loop import is_density, train as fit
    from explorer.learning.workers import ALONE

    scale, unit = (math.log(2), "nats") if is_density(compiled) else (1.0, "bits")

    with progress(notes()) as bar:
        batch_size = settings.rows_per_step(len(data.training))
        batches = -(-len(data.training) // batch_size)
        done = state.rows_done // batch_size if state is not None else 0
        task = bar.add_task(f"Training on {data.name}", total=settings.epochs * batches, completed=done, note="")

        def tell(epoch: "Epoch") -> None:
            bar.update(
                task, note=f"epoch {epoch.number}: {scale * epoch.held_out_bits:.3f} {unit} per dimension, held out"
            )

        return fit(
            compiled,
            data,
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


def baseline_of(data: "DataSet", result: "TrainingResult") -> float | None:
    """Bits per dimension of the held-out rows under independent variables; None for a density of images."""
    from explorer.learning.baselines import independent_bits, independent_pixels_bits
    from explorer.learning.data import ImageData

    if isinstance(data, ImageData):
        return None if result.is_density else independent_pixels_bits(data)
    return independent_bits(data)


def epochs_table(result: "TrainingResult", data: "DataSet", baseline: float | None) -> Table:
    """One row per epoch, in nats for a density, else in bits, with the baseline of independent variables below."""
    from explorer.learning.data import ImageData

    what, parts = ("images", "pixels") if isinstance(data, ImageData) else ("rows", "columns")
    measure = "Negative log-density in nats per dimension" if result.is_density else "Bits per dimension"
    scale = math.log(2) if result.is_density else 1.0
    table = Table(title=f"{measure} on {Path(data.name).name}: less is better", caption_justify="left")
    for name in ("epoch", f"training {what}", f"held-out {what}", "seconds"):
        table.add_column(name, justify="right")
    for epoch in result.epochs:
        reached = (f"{scale * bits:.4f}" for bits in (epoch.training_bits, epoch.held_out_bits))
        table.add_row(str(epoch.number), *reached, f"{epoch.seconds:.2f}")
    if baseline is not None:
        table.caption = f"Independent {parts} reach {scale * baseline:.4f} on the held-out {what}."
        if result.is_density:
            table.caption += " Real columns are standardized."
    return table
