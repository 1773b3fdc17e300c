"""A table as training data: its rows, encoded by its columns, with a fixed split."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from explorer.errors import ValueRangeError
from explorer.learning.data import DataSet, split
from explorer.learning.tables.columns import Column
from explorer.learning.tables.inference import infer_columns
from explorer.learning.tables.reading import RawTable, read_table


@dataclass(frozen=True, eq=False)
class TableData(DataSet):
    """Rows (N, D) of the codes of a table: int64 if all columns are discrete, else float64."""

    columns: tuple[Column, ...]

    @property
    def log_scale(self) -> float:
        """What the log-density of a row of cells is smaller than that of its codes by."""
        return sum(column.log_scale for column in self.columns)


def load_table(
    path: "str | Path", kinds: Mapping[str, str] | None = None, columns: Sequence[Column] | None = None
) -> TableData:
    """Read a table, infer its columns unless they are known, encode it, and hold out every fifth row.

    `kinds` overrides inferred kinds by name of the column.

    Raises: the errors of `read_table`, `infer_columns` and `encode_rows`; ShapeError for fewer than five rows.
    """
    table = read_table(path)
    known = tuple(columns) if columns is not None else infer_columns(table, kinds)
    training, held_out = split(encode_rows(table, known))
    return TableData(str(path), training, held_out, known)


def encode_rows(table: RawTable, columns: Sequence[Column]) -> Tensor:
    """The codes (N, D) of the columns with these names, in this order.

    Raises: ShapeError for a missing column; ValueRangeError for a missing cell, an unknown category or a number out of
    range; DataTypeError for text in a number column.
    """
    chosen = table.select([column.name for column in columns])
    codes = np.stack(
        [column.encode(cells, table.where) for column, cells in zip(columns, chosen.columns, strict=True)], axis=1
    )
    missing = np.isnan(codes)
    if missing.any():
        row, at = (int(i) for i in np.argwhere(missing)[0])
        raise ValueRangeError(
            f"{table.where}: column {columns[at].name!r} has no value in row {row + 1}, and {int(missing.sum()):,} "
            f"cells are missing in {int(missing.any(1).sum()):,} of {len(codes):,} rows; fill them in, or remove the "
            "rows"
        )
    rows = torch.from_numpy(codes)
    return rows if any(not column.input_spec().is_discrete for column in columns) else rows.long()
