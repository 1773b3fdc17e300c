"""The columns of a table: which distribution a column has, and how its cells become the numbers that a circuit reads.

Codes are doubles, one per cell; a missing cell is NaN.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from shlex import quote
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.errors import DataTypeError, FileFormatError, ValueRangeError, check_name, listed
from explorer.symbolic import ParameterNode, ScaledSigmoidParameter, Shape, TensorParameter
from explorer.templates import BinomialInput, CategoricalInput, GaussianInput, InputSpec

Cells = NDArray[Any]
"""The cells of a column: doubles, in which NaN is missing, or objects, each a stripped text or None."""
Codes = NDArray[np.float64]
EXACT_INTEGERS = 2**53
"""A double holds every integer up to this."""

MIN_STDDEV, MAX_STDDEV = 0.02, 2.0
"""Bounds of the standard deviations of units, where the column has 1: below, a unit could fit a single row."""


@dataclass(frozen=True, slots=True)
class Column(ABC):
    """Base of all columns."""

    kind: ClassVar[str]

    name: str

    @abstractmethod
    def encode(self, cells: Cells, where: str, lines: Sequence[int] = ()) -> Codes:
        """The code of each cell of a table `where`; in a text file, its rows begin at `lines`.

        Raises: ValueRangeError, DataTypeError, which name the column and the row.
        """

    @abstractmethod
    def decode(self, codes: Codes) -> list[str | float | int | None]:
        """The cells with these codes, which may be samples of a circuit."""

    @abstractmethod
    def input_spec(self) -> InputSpec:
        """The input layers over this column."""

    @abstractmethod
    def describe(self) -> str:
        """The type of the column, for a table of columns."""

    @property
    def log_scale(self) -> float:
        """The logarithm of the unit of the codes: log-densities of cells are those of codes minus this."""
        return 0.0

    @property
    def zero(self) -> float:
        """The cell of the code 0, of a column of numbers."""
        return 0.0

    @property
    def unit(self) -> float:
        """The difference of two cells if their codes differ by 1, of a column of numbers."""
        return 1.0

    def to_json(self) -> dict[str, Any]:
        """The column as data of JSON types."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class CategoricalColumn(Column):
    """A column of categories; the code is the position of the label. Numbers have labels too: `3`, `0.5`.

    An unknown date has the code of an equal one: `2020-01-01` and `2020-01-01 00:00:00` are one day.
    """

    kind = "categorical"

    labels: tuple[str, ...]

    def encode(self, cells: Cells, where: str, lines: Sequence[int] = ()) -> Codes:
        position = {label: float(code) for code, label in enumerate(self.labels)}
        texts, inverse = np.unique(labels_of(cells), return_inverse=True)
        known = np.array([math.nan if text == MISSING else position.get(text, -1.0) for text in texts])
        if (known < 0).any():
            of_moment = {moment_of(label): code for label, code in position.items()}
            for at in np.flatnonzero(known < 0).tolist():
                known[at] = of_moment.get(moment_of(str(texts[at])), -1.0)
        codes: Codes = known[inverse]
        if (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            raise ValueRangeError(
                f"{where}: column {self.name!r} has the unknown category {str(texts[inverse[row]])!r} in "
                f"{row_words(row, lines)}; known are: {listed(self.labels, 8)}"
            )
        return codes

    def decode(self, codes: Codes) -> list[str | float | int | None]:
        return [None if math.isnan(code) else self.labels[int(code)] for code in codes]

    def input_spec(self) -> InputSpec:
        return CategoricalInput(len(self.labels))

    def describe(self) -> str:
        count = len(self.labels)
        what = {1: "constant", 2: "binary"}.get(count, f"{count} categories")
        return f"{what}: {listed(self.labels, 4)}"


@dataclass(frozen=True, slots=True)
class BinomialColumn(Column):
    """A column of integers from `low` to `high`; the code is the difference to `low`."""

    kind = "binomial"

    low: int
    high: int

    def encode(self, cells: Cells, where: str, lines: Sequence[int] = ()) -> Codes:
        numbers = numbers_of(cells, self.name, where, lines)
        odd = (numbers < self.low) | (numbers > self.high) | (np.isfinite(numbers) & (numbers != np.floor(numbers)))
        if odd.any():
            row = int(np.flatnonzero(odd)[0])
            raise ValueRangeError(
                f"{where}: column {self.name!r} must be an integer from {self.low} to {self.high}; "
                f"found {float_label(numbers[row])} in {row_words(row, lines)}"
            )
        return numbers - self.low

    def decode(self, codes: Codes) -> list[str | float | int | None]:
        return [None if math.isnan(code) else self.low + int(code) for code in codes]

    def input_spec(self) -> InputSpec:
        return BinomialInput(max(self.high - self.low, 1))

    @property
    def zero(self) -> float:
        return float(self.low)

    def describe(self) -> str:
        return f"integer from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class GaussianColumn(Column):
    """A column of numbers; the code is standardized: (x - mean) / scale. Samples of integers are integers."""

    kind = "gaussian"

    mean: float
    scale: float
    is_integer: bool = False

    def encode(self, cells: Cells, where: str, lines: Sequence[int] = ()) -> Codes:
        return (numbers_of(cells, self.name, where, lines) - self.mean) / self.scale

    def decode(self, codes: Codes) -> list[str | float | int | None]:
        cells = [None if math.isnan(code) else self._real(float(code)) for code in codes]
        return [round(cell) if self.is_integer and cell is not None else cell for cell in cells]

    def _real(self, code: float) -> float:
        """Without the digits that come from rounding: -0.626, not -0.6260000000000003."""
        value = self.mean + self.scale * code
        if not math.isfinite(value):
            return value
        largest = max(abs(value), abs(self.mean), self.scale)
        digits = 14 - math.floor(math.log10(largest)), 6 - math.floor(math.log10(self.scale))
        return round(value, max(digits))  # a column may vary in its last digits only

    def input_spec(self) -> InputSpec:
        return GaussianInput(stddev=_stddev)

    def describe(self) -> str:
        mean = mean_label(self.mean, self.scale, 4)
        return f"{'integer' if self.is_integer else 'real'}: mean {mean}, standard deviation {self.scale:.4g}"

    @property
    def log_scale(self) -> float:
        return math.log(self.scale)

    @property
    def zero(self) -> float:
        return self.mean

    @property
    def unit(self) -> float:
        return self.scale


KINDS: Mapping[str, type[Column]] = {one.kind: one for one in (CategoricalColumn, BinomialColumn, GaussianColumn)}
"""The columns by kind."""
INTEGER = re.compile(r"[+-]?[0-9]+")
MAX_DIGITS = 1e22
"""Integers that a double holds are labels with all digits below this; 1e22 is the last power of ten that it holds."""
LEADING_ZERO = re.compile(r"[+-]?0\d")
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d|-?\d+ days)(?: (\d\d:\d\d:\d\d(?:\.\d+)?))?([+-]\d\d:\d\d)?")
"""A date or a duration, with or without a time, and a time zone, as pandas writes them."""
MISSING = ""
"""The label of a missing cell."""


