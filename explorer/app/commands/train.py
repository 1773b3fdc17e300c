"""`circuit-explorer train`: fits a circuit to images or a table and saves its values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explorer.app.commands.console import RUNS, check_output, command, complete_circuit, print_text, results, say_note
from explorer.app.commands.training_output import (
    baseline_of,
    columns_table,
    epochs_table,
    images_line,
    train_with_progress,
)
from explorer.app.commands.workers import joined_workers
from explorer.errors import CircuitError, FormError, LearningError, ShapeError, UnknownNameError
from explorer.options import MAX_SEED

DEFAULT_EPOCHS = 30

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from explorer.app.training.checkpoint import Checkpoint, OwnFile
    from explorer.app.training.job import Job
    from explorer.backend import TorchCircuit
    from explorer.learning.kept_epochs import KeptEpochs
    from explorer.learning.loop import Epoch, TrainingResult
    from explorer.learning.state import TrainingState
    from explorer.learning.workers import Workers


def train(
    circuit: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            autocompletion=complete_circuit,
            help="a circuit of the gallery, or a circuit file (default: one built for the data)",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="digits, a table (FILE.csv, .tsv, .npy, .parquet), or a folder of images (default: digits)"),
    ] = None,
    structure: Annotated[
        str | None,
        typer.Option(
            help="how a circuit is built for the data: mixture, hclt, chow-liu ... (default: mixture or hclt, chosen "
            "by rows held out of the training rows)"
        ),
    ] = None,
    units: Annotated[
        int | None,
        typer.Option(min=1, help="units per region of such a circuit, or components of a mixture (default: 8; chosen)"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND", help="the kind of a column: categorical, binomial, gaussian, ignore; may be repeated"
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(help="missing values: error, or ignore, which sums them out (default: error)"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="gradient (Adam), or em: expectation-maximization (default: em for a mixture, else gradient)"
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="passes over the training rows; with --resume, this many more (default: 30; of a mixture, as many as "
            "were best for rows held out of the training rows)"
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(min=1, metavar="EPOCHS", help="stop after this many epochs without a better held-out likelihood"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="write the checkpoint here (default: the one to resume, or runs/NAME.pt)"),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the checkpoint of another run")] = False,
    save_every: Annotated[
        int, typer.Option(min=0, metavar="STEPS", help="also write it every STEPS steps, not only after each epoch")
    ] = 0,
    resume: Annotated[
        Path | None, typer.Option(help="continue where this checkpoint ended, with its settings unless they are given")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="rows per step (default: 64; em: all)")] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="step size of Adam (default: 0.05); em: share of a batch in the averages (default: decreasing)"
        ),
    ] = None,
    pseudo_count: Annotated[
        float | None,
        typer.Option(help="em: added to the counts of each row of weights (default: 0; of a mixture, 1)"),
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
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(min=1, help="number of torch threads; more than one does not help small circuits")
    ] = 1,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="run the steps on the fastest backend of this machine, as circuit.fast() does"),
    ] = False,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="where to run")] = "cpu",
    distributed: Annotated[
        bool, typer.Option("--distributed", help="share each batch among the processes that torchrun started")
    ] = False,
) -> None:
    """Train a circuit by maximum likelihood, on digits or on your own table; Ctrl-C keeps the finished epochs."""
    target = out or resume or checkpoint_path(circuit, data)
    advice = _Advice(target, resume)
    subject = quote(circuit) if circuit else f"--data {quote(data or 'FILE')}"
    with joined_workers(distributed, device, f"train {subject}", advice) as workers:
        import torch

        from explorer.app.training.checkpoint import Checkpoint, OwnFile, check_replaceable
        from explorer.app.training.job import Request, find_job, find_start
        from explorer.learning.curves import curve_files
        from explorer.learning.data import ImageData
        from explorer.learning.kept_epochs import KeptEpochs
        from explorer.learning.methods import check_fast
        from explorer.learning.tables import TableData, note_on_missing, notes_on

        torch.set_num_threads(threads)
        request = Request(circuit, data, structure, units, _kinds(column or ()), missing, resume)
        if workers.is_first:
            for written in (target, *curve_files(target)):
                check_output(written, circuit, data)
        earlier = Checkpoint.load(resume) if resume is not None else None
        job = find_job(request, earlier)
        workers.require_equal({"the circuit": job.symbolic.to_json()})
        given = {
            "method": "gradient" if fast and method is None and earlier is None else method,
            "epochs": DEFAULT_EPOCHS if epochs is None and earlier is not None else epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "pseudo_count": pseudo_count,
            "patience": patience,
            "seed": seed,
        }
        start = find_start(earlier, job.name, job.data, given, job.options)
        options = {"preset": preset, "optimize": optimize, "fold": fold, "seed": start.settings.seed}
        planned = job.checkpoint(options)
        if pseudo_count is not None and start.settings.method != "em":
            raise FormError("--pseudo-count belongs to --method em; leave it out, or add --method em")
        if isinstance(job.data, TableData):
            results().print(columns_table(job.data))
            for note in notes_on(job.data, request.kinds or ()) if earlier is None else ():
                say_note(note)
            if note := note_on_missing(job.data.columns, torch.cat([job.data.training, job.data.held_out])):
                say_note(note)
        if isinstance(job.data, ImageData):
            print_text(images_line(job.data))
            if job.data.note:
                say_note(job.data.note)
        compiled = _compile(job, options, start.values, workers.device)
        if job.note:
            print_text(job.note)
        keeps = earlier is not None and len(start.before) == len(earlier.history) and _is_same(target, resume)
        own_file = OwnFile(target)
        if workers.is_first and not overwrite and not keeps:
            check_replaceable(target, planned, start.settings, job.data)
        if start.note:  # once the values were found to belong to this circuit
            say_note(f"{resume} was {start.note}")
        advice.last_epoch = len(start.before) + start.settings.epochs
        if earlier is not None and start.before:
            last = f"epoch {advice.last_epoch} (--epochs {start.settings.epochs})"
            print_text(f"Continuing {resume} after {earlier.progress}: to {last}.")
        if fast and start.settings.method == "gradient":
            check_fast(job.data.training)
            _make_fast(compiled)
        earlier_kept = earlier.kept if earlier is not None and start.before else ()
        kept = KeptEpochs(compiled, job.data, lambda: job.symbolic, workers, earlier_kept)
        if kept.note:
            say_note(kept.note)
        run = _Run(job, planned, compiled, target, own_file, workers, kept)
        if not start.before and start.state is None:
            kept.add_first()
        result = train_with_progress(
            compiled,
            job.data,
            start.settings,
            workers,
            fast,
            start.before,
            start.best,
            start.state,
            save_every,
            run.save,
        )
        run.report(result)


def checkpoint_path(circuit: str | None, data: str | None) -> Path:
    """The file that a training writes unless another one is named."""
    return RUNS / f"{Path(circuit or data or 'digits').name.partition('.')[0]}.pt"


def _is_same(target: Path, resume: Path | None) -> bool:
    return resume is not None and target.exists() and target.samefile(resume)


def _compile(
    job: "Job", options: "Mapping[str, Any]", values: "Mapping[str, Tensor] | None", device: "torch.device"
) -> "TorchCircuit":
    """Compile the circuit of a job, with these values of the leaves if given.

    Raises: StructureError; LearningError if the values belong to a different circuit.
    """
    from explorer.compiler import TorchCompiler

    job.symbolic.require(smooth=True, decomposable=True)
    compiled = TorchCompiler(**options).compile(job.symbolic).to(device)
    if values is not None:
        try:
            compiled.load_leaf_state(values)
        except (ShapeError, UnknownNameError) as error:
            raise LearningError(
                f"the values of the checkpoint are not those of the circuit {job.name}: it was trained with a "
                "different one; name only the checkpoint to continue, or leave out --resume to train this circuit from "
                "the start"
            ) from error
    return compiled


def _make_fast(compiled: "TorchCircuit") -> None:
    """Choose the backend of the steps, and say which one it is."""
    from explorer.runtime import fast

    name = fast(compiled).backend.name
    layers = " (the layers in PyTorch)" if name == "torch" else ""
    say_note(f"the steps run on the backend {name}{layers}")


@dataclass(frozen=True, eq=False)
class _Run:
    """A training: its checkpoint without values, the circuit with the present ones, the file for both, kept epochs."""

    job: "Job"
    empty: "Checkpoint"
    compiled: "TorchCircuit"
    target: Path
    own_file: "OwnFile"
    workers: "Workers"
    kept: "KeptEpochs"

    def save(
        self, finished: "tuple[Epoch, ...]", reached: "TrainingState", values: "Mapping[str, Tensor] | None" = None
    ) -> None:
        """Write a checkpoint with these values of the leaves, by default the present ones."""
        if finished and values is None and not reached.rows_done:
            self.kept.add(finished[-1])
        if self.workers.is_first:
            found = values or self.compiled.leaf_state()
            kept = self.kept.epochs
            self.own_file.save(replace(self.empty, leaf_state=found, history=finished, training=reached, kept=kept))

    def report(self, result: "TrainingResult") -> None:
        """Print the epochs, write the learning curves, and say how to continue.

        Raises: typer.Exit if training was interrupted before the end of the first epoch, or in one of several workers.
        """
        from explorer.learning.curves import curve_files, save_curves
        from explorer.learning.loop import best_epoch, improving_words

        job, target = self.job, self.target
        baseline = baseline_of(job.data, result)
        results().print(epochs_table(result, job.data, baseline))
        if result.state is None:
            say_note("stopped before the end of the first epoch: nothing to keep")
            raise typer.Exit(130)
        last = result.epochs[-1].number
        if result.interrupted:
            self.save(result.epochs, result.state, result.values)
            say_note(f"stopped; the values are those after epoch {last}")
        best = best_epoch(result.epochs).number
        kept_values = f" with the values of epoch {best}, the best one" if best < last else ""
        untrained = [(one.epoch, one.held_out_bits) for one in self.kept.epochs if not one.epoch]
        reached = [*untrained, *((one.number, one.held_out_bits) for one in result.epochs)]
        if words := improving_words(reached, job.data.num_variables):
            print_text(words)
        if self.workers.is_first:
            unit = "nats" if result.is_density else "bits"
            save_curves(target, result.epochs, f"{job.name} on {Path(job.data.name).name}", unit, baseline)
        if curves := curve_files(target):
            print_text(
                f"Wrote {target}{kept_values}, and its learning curves: {', '.join(map(str, curves))}. "
                f"Continue from the last epoch: {command()} train {job.argument}--resume {quote(str(target))}"
            )
        else:
            say_note(f"wrote {target}{kept_values}; there are learning curves only beside a file")
        if result.interrupted and self.workers.distributed:
            raise typer.Exit(130)  # without waiting for the other workers, which were interrupted too


class _Advice:
    """Advice for a distributed run that has ended early: its checkpoint, and how to continue from it."""

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
        return f"{found}; continue, with or without --distributed: --resume {quote(str(self._target))} --epochs {left}"

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
        if found.get(name, kind) != kind:
            raise FormError(f"--column gives {name!r} two kinds, {found[name]} and {kind}; leave out one of them")
        found[name] = kind
    return found
