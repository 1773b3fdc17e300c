"""Surprises in a table: identifiers, dates and numbers of rows among its columns; missing cells."""

import re
from collections.abc import Collection, Sequence

import numpy as np
import torch
from torch import Tensor

from explorer.errors import listed
from explorer.learning.tables.columns import (
    BinomialColumn,
    CategoricalColumn,
    Codes,
    Column,
    GaussianColumn,
    declaration,
)
from explorer.learning.tables.reading import MISSING_RULE
from explorer.learning.tables.table import TableData

MIN_VALUES = 10
"""Columns of fewer different values are what they seem to be."""
MAX_NAMED = 6
"""Maximum number of columns with missing cells that a note names."""
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ].*)?")
"""2024-01-31, with or without a time, and 31.1.2024."""


def notes_on(data: TableData, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return a sentence for each column with a doubtful inferred type; `known` columns have a type by request.

    Noted are dates as categories, categories most of which occur once, and integers that count the rows.
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
    if not isinstance(column, BinomialColumn | GaussianColumn) or len(codes) < MIN_VALUES:
        return False
    scale = column.scale if isinstance(column, GaussianColumn) else 1.0
    steps = np.diff(np.sort(codes)) * scale
    return bool(np.allclose(steps, 1.0, rtol=0, atol=1e-6))
