"""`circuit-explorer query`, `sample`, `count` and `evaluate`: a circuit about its variables, draws, models and rows."""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import check_output, complete_circuit, print_text, say_note
from explorer.app.commands.workers import joined_workers
from explorer.errors import DataTypeError, FileFormatError, FormError, ShapeError, ValueRangeError, check_name
from explorer.files import replace_file
from explorer.options import MAX_SEED

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.app.queries.loading import Subject
    from explorer.app.queries.named_variables import Evidence
    from explorer.app.queries.query_kinds import Found
    from explorer.templates.logic import LogicCircuit

Source = Annotated[
    str,
    typer.Argument(
        metavar="NAME|FILE", autocompletion=complete_circuit, help="a circuit, a circuit file or a checkpoint"
    ),
]
Semiring = Annotated[
    str | None,
    typer.Option(help="the semiring of a circuit that is not a checkpoint (default: lse-sum)"),
]
AssumeDeterministic = Annotated[
    bool,
    typer.Option("--assume-deterministic", help="answer even if determinism of a logic circuit cannot be shown"),
]
Root = Annotated[
    str | None,
    typer.Option(metavar="OUTPUT,CLASS", help="which output and class, if there are several"),
]


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
            autocompletion=complete_circuit,
            help="divergence: the circuit q of KL(p || q); the first one is p",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="seed of the initial values of an untrained circuit")
    ] = 0,
    semiring: Semiring = None,
    root: Root = None,
    assume_deterministic: AssumeDeterministic = False,
) -> None:
    """Ask a circuit for a probability, an entropy or a divergence (in nats), or for values of its variables.

    Logarithms are natural. The most probable values, and moments (mean and standard deviation), are printed as CSV.
    """
    from explorer.app.queries import query_kinds

    kinds = {name: kind for name, kind in query_kinds.KINDS.items() if not kind.is_sampled}
    check_name("question", question, kinds)
    kind = kinds[question]
    _check_evidence(rows, observe)
    if ask and not kind.has_given:
        raise FormError("--ask belongs to the question conditional")
    if (other is not None) != kind.has_other:
        raise FormError(
            "--other belongs to the question divergence"
            if other is not None
            else "say from which circuit the divergence is asked, for example --other runs/digits.pt"
        )
    if not kind.has_evidence and (rows is not None or observe):
        raise FormError(f"the question {question} is about all rows; leave out --observe and --rows")
    from explorer.app.queries.loading import load_other, load_subject, root_of

    subject = load_subject(source, seed=seed, semiring=semiring, assume_deterministic=assume_deterministic)
    _note_on_values(subject)
    asked = subject.assignments(ask or [])
    subject.check_read([*subject.assignments(observe or []), *asked])
    evidence = _read_evidence(subject, rows, observe)
    second = None if other is None else load_other(other, subject, seed, semiring, assume_deterministic)
    given = evidence.observed & subject.variables.is_read if kind.has_given else None
    wanted = query_kinds.Query(
        question,
        _with_asked(subject, evidence, asked) if kind.has_given else evidence,
        given,
        root=root_of(root),
        other=None if second is None else second.circuit,
        is_deterministic=bool(subject.symbolic.is_deterministic) or None,
    )
    found = query_kinds.ask(subject.circuit, wanted, subject.variables)
    print_text(_text_of(subject, found, rows is not None).rstrip("\n"))


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
        typer.Option(metavar="HxW|CxHxW", help="the shape of the images (default: square)"),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="seed of the samples, and of initial values if untrained")
    ] = 0,
    semiring: Semiring = None,
    root: Root = None,
    assume_deterministic: AssumeDeterministic = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the file if it exists")] = False,
) -> None:
    """Draw samples from a circuit, jointly or given some variables, and print or write them."""
    _check_evidence(rows, observe)
    if out is not None:
        check_name("kind of file for samples", out.suffix.lower(), FORMATS)
        check_output(out, source, rows)
        if out.is_file() and not overwrite:
            raise FileFormatError(f"{out} exists; choose another file, or replace it with --overwrite")
    from explorer.app.queries.loading import load_subject, root_of
    from explorer.app.queries.query_kinds import Query, ask

    subject = load_subject(source, seed=seed, semiring=semiring, shape=shape, assume_deterministic=assume_deterministic)
    _note_on_values(subject)
    chosen = root_of(root)
    subject.check_read(subject.assignments(observe or []))
    evidence = _read_evidence(subject, rows, observe)
    wanted = Query("sample", evidence, num_samples=count, seed=seed, root=chosen)
    drawn = ask(subject.circuit, wanted, subject.variables).rows
    assert drawn is not None
    found = drawn.flatten(0, 1)  # all samples of the first row, then of the next
    given = evidence.observed.repeat_interleave(count, 0)
    if out is None:
        print_text(subject.table_text(found, given).rstrip("\n"))
        return
    replace_file(out, FORMATS[out.suffix.lower()](subject, found, given))
    say_note(f"wrote {len(found):,} samples of {subject.circuit.num_variables:,} variables to {out}")


