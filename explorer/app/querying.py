"""The circuit that a query is about: a gallery circuit, a file or a checkpoint, with names for its variables."""

import csv
import io
import math
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from shlex import quote

import numpy as np
import torch
from torch import Tensor

from explorer.app.circuits import is_logic_file, load_circuit
from explorer.app.training.checkpoint import Checkpoint
from explorer.app.training.job import load_data_of
from explorer.backend import TorchCircuit, TorchDiscreteLayer, TorchInputLayer, queries
from explorer.compiler import TorchCompiler
from explorer.errors import (
    DataTypeError,
    FormError,
    ScopeError,
    ShapeError,
    StructureError,
    ValueRangeError,
    check_name,
    listed,
    unknown_name,
)
from explorer.learning.data import DATA_SETS
from explorer.learning.tables import CategoricalColumn, Column, RawTable, log_scales, read_table, row_words
from explorer.symbolic import Circuit
from explorer.templates.logic import build_circuit, read_logic

MAX_COLUMNS = 6
"""Maximum number of columns that an error names."""
Cell = str | float | int | None
"""A value of a variable as a user reads it."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A compiled circuit and its variables: column i of a table is variable i, or it is pixel i of an image.

    `shape` is that (C, H, W) of its images; None if they are not known to be images. Without `columns`, the variables
    are named x0, x1 ... and their values are numbers.
    """

    name: str
    symbolic: Circuit
    circuit: TorchCircuit
    columns: tuple[Column, ...] = ()
    shape: tuple[int, int, int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(c.name for c in self.columns) or tuple(f"x{v}" for v in range(self.circuit.num_variables))

    @cached_property
    def read(self) -> Tensor:
        """Which variables (D,) an output of the circuit depends on; the values of all others mean nothing."""
        scope = set(self.symbolic.scope)
        return torch.tensor([v in scope for v in range(len(self.names))], dtype=torch.bool)

    @cached_property
    def num_values(self) -> Mapping[int, int]:
        """The number of values of each variable that is discrete: they are 0, 1 ..."""
        discrete = (layer for layer in self.circuit.layers if isinstance(layer, TorchDiscreteLayer))
        return {scope[0]: layer.num_values for layer in discrete for scope in layer.scope_idx}

    def check_read(self, names: Iterable[str]) -> None:
        """Raises: UnknownNameError for a name of no variable that the circuit depends on."""
        known = [name for name, is_read in zip(self.names, self.read.tolist(), strict=True) if is_read]
        for name in names:
            check_name("variable of the circuit", name, known)

    def encode(self, *rows: Mapping[str, object]) -> tuple[Tensor, Tensor]:
        """The codes (B, D) of rows, values by name of the variable, and which entries (B, D) have a value.

        Raises: UnknownNameError for an unknown variable or category; FormError for a different invalid value.
        """
        codes = torch.zeros((len(rows), len(self.names)), dtype=torch.float64)
        known = torch.zeros(codes.shape, dtype=torch.bool)
        for row, values in enumerate(rows):
            for name, value in values.items():
                check_name("variable", name, self.names)
                at = self.names.index(name)
                codes[row, at], known[row, at] = self._code(at, str(value)), True
        return codes, known

    def sample(self, count: int = 1, given: Mapping[str, object] | None = None, seed: int = 0) -> list[dict[str, Cell]]:
        """Draw rows, given the values of some variables; the same seed draws the same rows.

        `pandas.DataFrame(model.sample(5))` makes a data frame of them.
        Raises: the errors of `encode` and of `explorer.backend.queries.sample`.
        """
        generator = torch.Generator().manual_seed(seed)
        if not given:
            return self.table(queries.sample(self.circuit, count, generator=generator))
        drawn = queries.sample(self.circuit, count, *self.encode(given), generator=generator)
        return self.table(drawn.squeeze(1))

    def table(self, codes: Tensor) -> list[dict[str, Cell]]:
        """The rows of codes (B, D): values by name of the variable, in the categories and units of the columns."""
        read = self.read.tolist()
        names = tuple(compress(self.names, read))
        return [dict(zip(names, compress(cells, read), strict=True)) for cells in self.decode(codes)]

    def __repr__(self) -> str:
        noun = "columns" if self.columns else "variables"
        return f"<{self.name}: a circuit of {len(self.symbolic.graph):,} layers over {len(self.names):,} {noun}>"

    def _code(self, at: int, value: str) -> float:
        """The code of a value of a variable. Raises: UnknownNameError, FormError."""
        name, column = self.names[at], self.columns[at] if self.columns else None
        cells = np.array([value], dtype=object)
        try:
            found = column.encode(cells, "") if column else _numbers(cells, name, "", self.num_values.get(at))
            code = float(found[0])
        except (DataTypeError, ValueRangeError):
            code = math.nan
        if not math.isnan(code):
            return code
        if isinstance(column, CategoricalColumn):
            raise unknown_name(f"category of {listed([name])}", value, column.labels)
        what = column.describe() if column else _values_text(self.num_values.get(at))
        raise FormError(f"{value!r} is not a value of {listed([name])} ({what})")

    def assignments(self, given: Sequence[str]) -> dict[str, str]:
        """The values by name of arguments NAME=VALUE; where a name has `=` itself, the longest known name counts.

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

    def read_rows(self, path: Path) -> tuple[Tensor, Tensor]:
        """The rows (B, D) of a table, and which entries (B, D) have a value; the others are missing.

        It need not have the columns of variables that the circuit does not read: `sample --out` leaves them out.
        Raises: the errors of `read_table`; ShapeError unless it has a column for each variable.
        """
        table: RawTable = read_table(path)
        read = [name for name, is_read in zip(self.names, self.read.tolist(), strict=True) if is_read]
        by_name = bool(self.columns) or (len(read) < len(self.names) and set(table.names) == set(read))
        if by_name:
            table = table.with_missing([name for name in self.names if name not in (*table.names, *read)])
            table = table.select(self.names)
        elif len(table.columns) != len(self.names):
            raise ShapeError(f"{path} has {len(table.columns)} columns; the circuit reads {len(self.names)} variables")
        return self._encode(table.columns, table.where, table.lines)

    def decode(self, rows: Tensor, known: Tensor | None = None) -> list[list[Cell]]:
        """The cells of each row (B, D) of codes; None for entries that are not `known` (B, D), by default all are."""
        if known is not None:
            rows = torch.where(known, rows.double(), math.nan)
        if self.columns:
            codes = rows.double().numpy()
            by_column = [column.decode(codes[:, v]) for v, column in enumerate(self.columns)]
            return [list(row) for row in zip(*by_column, strict=True)]
        return [[None if cell != cell else cell for cell in row] for row in rows.tolist()]

    def log_scale(self, observed: Tensor) -> Tensor:
        """What the log-density (B,) of the cells of rows is smaller than that of their codes by."""
        return log_scales(self.columns, observed) if self.columns else observed.new_zeros(len(observed)).double()

    def table_text(
        self, rows: Tensor, given: Tensor | None = None, more: Mapping[str, Sequence[object]] | None = None
    ) -> str:
        """Rows (B, D) as CSV, with the names of the variables that are read; `more` are further columns by name.

        Of numbers that are not `given` (B, D), by default all, only the digits that tell them apart are printed.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        added = more or {}
        read = self.read.tolist()
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

    def _encode(self, cells: Sequence[np.ndarray], where: str, lines: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        if self.columns:
            codes = [column.encode(c, where, lines) for column, c in zip(self.columns, cells, strict=True)]
        else:
            named = enumerate(zip(self.names, cells, strict=True))
            codes = [_numbers(c, name, where, self.num_values.get(at), lines) for at, (name, c) in named]
        rows = torch.from_numpy(np.stack(codes, axis=1)) if codes else torch.zeros((1, 0))
        observed = ~torch.isnan(rows)
        return torch.where(observed, rows, 0.0), observed


def load(source: "str | Path") -> Subject:
    """Load a checkpoint of `train`, with its best values, its columns and its structure.

    The result has the trained module as `circuit`, `columns`, `names`, `encode`, `decode`, `sample` and `table`.
    A circuit file, an NNF or SDD file or a name of the gallery has initial values and no columns.
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
    """The circuit of a gallery name, a circuit file, or a checkpoint of `train`, whose best values it then has.

    `seed` and `semiring` (by default lse-sum) are those of a circuit that is not a checkpoint; `shape` is that of its
    images, like `28x28`.
    Raises: UnknownNameError, FileFormatError, FormError, ShapeError; StructureError for a logic circuit that is not
    known to be deterministic, unless `assume_deterministic`: its numbers would not be those of the formula.
    """
    if Path(source).is_file() and zipfile.is_zipfile(source):
        if semiring is not None:
            raise FormError(f"{source} is a checkpoint, which has its semiring; leave out --semiring")
        checkpoint = Checkpoint.load(source)
        symbolic, circuit, known = checkpoint.trained_circuit(), checkpoint.restore(), checkpoint.shape
        if known is None and not checkpoint.columns and checkpoint.data in DATA_SETS:
            known = getattr(load_data_of(checkpoint, None), "shape", None)
        return Subject(source, symbolic, circuit, checkpoint.columns, _image_shape(circuit, shape) if shape else known)
    is_logic = is_logic_file(source) and Path(source).is_file()
    symbolic = _load_logic(source, assume_deterministic) if is_logic else load_circuit(source)
    circuit = TorchCompiler(semiring=semiring or "lse-sum", seed=seed).compile(symbolic)
    return Subject(source, symbolic, circuit, (), _image_shape(circuit, shape))


def load_other(
    source: str, subject: Subject, seed: int = 0, semiring: str | None = None, assume_deterministic: bool = False
) -> Subject:
    """The second circuit of a divergence, as `load_subject`; codes of both must mean the same.

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


def num_grey_levels(circuit: TorchCircuit) -> int:
    """The number of values of the variables. Raises: DataTypeError if a variable is real."""
    leaves = [layer for layer in circuit.layers if isinstance(layer, TorchInputLayer) and layer.num_variables]
    if not all(isinstance(layer, TorchDiscreteLayer) for layer in leaves):
        raise DataTypeError("only circuits of discrete variables have images; write the samples to a .csv or .npy file")
    return max(layer.num_values for layer in leaves if isinstance(layer, TorchDiscreteLayer))


def _image_shape(circuit: TorchCircuit, shape: str | None) -> tuple[int, int, int] | None:
    """The shape (C, H, W): the given one, or that of a square image of one channel."""
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


def _values_text(num_values: int | None) -> str:
    return "a number" if num_values is None else f"an integer from 0 to {num_values - 1}"


def _numbers(cells: np.ndarray, name: str, where: str, num_values: int | None, lines: Sequence[int] = ()) -> np.ndarray:
    """The number of each cell, in 0 .. num_values-1 if that is given. Raises: DataTypeError, ValueRangeError."""
    found = np.full(len(cells), math.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        try:
            found[row] = float(cell)
        except ValueError:
            at = row_words(row, lines)
            raise DataTypeError(f"{where}: the value {cell!r} of {name} in {at} is not a number") from None
        if math.isinf(found[row]):
            raise ValueRangeError(f"{where}: the value of {name} in {row_words(row, lines)} is infinite")
        if num_values is not None and not (0 <= found[row] < num_values and found[row].is_integer()):
            raise ValueRangeError(
                f"{where}: the value {cell!r} of {name} in {row_words(row, lines)} is not {_values_text(num_values)}"
            )
    return found


def root_of(text: str | None) -> tuple[int, int] | None:
    """The (output, class) of an argument OUTPUT,CLASS. Raises: FormError for a different form."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise FormError(f"the root {text!r} does not have the form OUTPUT,CLASS, for example 0,2")
    return (int(parts[0]), int(parts[1]))
