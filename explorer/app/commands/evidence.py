"""The arguments that `query` and `sample` share: the circuit, the output that is asked, and the observed values."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.errors import FormError

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.app.querying import Subject

Source = Annotated[str, typer.Argument(metavar="NAME|FILE", help="a circuit, a circuit file or a checkpoint")]
Semiring = Annotated[
    str | None,
    typer.Option(help="the semiring of a circuit that is not a checkpoint (default: lse-sum)", show_default=False),
]
AssumeDeterministic = Annotated[
    bool,
    typer.Option("--assume-deterministic", help="answer even if determinism of a logic circuit cannot be shown"),
]
Root = Annotated[
    str | None,
    typer.Option(metavar="OUTPUT,CLASS", help="which output and class, if there are several", show_default=False),
]


def check_evidence(rows: Path | None, observe: Sequence[str] | None) -> None:
    """Raise FormError if values are observed in a table and by name."""
    if rows is not None and observe:
        raise FormError("the observed values are those of --rows or those of --observe; leave out one of them")


def read_evidence(subject: "Subject", rows: Path | None, observe: Sequence[str] | None) -> "tuple[Tensor, Tensor]":
    """The rows (B, D) of a table, or one row with the values NAME=VALUE, and which entries (B, D) are observed.

    Raises: the errors of `Subject.read_rows` and `Subject.encode`; FormError.
    """
    return subject.read_rows(rows) if rows is not None else subject.encode(subject.assignments(observe or ()))