def declaration(name: str, kind: str) -> str:
    """Return the option that declares the kind of a column, quoted for a shell.

    >>> declaration("Individual ID", "ignore")
    "--column 'Individual ID=ignore'"
    """
    return f"--column {quote(f'{name}={kind}')}"


def columns_from_json(data: object, where: str) -> tuple[Column, ...]:
    """The columns of such data. Raises: FileFormatError."""
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise FileFormatError(f"{where}: its columns are a {type(data).__name__}, not a list")
    return tuple(_column(one, where) for one in data)


def _column(data: object, where: str) -> Column:
    if not isinstance(data, Mapping) or data.get("kind") not in KINDS:
        raise FileFormatError(f"{where}: a column must have a kind ({', '.join(KINDS)}); found {data!r:.80}")
    kind = KINDS[data["kind"]]
    try:
        names = [field.name for field in fields(kind)]  # older files do not say whether numbers are integers
        given = {name: data[name] for name in names if name != "is_integer" or name in data}
    except KeyError as error:
        raise FileFormatError(f"{where}: a {kind.kind} column lacks {error}") from error
    if "labels" in given:
        given["labels"] = tuple(map(str, given["labels"]))
    return kind(**given)


def labels_of(cells: Cells) -> NDArray[np.str_]:
    """The label of each cell: its text, or its number as text; `MISSING` for a missing one."""
    if cells.dtype == object:
        return np.array([MISSING if cell is None else number_label(cell) for cell in cells], dtype=np.str_)
    values, inverse = np.unique(cells, return_inverse=True)
    return np.array([MISSING if math.isnan(v) else float_label(v) for v in values], dtype=np.str_)[inverse]


