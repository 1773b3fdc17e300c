"""Reads tables: CSV by the standard library, NumPy arrays, and Parquet files where pandas can read them."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import DuplicateNameError, FileFormatError, MissingPackageError, ShapeError, check_name, listed
from explorer.learning.tables.columns import EXACT_INTEGERS, Cells, number_of, row_words

DELIMITERS = ",;\t|"
MISSING_TEXTS = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""Texts of cells without a value, in lower case."""
MISSING_RULE = f"a cell is missing if it is empty or one of {', '.join(sorted(MISSING_TEXTS - {''}))}, in any case"
"""The missing cells, in words."""

NUL = "\0"
INDEX = "index"
"""Name of a first column without a name, which `DataFrame.to_csv` of pandas writes; its rows are numbered."""


@dataclass(frozen=True, eq=False)
class RawTable:
    """The cells of a table by column; `where` is its file, for messages."""

    where: str
    names: tuple[str, ...]
    columns: tuple[Cells, ...]
    lines: Sequence[int] = ()
    """The line, counted from 1, at which each row begins; none, if it is not a text file."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def missing_cells(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each cell of these columns is missing, as (N, D). Raises: as `select`."""
        chosen = self.select(names).columns
        return np.stack([_is_missing(cells) for cells in chosen], axis=1)

    def with_missing(self, names: Sequence[str]) -> "RawTable":
        """The table with further columns in which all cells are missing."""
        empty = np.full(self.num_rows, np.nan)
        return replace(self, names=(*self.names, *names), columns=(*self.columns, *(empty for _ in names)))

    def select(self, names: Sequence[str]) -> "RawTable":
        """The columns with these names, in this order. Raises: ShapeError if one is missing."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise ShapeError(f"{self.where} has no column {', '.join(map(repr, missing))}; it has {listed(self.names)}")
        by_name = dict(zip(self.names, self.columns, strict=True))
        return replace(self, names=tuple(names), columns=tuple(by_name[name] for name in names))


def read_table(path: "str | Path") -> RawTable:
    """Read a table from a file, by its extension: .csv, .tsv, .npy, .parquet.

    The first line of a CSV file has the names of the columns, unless a cell of it is a number and none of its strings
    differs in kind from the cells below; columns without names are x0, x1 ... Columns are separated by comma,
    semicolon, tab or bar, whichever the first line has most of. A first column without a name is called `index`.
    Raises: UnknownNameError for a different extension; FileFormatError, ShapeError, DuplicateNameError for a file that
    is not a table; MissingPackageError with the command that installs what is needed for Parquet.
    """
    file = Path(path)
    check_name("kind of table file", file.suffix.lower(), READERS)
    table = READERS[file.suffix.lower()](file)
    twice = [name for name, count in Counter(table.names).items() if count > 1]
    if twice:
        raise DuplicateNameError(f"{file} has several columns named {twice[0]!r}; names must be unique")
    if not table.columns or not table.num_rows:
        raise ShapeError(f"{file} has {len(table.names)} columns and no rows; a table needs at least one of each")
    _check_characters(table)
    return table


def _check_characters(table: RawTable) -> None:
    """Raises: FileFormatError for a NUL, which arrays of strings drop at the end: two categories would become one."""
    for name, cells in zip(table.names, table.columns, strict=True):
        if NUL in name:
            raise FileFormatError(f"{table.where}: the name of column {name!r} has a NUL character; remove it")
        row = (
            next((row for row, cell in enumerate(cells) if cell and NUL in cell), None)
            if cells.dtype == object
            else None
        )
        if row is not None:
            raise FileFormatError(
                f"{table.where}: column {name!r} has a NUL character in {row_words(row, table.lines)}: "
                f"{cells[row]!r}; remove it"
            )


def _read_csv(file: Path) -> RawTable:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            first = stream.readline()
            stream.seek(0)
            delimiter = max(DELIMITERS, key=first.count)
            reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True)  # a quote may follow a blank
            lines = _with_lines(reader)
    except OSError as error:
        raise FileFormatError(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{file} is not a text file in UTF-8: {error.reason} at byte {error.start}; if it is in Latin-1, as old "
            f"spreadsheets write it, convert it: iconv -f LATIN1 -t UTF-8 {quote(str(file))} > utf8.csv"
        ) from error
    except csv.Error as error:
        raise FileFormatError(f"{file} is not a CSV file: {error}") from error
    # An empty line is no row; one of empty cells is: answers are for the rows of the file, in order.
    rows = [(line, [cell.strip() for cell in row]) for line, row in lines if len(row) > 1 or "".join(row).strip()]
    if not rows:
        raise ShapeError(f"{file} is empty; a table needs at least one column and one row")
    head = rows[0][1]
    if len(head) == 1 and len(head[0].split()) > 1 and _has_blanks_between(row for _, row in rows):
        raise FileFormatError(
            f"{file}: its columns are separated by blanks; expected comma, semicolon, tab or bar: write it with commas"
        )
    if not _is_header(head, [row for _, row in rows[1:] if len(row) == len(head)]):
        names = [f"x{position}" for position in range(len(head))]
    else:
        names, rows = head, rows[1:]
        if names[0] == "" and len(names) > 1:
            names = [INDEX, *names[1:]]
        if "" in names:
            raise FileFormatError(f"{file}: column {names.index('') + 1} has no name in the first line; give it one")
    for line, row in rows:
        if len(row) != len(names):
            raise FileFormatError(
                f"{file}: line {line} has {cells_text(len(row))}; expected {len(names)} as in the first line"
            )
    cells = tuple(_texts(column) for column in zip(*(row for _, row in rows), strict=True))
    return RawTable(str(file), tuple(names), cells, tuple(line for line, _ in rows))


def cells_text(count: int) -> str:
    """Return a number of cells.

    >>> cells_text(1), cells_text(1_200)
    ('1 cell', '1,200 cells')
    """
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _with_lines(reader: Any) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file that are not empty, with their first lines: a quoted cell may have several."""
    found: list[tuple[int, list[str]]] = []
    line = 1
    for row in reader:
        if row:  # a file may have millions of empty lines
            found.append((line, row))
        line = reader.line_num + 1
    return found