def _note_on_values(subject: "Subject") -> None:
    """Say that the values are the trained ones of the gallery, or random."""
    from explorer.app.queries.learned_words import words_on_values

    if words := words_on_values(subject.symbolic, subject.name):
        say_note(words)


# ---------------------------------------------------------------------- evidence


def _check_evidence(rows: Path | None, observe: Sequence[str] | None) -> None:
    """Raise FormError if values are observed in a table and by name."""
    if rows is not None and observe:
        raise FormError("the observed values are those of --rows or those of --observe; leave out one of them")


def _read_evidence(subject: "Subject", rows: Path | None, observe: Sequence[str] | None) -> "Evidence":
    """Return the rows (B, D) of a table, or one row with the values NAME=VALUE, and which entries are observed.

    Raises: the errors of `Subject.read_rows` and `Subject.encode`; FormError.
    """
    return subject.read_rows(rows) if rows is not None else subject.encode(subject.assignments(observe or ()))


def _with_asked(subject: "Subject", evidence: "Evidence", asked: Mapping[str, str]) -> "Evidence":
    """Return the evidence with the asked values. Raises: FormError if there are none."""
    import torch

    if not asked:
        raise FormError("say whose probability is asked, for example --ask x1=0")
    values, mask = subject.encode(asked)
    both = mask & evidence.observed
    if bool(both.any()):
        name = subject.names[int(both.nonzero()[0][1])]
        raise FormError(f"{name} is observed and asked; leave out one of them")
    return type(evidence)(torch.where(mask, values, evidence.x), evidence.observed | mask)


# ---------------------------------------------------------------------- answers as text


def _text_of(subject: "Subject", found: "Found", is_table: bool) -> str:
    if found.values is not None:
        root = found.query.root
        chosen = found.values if root is None else found.values[..., root[0], root[1]]
        values = enumerate(chosen.tolist())
        return "\n".join(f"{found.name} = {_number(one)}{_exponential_text(found, row, one)}" for row, one in values)
    if found.completion is not None:
        columns = {
            "log p": [f"{value:z.6f}" for value in (found.completion.log_probability - found.log_scale).tolist()],
            "upper bound": [f"{value:z.6f}" for value in (found.completion.log_bound - found.log_scale).tolist()],
            "most probable": ["yes" if exact else "at least this" for exact in found.completion.is_exact.tolist()],
        }
        return subject.table_text(found.completion.assignment, found.query.evidence.observed, columns)
    from explorer.learning.tables import mean_label

    assert found.expected is not None
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(["row"] if is_table else []), "variable", "mean", "standard deviation"])
    for row in range(len(found.query.evidence.x)):
        for name, mean, deviation, is_bound in found.expected.moments(row):
            shown = f"{'at most ' * is_bound}{deviation:.6g}"
            writer.writerow([*([row + 1] if is_table else []), name, mean_label(mean, deviation, 6), shown])
    return text.getvalue()


def _exponential_text(found: "Found", row: int, value: object) -> str:
    """The probability or density with the logarithm of a row, in brackets; empty for other numbers."""
    from explorer.app.queries.answers import exponential, exponential_name

    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, float) or (name := exponential_name(found, row)) == "value":
        return ""
    return f" ({name} {exponential(value)})"


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


# ---------------------------------------------------------------------- samples as files


def _csv(subject: "Subject", rows: "Tensor", given: "Tensor") -> bytes:
    return subject.table_text(rows, given).encode()


def _npy(subject: "Subject", rows: "Tensor", given: "Tensor") -> bytes:
    del subject, given
    import numpy as np

    file = io.BytesIO()
    np.save(file, rows.numpy())
    return file.getvalue()


