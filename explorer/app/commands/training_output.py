"""Output of a training: its progress, and tables of the columns and of the epochs."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from explorer.app.commands.console import notes, progress

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.backend import TorchCircuit
    from explorer.learning.data import DataSet, ImageData
    from explorer.learning.loop import Epoch, TrainingResult
    from explorer.learning.methods import TrainingOptions
    from explorer.learning.state import TrainingState
    from explorer.learning.tables import TableData
    from explorer.learning.workers import Workers


def columns_table(data: "TableData") -> Table:
    """The columns of a table with their kinds."""
    rows = len(data.training) + len(data.held_out)
    table = Table(title=f"{Path(data.name).name}: {rows:,} rows, {len(data.held_out):,} held out")
    for name in ("column", "kind", "values"):
        table.add_column(name)
    if all(column.name == f"x{position}" for position, column in enumerate(data.columns)):
        table.caption = "The file has no names of columns: its first line has numbers only, so it is a row."
    for column in data.columns:
        table.add_row(escape(column.name), column.kind, escape(column.describe()))
    return table


def images_line(data: "ImageData") -> str:
    """Describe images: their number, their size, and their folders, if some are not in the named one itself."""
    from explorer.learning.sources import image_files, pixels_text

    channels, height, width = data.shape
    count = len(data.training) + len(data.held_out)
    size = pixels_text(height, width) + (f" of {channels} channels" if channels > 1 else "")
    found = f"{data.name}: {count:,} images, {len(data.held_out):,} held out, {size}, {data.num_values:,} levels"
    folder = Path(data.name)
    inside = [file.parent for file in image_files(folder) if file.parent != folder] if folder.is_dir() else []
    if inside:
        names = sorted({str(parent.relative_to(folder)) for parent in inside})
        shown = ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
        found += f"; in folders of it ({shown}): {len(inside):,}"
    return found


def train_with_progress(
    compiled: "TorchCircuit",
    data: "DataSet",
    settings: "TrainingOptions",
    workers: "Workers | None" = None,
    fast: bool = False,
    before: "Sequence[Epoch]" = (),
    best: "Mapping[str, Tensor] | None" = None,
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
                task, note=f"epoch {epoch.number}: {scale * epoch.held_out_bits:z.3f} {unit} per dimension, held out"
            )

        return fit(
            compiled,
            data,
            settings,
            workers=workers or ALONE,
            fast=fast,
            before=before,
            best=best,
            state=state,
            save_every=save_every,
            on_batch=lambda done, total: bar.advance(task),
            on_epoch=tell,
            on_state=on_state,
        )


def baseline_of(data: "DataSet", result: "TrainingResult") -> float | None:
    """Bits per dimension of the held-out rows under independent variables; None for a density of images."""
    from explorer.learning.data import ImageData
    from explorer.learning.structures import independent_bits, independent_pixels_bits

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
        reached = (f"{scale * bits:z.4f}" for bits in (epoch.training_bits, epoch.held_out_bits))
        table.add_row(str(epoch.number), *reached, f"{epoch.seconds:.2f}")
    if baseline is not None:
        table.caption = f"Independent {parts} reach {scale * baseline:z.4f} on the held-out {what}."
        if result.is_density:
            table.caption += " Real columns are standardized; evaluate prints this measure and the one in their units."
    return table
