"""`circuit-explorer evaluate`: the log-likelihood of a trained circuit on held-out rows, or on those of a file."""

import math
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from explorer.app.commands.console import print_text, say_note
from explorer.app.commands.workers import joined_workers


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(metavar="FILE", help="a checkpoint of `train`")],
    data: Annotated[
        str | None,
        typer.Option(
            help="another file: all its rows; the data of the training (the default), or digits: their held-out rows",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="missing values: error or ignore (default: as in training)", show_default=False)
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="number of torch threads")] = 1,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="where to run")] = "cpu",
    distributed: Annotated[
        bool, typer.Option("--distributed", help="share the rows among the processes that torchrun started")
    ] = False,
) -> None:
    """Print the mean log-likelihood of held-out rows, or of all rows of another file, under a trained circuit."""
    with joined_workers(distributed, device, f"evaluate {quote(str(checkpoint))}") as workers:
        import torch

        from explorer.app.training.checkpoint import Checkpoint
        from explorer.app.training.job import rows_to_evaluate
        from explorer.learning.evaluation import check_data, mean_log_likelihood
        from explorer.learning.loop import is_density
        from explorer.learning.tables import note_on_missing

        torch.set_num_threads(threads)
        loaded = Checkpoint.load(checkpoint)
        source = rows_to_evaluate(loaded, data, missing)
        if source.note:
            say_note(source.note)
        if loaded.columns and (note := note_on_missing(loaded.columns, source.rows)):
            say_note(note)
        workers.require_equal({"the checkpoint": loaded.best_state, "the data": source.rows})
        circuit = loaded.restore().to(workers.device)
        check_data(circuit, source.rows, source.data)
        mean = mean_log_likelihood(circuit, source.rows, workers) - source.log_scale
        what = source.what.removesuffix("s") if len(source.rows) == 1 else source.what
        found = f"{len(source.rows):,} {what} of {source.data}: mean log-likelihood {mean:z.4f} nats"
        dimensions = source.rows.shape[1]
        if not is_density(circuit):
            found += f", {-mean / dimensions / math.log(2):z.4f} bits per dimension"
        elif loaded.columns:
            reached = -(mean + source.log_scale) / dimensions
            found += " per row in the units of the columns, "
            found += f"{reached:z.4f} nats per dimension of standardized columns (less is better)"
        print_text(found)
