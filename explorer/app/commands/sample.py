"""`circuit-explorer sample`: draws from a circuit, also given some of its variables."""

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import check_output, print_text, say_note
from explorer.app.commands.evidence import AssumeDeterministic, Root, Semiring, Source, check_evidence, read_evidence
from explorer.errors import ShapeError, check_name
from explorer.files import replace_file
from explorer.options import MAX_SEED

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.app.querying import Subject


def sample(
    source: Source,
    count: Annotated[int, typer.Option("-n", "--count", min=0, help="number of samples")] = 10,
    observe: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="sample given this value; may be repeated")
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="complete the empty cells of this table (.csv, .npy ...), -n times each"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE.csv|.npy|.png", help="write them here (default: print them as CSV)"),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(metavar="HxW|CxHxW", help="the shape of the images (default: square)", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="seed of the samples, and of initial values")] = 0,
    semiring: Semiring = None,
    root: Root = None,
    assume_deterministic: AssumeDeterministic = False,
) -> None:
    """Draw samples from a circuit, jointly or given some variables, and print or write them."""
    check_evidence(rows, observe)
    if out is not None:
        check_name("kind of file for samples", out.suffix.lower(), FORMATS)
        check_output(out, source, rows)
    import torch

    from explorer.app.querying import load_subject, root_of
    from explorer.backend import queries

    subject = load_subject(source, seed=seed, semiring=semiring, shape=shape, assume_deterministic=assume_deterministic)
    generator = torch.Generator().manual_seed(seed)
    chosen = root_of(root)
    subject.check_read(subject.assignments(observe or []))
    if rows is not None or observe:
        x, mask = read_evidence(subject, rows, observe)
        drawn = queries.sample(subject.circuit, count, x, mask, generator=generator, root=chosen)
        found = drawn.transpose(0, 1).flatten(0, 1)  # all samples of the first row, then those of the next
        given = mask.repeat_interleave(count, 0)
    else:
        given = None
        found = queries.sample(subject.circuit, count, generator=generator, root=chosen)
    if out is None:
        print_text(subject.table_text(found, given).rstrip("\n"))
        return
    replace_file(out, FORMATS[out.suffix.lower()](subject, found, given))
    say_note(f"wrote {len(found):,} samples of {subject.circuit.num_variables:,} variables to {out}")


def _csv(subject: "Subject", rows: "Tensor", given: "Tensor | None") -> bytes:
    return subject.table_text(rows, given).encode()


def _npy(subject: "Subject", rows: "Tensor", given: "Tensor | None") -> bytes:
    del given
    import numpy as np

    file = BytesIO()
    np.save(file, rows.numpy())
    return file.getvalue()


def _png(subject: "Subject", rows: "Tensor", given: "Tensor | None") -> bytes:
    del given
    from explorer.app.grids import grid_png
    from explorer.app.querying import num_grey_levels

    if subject.columns or subject.shape is None or subject.shape[0] not in (1, 3):
        raise ShapeError(
            f"{subject.name} is not known to be a circuit of images of one or three channels; say their --shape, or "
            "write a .csv or .npy file"
        )
    levels = max(1, num_grey_levels(subject.circuit) - 1)
    return grid_png(rows.double().numpy().reshape(-1, *subject.shape) / levels)


FORMATS: Mapping[str, Callable[["Subject", "Tensor", "Tensor | None"], bytes]] = {
    ".csv": _csv,
    ".npy": _npy,
    ".png": _png,
}
"""The content of a file of samples, by its ending."""
