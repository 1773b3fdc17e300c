"""The circuit that a query is about: a gallery circuit, a file or a checkpoint, with names for its variables."""

import csv
import io
import math
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from shlex import quote

import torch
from torch import Tensor

from explorer.app.circuits import is_logic_file, load_circuit
from explorer.app.queries.named_variables import Cell, Evidence, Variables, describe_variables
from explorer.app.queries.query_kinds import Query, ask
from explorer.app.training.checkpoint import Checkpoint
from explorer.app.training.job import load_data_of
from explorer.backend import TorchCircuit
from explorer.backend.queries.masks import check_root
from explorer.compiler import TorchCompiler
from explorer.errors import FormError, ScopeError, ShapeError, StructureError, check_name, listed
from explorer.learning.data import DATA_SETS
from explorer.learning.tables import Column, RawTable, read_table
from explorer.symbolic import Circuit, LearnedEpoch
from explorer.templates import gallery
from explorer.templates.logic import build_circuit, read_logic

MAX_COLUMNS = 6
"""Maximum number of columns that an error names."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A compiled circuit and its variables: column i of a table is variable i, or it is pixel i of an image.

    `shape` is (C, H, W) for images; None if they are not known to be images. `epochs` are kept ones of the training,
    with their values. Without `columns`, the variables are named
    x0, x1 ... and their values are numbers.
    """

    name: str
    symbolic: Circuit
    circuit: TorchCircuit
    variables: Variables
    shape: tuple[int, int, int] | None = None
    epochs: tuple[LearnedEpoch, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table that the circuit was trained on; none if it was not."""
        return self.variables.columns

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return self.variables.names

    def check_read(self, names: Iterable[str]) -> None:
        """Raises: UnknownNameError for a name of no variable that the circuit depends on."""
        known = list(compress(self.names, self.variables.is_read.tolist()))
        for name in names:
            check_name("variable of the circuit", name, known)

    def encode(self, *rows: Mapping[str, object]) -> Evidence:
        """Return the codes (B, D) of rows, values by name of the variable, and which entries (B, D) have a value.

        Raises: UnknownNameError for an unknown variable or category; FormError for a different invalid value.
        """
        codes = torch.zeros((len(rows), len(self.names)), dtype=torch.float64)
        known = torch.zeros(codes.shape, dtype=torch.bool)
        for row, values in enumerate(rows):
            for name, value in values.items():
                check_name("variable", name, self.names)
                at = self.names.index(name)
                codes[row, at], known[row, at] = self.variables.code(at, str(value)), True
        return Evidence(codes, known)

    def decode(self, rows: Tensor, known: Tensor | None = None) -> list[list[Cell]]:
        """Return the cells of each row (B, D) of codes; None for entries that are not `known`, by default all."""
        return self.variables.decode(rows, known)

    def sample(self, count: int = 1, given: Mapping[str, object] | None = None, seed: int = 0) -> list[dict[str, Cell]]:
        """Draw rows, given the values of some variables; the same seed draws the same rows.

        `pandas.DataFrame(model.sample(5))` makes a data frame of them.
        Raises: the errors of `encode` and of `explorer.backend.queries.sample`.
        """
        found = ask(self.circuit, Query("sample", self.encode(given or {}), num_samples=count, seed=seed))
        assert found.rows is not None
        return self.table(found.rows[0])

    def log_probability(self, *rows: Mapping[str, object], root: tuple[int, int] | None = None) -> list[float]:
        """Return log p of each row, in nats: values by name of the variable; the other variables are summed out.

        For a column of numbers, it is a density in the unit of the column, not of its codes as `circuit` returns it.
        `root` is an (output, class) of a circuit that has several.
        Raises: the errors of `encode`; ValueRangeError for a circuit of several outputs without `root`.
        """
        output, number = check_root(root, self.circuit.output_shape)
        found = ask(self.circuit, Query("marginal", self.encode(*rows)), self.variables)
        assert found.values is not None
        return found.values[:, output, number].tolist()

    def table(self, codes: Tensor) -> list[dict[str, Cell]]:
        """Return rows (B, D): values by name of the variable, in the categories and units of the columns."""
        read = self.variables.is_read.tolist()
        names = tuple(compress(self.names, read))
        return [dict(zip(names, compress(cells, read), strict=True)) for cells in self.decode(codes)]

    def __repr__(self) -> str:
        noun = "columns" if self.columns else "variables"
        return f"<{self.name}: a circuit of {len(self.symbolic.graph):,} layers over {len(self.names):,} {noun}>"

    def assignments(self, given: Sequence[str]) -> dict[str, str]:
        """Return values by name, of arguments NAME=VALUE; where a name has `=` itself, the longest known name counts.

        Raises: FormError for a different form, or a name twice.
        """
        found: dict[str, str] = {}
        for text in given:
            places = [place for place, letter in enumerate(text) if letter == "="]
            known = [place for place in places if text[:place].strip() in self.names]
            place = max(known) if known else min(places, default=0)
            name, value = text[:place].strip(), text[place + 1 :].strip()
            if not name:
                example = quote(f"{self.names[0]}=1")
                raise FormError(f"the value {text!r} does not have the form NAME=VALUE, for example {example}")
            if name in found:
                raise FormError(f"{name} is given twice, as {found[name]!r} and as {value!r}; leave out one of them")
            found[name] = value
        return found

    def read_rows(self, path: Path) -> Evidence:
        """Read the rows (B, D) of a table, and which entries have a value; the others are missing.

        It need not have the columns of variables that the circuit does not read: `sample --out` leaves them out.
        Raises: the errors of `read_table`; ShapeError unless it has a column for each variable.
        """
        table: RawTable = read_table(path)
        read = [name for name, is_read in zip(self.names, self.variables.is_read.tolist(), strict=True) if is_read]
        by_name = bool(self.columns) or (len(read) < len(self.names) and set(table.names) == set(read))
        if by_name:
            table = table.with_missing([name for name in self.names if name not in (*table.names, *read)])
            table = table.select(self.names)
        elif len(table.columns) != len(self.names):
            raise ShapeError(f"{path} has {len(table.columns)} columns; the circuit reads {len(self.names)} variables")
        return self.variables.encode(table.columns, table.where, table.lines)

    def table_text(
        self, rows: Tensor, given: Tensor | None = None, more: Mapping[str, Sequence[object]] | None = None
    ) -> str:
        """Return rows (B, D) as CSV, with the names of the variables that are read; `more` are further columns by name.

        Of numbers that are not `given` (B, D), by default all, only the digits that tell them apart are printed.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        added = more or {}
        read = self.variables.is_read.tolist()
        writer.writerow([*compress(self.names, read), *added])
        exact = (torch.zeros(rows.shape, dtype=torch.bool) if given is None else given).tolist()
        for position, cells in enumerate(self.decode(rows)):
            shown = [
                cell if is_given else self._short(at, cell)
                for at, (cell, is_given) in enumerate(zip(cells, exact[position], strict=True))
            ]
            writer.writerow([*compress(shown, read), *(column[position] for column in added.values())])
        return text.getvalue()

    def _short(self, at: int, cell: Cell) -> Cell:
        """Round a number to seven digits, or to a millionth of the unit of its column, whichever has more digits."""
        if not isinstance(cell, float) or not math.isfinite(cell) or not cell:
            return cell
        unit = self.columns[at].unit if self.columns else math.inf
        return round(cell, 6 - math.floor(math.log10(min(abs(cell), unit))))


def load(source: "str | Path") -> Subject:
    """Load a checkpoint of `train`, with its best values, its columns and its structure.

    The result has the trained module as `circuit`, `columns`, `names`, `log_probability`, `sample`, `encode`, `decode`
    and `table`.
    A name of the gallery has its trained weights, if it ships with some; a circuit file, an NNF or SDD file has initial
    values. They have no columns.
    Raises: UnknownNameError, FileFormatError; StructureError for a logic circuit that may not be deterministic.
    """
    return load_subject(str(source))


def load_subject(
    source: str,
    *,
    seed: int = 0,
    semiring: str | None = None,
    shape: str | None = None,
    assume_deterministic: bool = False,
) -> Subject:
    """Return the circuit of a gallery name, a circuit file, or a checkpoint of `train`, with its best values.

    `seed` and `semiring` (by default lse-sum) are for a circuit that is not a checkpoint; `shape` is the shape of its
    images, like `28x28`.
    Raises: UnknownNameError, FileFormatError, FormError, ShapeError; StructureError for a logic circuit that is not
    known to be deterministic, unless `assume_deterministic`: its numbers would not belong to the formula.
    """
    if Path(source).is_file() and zipfile.is_zipfile(source):
        if semiring is not None:
            raise FormError(f"{source} is a checkpoint, which has its semiring; leave out --semiring")
        checkpoint = Checkpoint.load(source)
        symbolic, circuit, known = checkpoint.trained_circuit(), checkpoint.restore(), checkpoint.shape
        if known is None and not checkpoint.columns and checkpoint.data in DATA_SETS:
            known = getattr(load_data_of(checkpoint, None), "shape", None)
        variables = describe_variables(circuit, checkpoint.columns)
        known = _image_shape(circuit, shape) if shape else known
        return Subject(source, symbolic, circuit, variables, known, checkpoint.learned_epochs())
    is_logic = is_logic_file(source) and Path(source).is_file()
    symbolic = _load_logic(source, assume_deterministic) if is_logic else load_circuit(source)
    circuit = TorchCompiler(semiring=semiring or "lse-sum", seed=seed).compile(symbolic)
    epochs = gallery.learned_epochs(source) if gallery.is_trained(source) else ()
    return Subject(source, symbolic, circuit, describe_variables(circuit), _image_shape(circuit, shape), epochs)


def load_other(
    source: str, subject: Subject, seed: int = 0, semiring: str | None = None, assume_deterministic: bool = False
) -> Subject:
    """Return the second circuit of a divergence, as `load_subject`; codes of both must mean the same.

    Raises: the errors of `load_subject`; ScopeError for other columns of a table, or other units or categories.
    """
    is_checkpoint = Path(source).is_file() and zipfile.is_zipfile(source)
    other = load_subject(
        source,
        seed=seed,
        semiring=None if is_checkpoint else semiring,
        assume_deterministic=assume_deterministic,
    )
    if other.columns != subject.columns:
        raise ScopeError(
            "the divergence is that of circuits with the same columns, in the same order, with the same units and "
            f"categories; {subject.name} has {_columns_text(subject)}, and {other.name} has {_columns_text(other)}"
        )
    return other


def _columns_text(subject: Subject) -> str:
    if not subject.columns:
        return "variables without columns"
    shown = ", ".join(f"{listed([column.name])} ({column.describe()})" for column in subject.columns[:MAX_COLUMNS])
    return shown + (" ..." if len(subject.columns) > MAX_COLUMNS else "")


def _load_logic(source: str, assume_deterministic: bool) -> Circuit:
    logic = read_logic(source)
    if not assume_deterministic and not logic.is_deterministic:
        raise StructureError(
            "the circuit is not known to be deterministic, so a model may be counted several times: "
            f"{logic.is_deterministic.reason}; if you know that it is, add --assume-deterministic"
        )
    return build_circuit(logic, assume_deterministic=True)


def _image_shape(circuit: TorchCircuit, shape: str | None) -> tuple[int, int, int] | None:
    """Return the shape (C, H, W): the given one, or a square image of one channel."""
    count = circuit.num_variables
    if shape is None:
        side = math.isqrt(count)
        return (1, side, side) if side * side == count and side > 1 else None
    parts = shape.lower().split("x")
    if len(parts) not in (2, 3) or not all(part.isdecimal() for part in parts):
        raise FormError(f"the shape {shape!r} does not have the form HEIGHTxWIDTH or CHANNELSxHEIGHTxWIDTH")
    sizes = [int(part) for part in parts]
    channels, height, width = sizes if len(sizes) == 3 else [1, *sizes]
    if channels * height * width != count:
        raise ShapeError(f"images of shape {shape} have {channels * height * width} pixels; the circuit reads {count}")
    return (channels, height, width)


def root_of(text: str | None) -> tuple[int, int] | None:
    """Return the (output, class) of an argument OUTPUT,CLASS. Raises: FormError for a different form."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise FormError(f"the root {text!r} does not have the form OUTPUT,CLASS, for example 0,2")
    return (int(parts[0]), int(parts[1]))