def number_label(text: str) -> str:
    """A text, or the label of the number that it is: 3 for 3.0. Integers keep all their digits.

    >>> number_label("3.0"), number_label("1234567890123456789"), number_label("007")
    ('3', '1234567890123456789', '007')
    """
    number = number_of(text)
    if number is None or math.isnan(number):
        return text
    return float_label(number) if not INTEGER.fullmatch(text) or number == 0 else text.removeprefix("+")


def float_label(number: float) -> str:
    """The label of a number: all digits of an integer, otherwise 15 digits, so that 0.1 + 0.2 is 0.3."""
    return str(int(number)) if number.is_integer() and abs(number) < MAX_DIGITS else f"{number:.15g}"


def mean_label(mean: float, deviation: float, digits: int) -> str:
    """A mean in so many digits, and in more where it is far above its standard deviation, which has as many.

    >>> mean_label(1732928287.35, 2043.59, 4), mean_label(0.123456, 7.0, 4)
    ('1732928287', '0.1235')
    """
    if mean and deviation and math.isfinite(mean) and math.isfinite(deviation):
        digits += max(0, round(math.log10(abs(mean) / deviation)))
    return f"{mean:.{min(digits, 17)}g}"


def row_words(row: int, lines: Sequence[int] = ()) -> str:
    """Name a row, counted from 0, with its line where the lines of rows are known.

    >>> row_words(2), row_words(2, [2, 3, 5])
    ('row 3', 'row 3 (line 5)')
    """
    return f"row {row + 1:,}" + (f" (line {lines[row]:,})" if lines else "")


def moment_of(label: str) -> str:
    """A date or a duration with its time, without zeros after the decimal point; any other label as it is.

    pandas writes the time, and digits of seconds, of all rows of a file or of none: a label depends on other rows.

    >>> moment_of("2020-01-01"), moment_of("2020-01-01 00:00:00.500"), moment_of("red")
    ('2020-01-01 00:00:00', '2020-01-01 00:00:00.5', 'red')
    """
    found = MOMENT.fullmatch(label)
    if found is None:
        return label
    day, time, zone = found[1], found[2] or "00:00:00", found[3] or ""
    return f"{day} {time.rstrip('0').rstrip('.') if '.' in time else time}{zone}"


def number_of(text: str) -> float | None:
    """Return the number that a string is; None if it is not one, or has leading zeros, as codes such as 00501 have."""
    if "_" in text or LEADING_ZERO.match(text):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def numbers_of(cells: Cells, name: str, where: str, lines: Sequence[int]) -> Codes:
    """The number of each cell.

    Raises: DataTypeError for text; ValueRangeError for an infinite number, or an integer that a double does not hold.
    """
    if cells.dtype == object:
        found = [math.nan if cell is None else number_of(cell) for cell in cells]
        for row, number in enumerate(found):
            if number is None:
                raise DataTypeError(
                    f"{where}: the number column {name!r} has the text {cells[row]!r} in {row_words(row, lines)}; "
                    f"correct it, or declare the column with {declaration(name, 'categorical')}"
                )
        numbers = np.array(found, dtype=np.float64)
        _check_exact(cells, numbers, name, where, lines)
    else:
        numbers = cells.astype(np.float64)
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        at = row_words(row, lines)
        raise ValueRangeError(f"{where}: column {name!r} is infinite in {at}; correct it, or remove the row")
    return numbers


def _check_exact(cells: Cells, numbers: Codes, name: str, where: str, lines: Sequence[int]) -> None:
    """Raises: ValueRangeError for an integer that would become another one as a double."""
    for row in np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) >= EXACT_INTEGERS)).tolist():
        text = str(cells[row])
        if INTEGER.fullmatch(text) and int(text) != int(numbers[row]):
            raise ValueRangeError(
                f"{where}: column {name!r} has the integer {text} in {row_words(row, lines)}, which is not exact as a "
                f"number (its double is {int(numbers[row])}); declare the column with "
                f"{declaration(name, 'categorical')}, or leave it out with {declaration(name, 'ignore')}"
            )


def check_kind(kind: str) -> None:
    """Raises: UnknownNameError for a kind that columns do not have."""
    check_name("kind of column", kind, (*KINDS, "ignore"))


def _stddev(shape: Shape) -> ParameterNode:
    return ScaledSigmoidParameter((TensorParameter(shape),), vmin=MIN_STDDEV, vmax=MAX_STDDEV)