def _png(subject: "Subject", rows: "Tensor", given: "Tensor") -> bytes:
    del given
    from explorer.app.images import grid_png

    if subject.columns or subject.shape is None or subject.shape[0] not in (1, 3):
        raise ShapeError(
            f"{subject.name} is not known to be a circuit of images of one or three channels; say their --shape, or "
            "write a .csv or .npy file"
        )
    if subject.variables.real is None or subject.variables.real:
        raise DataTypeError("only circuits of discrete variables have images; write the samples to a .csv or .npy file")
    levels = max(1, *(size - 1 for size in subject.variables.sizes.values()))
    return grid_png(rows.double().numpy().reshape(-1, *subject.shape) / levels)


FORMATS: Mapping[str, Callable[["Subject", "Tensor", "Tensor"], bytes]] = {".csv": _csv, ".npy": _npy, ".png": _png}
"""The content of a file of samples, by its ending."""

# ---------------------------------------------------------------------- models of logic circuits


def count(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="an SDD file, or an NNF file of c2d or d4")],
    vtree: Annotated[Path | None, typer.Option(help="the vtree of an SDD file")] = None,
    variables: Annotated[
        int | None, typer.Option(min=0, help="the number of variables, if the file does not contain it")
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="LITERAL=NUMBER", help="the weight of a literal, such as 3=0.2 or -3=4/5 (repeatable)"),
    ] = None,
    assume_deterministic: Annotated[
        bool, typer.Option("--assume-deterministic", help="count even if determinism cannot be shown")
    ] = False,
) -> None:
    """Count the models of a logic circuit exactly; with weights, sum their weights (a literal without one has 1)."""
    from explorer.templates.logic import count_models, read_logic, read_vtree, weighted_count

    weights: dict[int, Fraction] = {}
    for literal, number in map(_weight, weight or []):
        if literal in weights:
            raise ValueRangeError(f"--weight {literal}: the weight of this literal is given twice")
        weights[literal] = number
    circuit = read_logic(file, None if vtree is None else read_vtree(vtree), num_variables=variables)
    say_note(_describe(circuit))
    if weights:
        print_text(_digits(Fraction(weighted_count(circuit, weights, assume_deterministic=assume_deterministic))))
    else:
        print_text(_digits(Fraction(count_models(circuit, assume_deterministic=assume_deterministic))))


def _describe(circuit: "LogicCircuit") -> str:
    nodes, edges = len(circuit.nodes), circuit.num_edges
    return f"{nodes:,} nodes, {edges:,} edges, {circuit.num_variables:,} variables"


def _digits(number: Fraction) -> str:
    """All digits of an integer, or 17 digits of a fraction; a Decimal has no bounds that a count could exceed."""
    if number.denominator == 1:
        return str(Decimal(number.numerator))
    with localcontext(prec=17):
        return str(Decimal(number.numerator) / Decimal(number.denominator))


def _weight(text: str) -> tuple[int, Fraction]:
    """Parse LITERAL=NUMBER. Raises: ValueRangeError."""
    literal, _, number = text.partition("=")
    try:
        return int(literal), Fraction(number)
    except (ValueError, ZeroDivisionError) as error:
        raise ValueRangeError(f"--weight {text}: expected LITERAL=NUMBER, such as 3=0.2 or -3=4/5") from error


# ---------------------------------------------------------------------- held-out rows


def evaluate(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="NAME|FILE",
            autocompletion=complete_circuit,
            help="a checkpoint of `train`, or a gallery circuit with trained weights",
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="another file: all its rows; the data of the training (the default), or digits: their held-out rows"
        ),
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="missing values: error or ignore (default: as in training)")
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
        from explorer.learning.log_likelihood import check_data, mean_log_likelihood, note_on_impossible
        from explorer.learning.loop import is_density
        from explorer.learning.tables import note_on_missing
        from explorer.templates import gallery

        torch.set_num_threads(threads)
        name = str(checkpoint)
        loaded = Checkpoint.of_gallery(name) if name in gallery.names() else Checkpoint.load(checkpoint)
        source = rows_to_evaluate(loaded, data, missing)
        if source.note:
            say_note(source.note)
        if loaded.columns and (note := note_on_missing(loaded.columns, source.rows)):
            say_note(note)
        workers.require_equal({"the checkpoint": loaded.best_state, "the data": source.rows})
        circuit = loaded.restore().to(workers.device)
        check_data(circuit, source.rows, source.data)
        mean = mean_log_likelihood(circuit, source.rows, workers) - source.log_scale
        if mean == -math.inf:
            say_note(note_on_impossible(circuit, source.rows.to(workers.device)))
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
