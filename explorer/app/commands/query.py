"""`circuit-explorer query`: what a circuit says about some of its variables, given others."""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import print_text
from explorer.app.commands.evidence import AssumeDeterministic, Root, Semiring, Source, check_evidence, read_evidence
from explorer.errors import FormError, ShapeError, check_name
from explorer.options import MAX_SEED

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.app.expected import Spread
    from explorer.app.querying import Subject


def query(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="log-likelihood, marginal, conditional, most-probable, moments, entropy, divergence, partition",
        ),
    ],
    source: Source,
    observe: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="an observed value; may be repeated")
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="conditional: a value whose probability is asked; may be repeated"),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="a table (.csv, .npy ...) of observed values instead of --observe; cells may be empty",
        ),
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="divergence: the circuit q of KL(p || q); the first one is p",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="seed of the initial values")] = 0,
    semiring: Semiring = None,
    root: Root = None,
    assume_deterministic: AssumeDeterministic = False,
) -> None:
    """Ask a circuit for a probability, an entropy or a divergence (in nats), or for values of its variables.

    Logarithms are natural. The most probable values, and moments (mean and standard deviation), are printed as CSV.
    """
    check_name("question", question, QUESTIONS)
    check_evidence(rows, observe)
    if ask and question != "conditional":
        raise FormError("--ask belongs to the question conditional")
    if (other is not None) != (question == "divergence"):
        raise FormError(
            "--other belongs to the question divergence"
            if other is not None
            else "say from which circuit the divergence is asked, for example --other runs/digits.pt"
        )
    if question in WITHOUT_EVIDENCE and (rows is not None or observe):
        raise FormError(f"the question {question} is about all rows; leave out --observe and --rows")
    import torch

    from explorer.app.querying import load_other, load_subject, root_of

    subject = load_subject(source, seed=seed, semiring=semiring, assume_deterministic=assume_deterministic)
    asked_values = subject.assignments(ask or [])
    subject.check_read([*subject.assignments(observe or []), *asked_values])
    x, observed = read_evidence(subject, rows, observe)
    observed &= subject.read  # columns of a table that the circuit does not depend on
    with torch.no_grad():
        second = None if other is None else load_other(other, subject, seed, semiring, assume_deterministic)
        asked = Asked(subject, x, observed, asked_values, root_of(root), rows is not None, second)
        print_text(QUESTIONS[question](asked).rstrip("\n"))


@dataclass(frozen=True, eq=False)
class Asked:
    """The rows (B, D) of a question, and which entries are observed; the values whose probability is asked.

    `is_table` if the rows are those of a table; `other` is the second circuit of a divergence.
    """

    subject: "Subject"
    x: "Tensor"
    observed: "Tensor"
    ask: Mapping[str, str]
    root: tuple[int, int] | None
    is_table: bool
    other: "Subject | None"

    def lines(self, values: "Tensor", what: str) -> str:
        """The values (B, outputs, classes) or (outputs, classes) of the root, or of all outputs, one row per line.

        Raises: ValueRangeError for an unknown output or class.
        """
        from explorer.backend.queries.masks import check_root

        if self.root is not None:
            check_root(self.root, self.subject.circuit.output_shape)
        chosen = values if self.root is None else values[..., self.root[0], self.root[1]]
        rows = chosen.tolist() if values.dim() == 3 else [chosen.tolist()]
        return "\n".join(f"{what} = {_number(row)}" for row in rows)


def _number(value: object) -> str:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list):
        return "[" + ", ".join(map(_number, value)) + "]"
    if isinstance(value, float):
        return f"{value:z.6f}"
    if isinstance(value, complex):
        return f"{_number(value.real)} + {_number(value.imag)}i"
    return str(value)


def _log_likelihood(asked: Asked) -> str:
    from explorer.backend import queries

    missing = asked.subject.read & ~asked.observed
    if bool(missing.any()):
        row, column = (int(i) for i in missing.nonzero()[0])
        name = asked.subject.names[column]
        what = f"row {row + 1} has no value of {name}" if asked.is_table else f"{name} is not observed"
        raise ShapeError(f"{what}; a log-likelihood needs the values of all variables: ask for the marginal")
    found = queries.log_likelihood(asked.subject.circuit, asked.x)
    return asked.lines(_scaled(asked, found, asked.observed), "log p")


def _marginal(asked: Asked) -> str:
    from explorer.backend import queries

    found = queries.marginal(asked.subject.circuit, asked.x, asked.observed)
    return asked.lines(_scaled(asked, found, asked.observed), "log p")


def _conditional(asked: Asked) -> str:
    from explorer.backend import queries

    if not asked.ask:
        raise FormError("say whose probability is asked, for example --ask x1=0")
    values, query = asked.subject.encode(asked.ask)
    both = query & asked.observed
    if bool(both.any()):
        name = asked.subject.names[int(both.nonzero()[0][1])]
        raise FormError(f"{name} is observed and asked; leave out one of them")
    import torch

    x = torch.where(query, values, asked.x)
    found = queries.conditional(asked.subject.circuit, x, query.expand(x.shape), asked.observed)
    return asked.lines(_scaled(asked, found, query.expand(x.shape)), "log p")