def _has_blanks_between(rows: Iterable[Sequence[str]]) -> bool:
    """Whether each row is one cell of equally many words, more than one, and at least one is a number."""
    words = [row[0].split() for row in rows if len(row) == 1]
    numbers = any(number_of(word) is not None for row in words[1:] for word in row)
    return len(words) > 1 and len({len(row) for row in words}) == 1 and numbers


def _is_header(head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a first line has names: only strings, or one above numbers, or above strings that repeat without it."""
    texts = [position for position, cell in enumerate(head) if number_of(cell) is None]
    if len(texts) == len(head):
        return True
    for position in texts:
        below = [row[position] for row in rows if row[position].lower() not in MISSING_TEXTS]
        is_text = head[position].lower() not in MISSING_TEXTS
        if is_text and below and all(number_of(cell) is not None for cell in below):
            return True
        if is_text and 2 * len(set(below)) <= len(below) and head[position] not in below:
            return True
    return False


def _is_missing(cells: Cells) -> NDArray[np.bool_]:
    return np.array([cell is None for cell in cells]) if cells.dtype == object else np.isnan(cells)


def _texts(cells: Sequence[str]) -> Cells:
    return np.array([None if cell.lower() in MISSING_TEXTS else cell for cell in cells], dtype=object)


def _read_npy(file: Path) -> RawTable:
    array = load_array(file)
    if array.ndim != 2:
        raise ShapeError(f"{file}: a table has two axes, rows and columns; found shape {array.shape}")
    if not array.size:  # the names of columns alone would take any time
        raise ShapeError(f"{file} has {array.shape[1]} columns and {len(array)} rows; a table needs one of each")
    names = tuple(f"x{position}" for position in range(array.shape[1]))
    return RawTable(str(file), names, tuple(_array_cells(column) for column in array.T))


def _array_cells(column: Cells) -> Cells:
    """The cells of an array: doubles, or the texts of integers where a double does not hold them."""
    large = column.dtype.kind in "iu" and len(column) and not _is_exact(int(column.min()), int(column.max()))
    return np.array([str(cell) for cell in column], dtype=object) if large else column.astype(np.float64)


def _is_exact(low: int, high: int) -> bool:
    return max(-low, high) <= EXACT_INTEGERS


def load_array(file: Path) -> Cells:
    """The array of real numbers in a .npy file. Raises: FileFormatError."""
    try:
        array = np.load(file, allow_pickle=False)
    except OSError as error:
        raise FileFormatError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, EOFError, OverflowError) as error:
        raise FileFormatError(f"{file} is not a NumPy array of numbers: {str(error).splitlines()[0]}") from error
    except MemoryError as error:  # a few bytes announce an array of any size
        raise FileFormatError(f"{file} does not fit into memory, or is truncated: {error}") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{file} must hold an array of real numbers; found {getattr(array, 'dtype', 'an archive')}"
        )
    return array


def _read_parquet(file: Path) -> RawTable:
    try:
        import pandas
        import pyarrow  # noqa: F401  # pyright: ignore[reportMissingImports] (pandas reads Parquet with it)
    except ImportError as error:
        raise MissingPackageError(
            f"reading {file} needs {error.name}, which is not installed; install it with: pip install pandas pyarrow"
        ) from error
    try:
        # nullable types: integers would become doubles where one is missing
        frame = pandas.read_parquet(file, dtype_backend="numpy_nullable")
    except (OSError, ValueError) as error:
        raise FileFormatError(f"cannot read {file}: {error}") from error
    return table_of_frame(frame, str(file))


def table_of_frame(frame: Any, where: str) -> RawTable:
    """The table of a pandas data frame; `where` names it in messages."""
    names = tuple(str(name) for name in frame.columns)
    return RawTable(where, names, tuple(_cells(frame.iloc[:, position]) for position in range(len(names))))


def _cells(series: Any) -> Cells:
    present = series.dropna()
    large = series.dtype.kind in "iu" and len(present) and not _is_exact(int(present.min()), int(present.max()))
    if series.dtype.kind in "biuf" and not large:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    missing = series.isna().to_numpy()
    if series.dtype.kind in "mM":  # as pandas writes them to CSV: without a time if all are at midnight
        series = series.astype(str)
    texts = ["" if gone else str(cell).strip() for cell, gone in zip(series, missing, strict=True)]
    return _texts(texts)


READERS: Mapping[str, Callable[[Path], RawTable]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".npy": _read_npy,
    ".parquet": _read_parquet,
}
"""The readers of tables by extension."""
