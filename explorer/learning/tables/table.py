"""A table as training data: its rows, encoded by its columns, with a fixed split; notes on doubtful columns."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.errors import DataTypeError, ValueRangeError, check_name, listed
from explorer.learning.data import DataSet, split
from explorer.learning.tables.columns import (
    BinomialColumn,
    CategoricalColumn,
    Codes,
    Column,
    GaussianColumn,
    declaration,
    row_words,
)
from explorer.learning.tables.inference import infer_columns
from explorer.learning.tables.reading import MISSING_RULE, RawTable, cells_text, read_table

MISSING = ("error", "ignore")
"""Treatment of missing cells: refuse them, or sum them out."""

MIN_VALUES = 10
"""Columns of fewer different values are what they seem to be."""
MAX_NAMED = 6
"""Maximum number of columns with missing cells that a note names."""
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ].*)?")
"""2024-01-31, with or without a time, and 31.1.2024."""


@dataclass(frozen=True, eq=False)
class TableData(DataSet):
    """Rows (N, D) of the codes of a table: int64 if all columns are discrete and no cell is missing, else float64."""

    columns: tuple[Column, ...]


def load_table(
    path: "str | Path",
    kinds: Mapping[str, str] | None = None,
    columns: Sequence[Column] | None = None,
    missing: str = "error",
    check_width: Callable[[int], None] = lambda num_columns: None,
) -> TableData:
    """Read a table, infer its columns unless they are known, encode it, and hold out every fifth row.

    `kinds` overrides inferred kinds by name of the column. `encode_rows` explains `missing`.
    `check_width` receives the number of columns, without ignored ones, before they are inferred, and may raise.

    Raises: the errors of `read_table`, `infer_columns` and `encode_rows`; ShapeError for fewer than five rows.
    """
    table = read_table(path)
    check_width(sum((kinds or {}).get(name) != "ignore" for name in table.names))
    known = tuple(columns) if columns is not None else _infer(table, kinds or {}, missing)
    training, held_out = split(encode_rows(table, known, missing))
    return TableData(str(path), training, held_out, known)


def _infer(table: RawTable, kinds: Mapping[str, str], missing: str) -> tuple[Column, ...]:
    """Infer the columns; an error also says which cells are missing if they would be the next one."""
    try:
        return infer_columns(table, kinds)
    except (DataTypeError, ValueRangeError) as error:
        gone = table.missing_cells([name for name in table.names if kinds.get(name) != "ignore"])
        if missing != "error" or not gone.any():
            raise
        raise type(error)(f"{error}; also, {_missing_text(gone)}") from error


def _missing_text(gone: NDArray[np.bool_]) -> str:
    count, rows = int(gone.sum()), int(gone.any(1).sum())
    return (
        f"{cells_text(count)} {'is' if count == 1 else 'are'} missing in {rows:,} of {len(gone):,} "
        f"{'row' if len(gone) == 1 else 'rows'} ({MISSING_RULE}); "
        "fill them in, remove the rows, or sum them out with --missing ignore"
    )


def encode_rows(table: RawTable, columns: Sequence[Column], missing: str = "error") -> Tensor:
    """Encode the columns with these names, in this order, as (N, D); with `missing` ignore, missing cells are NaN.

    Raises: ShapeError for a missing column; ValueRangeError for a missing cell with `missing` error, an unknown
    category or a number out of range; DataTypeError for text in a number column; UnknownNameError.
    """
    check_name("way to treat missing values", missing, MISSING)
    chosen = table.select([column.name for column in columns])
    codes = np.stack(
        [column.encode(cells, table.where, table.lines) for column, cells in zip(columns, chosen.columns, strict=True)],
        axis=1,
    )
    gone = np.isnan(codes)
    if missing == "error" and gone.any():
        row, at = (int(i) for i in np.argwhere(gone)[0])
        raise ValueRangeError(
            f"{table.where}: column {columns[at].name!r} has no value in {row_words(row, table.lines)}, and "
            f"{_missing_text(gone)}"
        )
    rows = torch.from_numpy(codes)
    has_reals = any(not column.input_spec().is_discrete for column in columns)
    return rows if has_reals or gone.any() else rows.long()


def log_scales(columns: Sequence[Column], density: Tensor) -> Tensor:
    """Return the difference (N,) between the log-density of codes and the log-density of their cells, as doubles.

    `density` (N, D) marks the cells with a density: where a cell is missing, its column has no part in it.
    """
    scales = torch.tensor([column.log_scale for column in columns], dtype=torch.float64, device=density.device)
    return (density * scales).sum(1)


# --------------------------------------------------------------------- doubtful columns


def notes_on(data: TableData, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each column with a doubtful inferred type; `known` columns have a type by request.

    Noted are dates as categories, categories that mostly occur once, and integers that count the rows.
    """
    codes = torch.cat([data.training, data.held_out]).double().numpy()
    found = [_note(column, codes[:, at]) for at, column in enumerate(data.columns) if column.name not in known]
    return tuple(note for note in found if note)


def note_on_missing(columns: Sequence[Column], rows: Tensor) -> str:
    """Return how many cells of rows (N, D) of codes are missing in which columns, and why; empty if none is."""
    gone = rows.isnan()
    counts = {column.name: count for column, count in zip(columns, gone.sum(0).tolist(), strict=True) if count}
    if not counts:
        return ""
    most = sorted(counts.items(), key=lambda item: -item[1])  # of equal counts, the first columns
    named = ", ".join(f"{listed([name])} {count:,}" for name, count in most[:MAX_NAMED])
    more = f", and {len(most) - MAX_NAMED:,} more" if len(most) > MAX_NAMED else ""
    total = sum(counts.values())
    return (
        f"{total:,} of {gone.numel():,} cells {'is' if total == 1 else 'are'} missing and summed out: {named}{more}; "
        f"{MISSING_RULE}; a value that is written so, such as a country code, needs another spelling"
    )


def _note(column: Column, codes: Codes) -> str:
    codes = codes[np.isfinite(codes)]
    if isinstance(column, CategoricalColumn):
        return _note_on_categories(column, len(codes))
    if _counts_rows(column, codes):
        return (
            f"column {column.name!r} counts the rows: each of {len(codes):,} integers in a row occurs once; "
            f"leave it out with {declaration(column.name, 'ignore')}"
        )
    return ""


def _note_on_categories(column: CategoricalColumn, rows: int) -> str:
    count, name = len(column.labels), column.name
    if count >= MIN_VALUES and all(DATE.fullmatch(label) for label in column.labels):
        return (
            f"column {name!r} has dates, such as {column.labels[0]}, which became {count:,} categories without an "
            f"order; leave it out with {declaration(name, 'ignore')}, or write it as numbers"
        )
    if count >= MIN_VALUES and 2 * count > rows:
        return (
            f"column {name!r} became {count:,} categories for {rows:,} rows, so most of them occur once; "
            f"leave it out with {declaration(name, 'ignore')} if it only identifies the rows"
        )
    return ""


def _counts_rows(column: Column, codes: Codes) -> bool:
    """Whether each of the integers between the smallest and the largest one occurs once."""
    is_integer = isinstance(column, BinomialColumn) or (isinstance(column, GaussianColumn) and column.is_integer)
    if not is_integer or len(codes) < MIN_VALUES:
        return False
    steps = np.diff(np.sort(codes)) * column.unit
    return bool(np.allclose(steps, 1.0, rtol=0, atol=1e-6))