def _most_probable(asked: Asked) -> str:
    from explorer.backend import queries

    known = bool(asked.subject.symbolic.is_deterministic) or None  # None: look for zeros of the present parameters
    found = queries.most_probable(
        asked.subject.circuit, asked.x, asked.observed, root=asked.root, is_deterministic=known
    )
    scale = asked.subject.log_scale(asked.observed.new_ones(asked.observed.shape))
    columns = {
        "log p": [f"{value:z.6f}" for value in (found.log_probability - scale).tolist()],
        "upper bound": [f"{value:z.6f}" for value in (found.log_bound - scale).tolist()],
        "most probable": ["yes" if exact else "at least this" for exact in found.is_exact.tolist()],
    }
    return asked.subject.table_text(found.assignment, asked.observed, columns)


def _moments(asked: Asked) -> str:
    """Mean and standard deviation of each variable as CSV; a category is a variable that is 1 or 0."""
    from explorer.app.expected import spread_of
    from explorer.backend.queries.masks import check_root

    root = check_root(asked.root, asked.subject.circuit.output_shape)
    spread = spread_of(asked.subject.circuit, asked.x, asked.observed, root)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(["row"] if asked.is_table else []), "variable", "mean", "standard deviation"])
    lines: list[list[tuple[str, str, str]]] = [[] for _ in asked.x]
    for v, name in enumerate(asked.subject.names):
        if not bool(spread.mean[:, v].isnan().any()):  # the output reads it
            for row, found in enumerate(_moments_of(asked, v, name, spread, root)):
                lines[row] += found
    for row, cells in enumerate(lines):
        writer.writerows([*([row + 1] if asked.is_table else []), *line] for line in cells)
    return text.getvalue()


def _moments_of(
    asked: Asked, v: int, name: str, spread: "Spread", root: tuple[int, int]
) -> list[list[tuple[str, str, str]]]:
    """The lines of a variable in each row: one, or that of each category."""
    from explorer.app.expected import category_probabilities
    from explorer.learning.tables import CategoricalColumn

    column = asked.subject.columns[v] if asked.subject.columns else None
    if isinstance(column, CategoricalColumn):
        circuit, count = asked.subject.circuit, len(column.labels)
        shares = category_probabilities(circuit, v, count, asked.x, asked.observed, root)
        deviations = (shares * (1 - shares)).clamp(min=0).sqrt()
        return [
            [
                (f"{name}={label}", f"{mean:.6g}", f"{deviation:.6g}")
                for label, mean, deviation in zip(column.labels, means, spreads, strict=True)
            ]
            for means, spreads in zip(shares.tolist(), deviations.tolist(), strict=True)
        ]
    zero, unit = (0.0, 1.0) if column is None else (column.zero, column.unit)
    found: list[list[tuple[str, str, str]]] = []
    parts = (spread.mean, spread.deviation, spread.is_bound, asked.observed, asked.x)
    for mean, deviation, is_bound, known, value in zip(*(part[:, v].tolist() for part in parts), strict=True):
        most = "at most " if is_bound and deviation else ""
        shown = "0" if known else f"{most}{unit * deviation:.6g}"
        found.append([(name, f"{zero + unit * (value if known else mean):.6g}", shown)])
    return found


def _entropy(asked: Asked) -> str:
    import torch

    from explorer.backend import queries
    from explorer.backend.layers.inputs import TorchContinuousLayer

    subject = asked.subject
    scopes = [subject.symbolic.scopes[output] for output in subject.symbolic.outputs]
    read = torch.tensor([[v in scope for v in range(len(subject.names))] for scope in scopes])
    found = queries.entropy(subject.circuit) + subject.log_scale(read)[:, None]
    leaves = [layer for layer in subject.circuit.layers if isinstance(layer, TorchContinuousLayer)]
    return asked.lines(found, "differential entropy" if leaves else "entropy")


def _divergence(asked: Asked) -> str:
    from explorer.backend import queries

    assert asked.other is not None
    return asked.lines(queries.divergence(asked.subject.circuit, asked.other.circuit), "KL(p || q)")


def _partition(asked: Asked) -> str:
    from explorer.backend import queries

    return asked.lines(queries.partition_function(asked.subject.circuit), "log Z")


def _scaled(asked: Asked, found: "Tensor", density: "Tensor") -> "Tensor":
    """Log-densities (B, outputs, classes) of cells, where those of the codes are given."""
    return found - asked.subject.log_scale(density)[:, None, None]


QUESTIONS: Mapping[str, Callable[[Asked], str]] = {
    "log-likelihood": _log_likelihood,
    "marginal": _marginal,
    "conditional": _conditional,
    "most-probable": _most_probable,
    "moments": _moments,
    "entropy": _entropy,
    "divergence": _divergence,
    "partition": _partition,
}
WITHOUT_EVIDENCE = ("entropy", "divergence", "partition")
"""The questions about a circuit as it is."""
