"""`circuit-explorer evaluate`: the log-likelihood of a trained circuit on held-out images."""

import math
from pathlib import Path
from typing import Annotated

import typer

from explorer.app.commands.console import print_text
from explorer.app.commands.workers import joined_workers


def evaluate(
    checkpoint: Annotated[Path, typer.Argument(metavar="FILE", help="a checkpoint of `train`")],
    data: Annotated[str | None, typer.Option(help="the data set [that of the training]", show_default=False)] = None,
    missing: Annotated[
        str | None, typer.Option(help="missing values: error or ignore [as in training]", show_default=False)
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="torch threads")] = 1,
    device: Annotated[str, typer.Option(metavar="cpu|cuda", help="where to run")] = "cpu",
    distributed: Annotated[
        bool, typer.Option("--distributed", help="share the images among the processes that torchrun started")
    ] = False,
) -> None:
    """Print the mean log-likelihood of held-out images under a trained circuit."""
    with joined_workers(distributed, device, f"evaluate {checkpoint}") as workers:
        import torch

        from explorer.app.training.checkpoint import Checkpoint
        from explorer.app.training.job import load_data_of
        from explorer.learning.data import ImageData
        from explorer.learning.evaluation import check_data, mean_log_likelihood
        from explorer.learning.loop import is_density
        from explorer.learning.tables import TableData

        torch.set_num_threads(threads)
        loaded = Checkpoint.load(checkpoint)
        source = load_data_of(loaded, data, missing)
        rows = source.held_out
        workers.require_equal({"the checkpoint": loaded.best_state, "the data": rows})
        circuit = loaded.restore().to(workers.device)
        check_data(circuit, source)
        mean = mean_log_likelihood(circuit, rows, workers)
        if isinstance(source, TableData):
            mean -= source.log_scale
        what = "images" if isinstance(source, ImageData) else "rows"
        found = f"{len(rows):,} held-out {what} of {source.name}: mean log-likelihood {mean:.4f} nats"
        if not is_density(circuit):
            found += f", {-mean / source.num_variables / math.log(2):.4f} bits per dimension"
        print_text(found)
