"""A table as training data: its rows, encoded by its columns, with a fixed split."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.errors import DataTypeError, ValueRangeError, check_name
from explorer.learning.data import DataSet, split
from explorer.learning.tables.columns import Column, row_words
from explorer.learning.tables.inference import infer_columns
from explorer.learning.tables.reading import MISSING_RULE, RawTable, cells_text, read_table

MISSING = ("error", "ignore")
"""Treatment of missing cells: refuse them, or sum them out."""


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

    `kinds` overrides inferred kinds by name of the column. `missing` is that of `encode_rows`.
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

    `density` (N, D) says of which cells it is the density: where a cell is missing, its column has no part in it.
    """
    scales = torch.tensor([column.log_scale for column in columns], dtype=torch.float64, device=density.device)
    return (density * scales).sum(1)
