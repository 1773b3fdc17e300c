"""Infers the type of each column of a table from its cells."""

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from explorer.errors import DataTypeError, ShapeError, ValueRangeError, check_type, unknown_name
from explorer.learning.tables.columns import (
    EXACT_INTEGERS,
    MISSING,
    BinomialColumn,
    CategoricalColumn,
    Cells,
    Column,
    GaussianColumn,
    check_kind,
    declaration,
    labels_of,
    number_of,
    numbers_of,
)
from explorer.learning.tables.reading import RawTable

MAX_INTEGER_CATEGORIES = 20
"""Maximum number of distinct values of a column of integers that is categorical."""
MAX_CATEGORIES = 1000
IDENTIFIERS = 100
"""A column of strings with more distinct values than this, most occurring once, is one of identifiers."""
MAX_ERRORS = 5
"""Maximum number of columns that one error describes."""
WITH_COMMA = re.compile(r"[+-]?\d+(,\d+)+")


def infer_columns(table: RawTable, kinds: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """Infer the columns of a table; `kinds` overrides the kind by name: categorical, binomial, gaussian or ignore.

    Text is categorical. So are integers with at most 20 distinct values; all other numbers are Gaussian, as a binomial
    has too small a variance for most integers. A column with one value is categorical.
    Raises: UnknownNameError for a column or a kind; DataTypeError for text among numbers; ValueRangeError for too many
    categories, numbers with a comma, or values that do not fit an overridden kind; ShapeError if no column is left. One
    error describes all columns that do not fit.
    """
    check_type("the table", table, RawTable, "read it with read_table")
    kinds = kinds or {}
    for name, kind in kinds.items():
        if name not in table.names:
            raise unknown_name("column", name, table.names)
        check_kind(kind)
    columns: list[Column] = []
    errors: list[DataTypeError | ValueRangeError] = []
    for name, cells in zip(table.names, table.columns, strict=True):
        if kinds.get(name) != "ignore":
            try:
                columns.append(_column(table, name, cells, kinds.get(name)))
            except (DataTypeError, ValueRangeError) as error:
                errors.append(error)
    if errors:
        raise _all_of(errors, table.where)
    if not columns:
        raise ShapeError(f"{table.where}: every column is ignored; keep at least one")
    return tuple(columns)


def _all_of(errors: Sequence[DataTypeError | ValueRangeError], where: str) -> DataTypeError | ValueRangeError:
    """Make one error of the errors of several columns, so that all of them can be corrected at once."""
    if len(errors) == 1:
        return errors[0]
    shown = "; also, ".join([str(errors[0]), *(str(one).removeprefix(f"{where}: ") for one in errors[1:MAX_ERRORS])])
    hidden = len(errors) - MAX_ERRORS
    return type(errors[0])(shown + (f"; and {hidden:,} more columns cannot be used" if hidden > 0 else ""))


def _column(table: RawTable, name: str, cells: Cells, kind: str | None) -> Column:
    if kind is None:
        kind = _infer_kind(cells)
        if kind == "categorical":
            _check_commas(table, name, cells)
    if kind == "categorical":
        return _categorical(table, name, cells)
    numbers = numbers_of(cells, name, table.where, table.lines)
    present = numbers[np.isfinite(numbers)]
    if not len(present):
        raise ValueRangeError(f"{table.where}: column {name!r} has no values; use {declaration(name, 'ignore')}")
    if kind == "binomial":
        if (present != np.floor(present)).any():
            raise DataTypeError(f"{table.where}: column {name!r} has fractions, which a binomial column cannot have")
        return BinomialColumn(name, int(present.min()), int(present.max()))
    exponent = math.frexp(float(np.abs(present).max()))[1]
    present = np.ldexp(present, -exponent)  # exact; the square of 1e-300 would be 0, of 1e300 infinite
    scale = math.ldexp(float(present.std()), exponent)
    if not scale > 0:
        raise ValueRangeError(
            f"{table.where}: column {name!r} is constant; use {declaration(name, 'categorical')} or =ignore"
        )
    whole = numbers[np.isfinite(numbers)]
    is_integer = bool((whole % 1 == 0).all() and (np.abs(whole) <= EXACT_INTEGERS).all())
    return GaussianColumn(name, math.ldexp(float(present.mean()), exponent), scale, is_integer)


def _infer_kind(cells: Cells) -> str:
    if cells.dtype == object:
        found = [number_of(cell) for cell in cells if cell is not None]
        texts = sum(number is None for number in found)
        if 2 * texts >= len(found):  # where most cells are numbers, the texts among them are errors
            return "categorical"
        if texts:
            return "gaussian"
        numbers = np.array(found, dtype=np.float64)
    else:
        numbers = cells[~np.isnan(cells)]
    if np.isinf(numbers).any():
        return "gaussian"  # which refuses it
    distinct = np.unique(numbers)
    if len(distinct) <= 1:
        return "categorical"
    if (distinct != np.floor(distinct)).any():
        return "gaussian"
    return "categorical" if len(distinct) <= MAX_INTEGER_CATEGORIES else "gaussian"


def _check_commas(table: RawTable, name: str, cells: Cells) -> None:
    """Raises: ValueRangeError for numbers such as 4,918: as categories, they would lose their order."""
    texts = [text for text in labels_of(cells) if text != MISSING and number_of(text) is None]
    if texts and all(WITH_COMMA.fullmatch(text) for text in texts):
        raise ValueRangeError(
            f"{table.where}: column {name!r} has numbers with a comma, such as {str(texts[0])!r}; write them with a "
            f"decimal point only, or declare the column with {declaration(name, 'categorical')}"
        )


def _categorical(table: RawTable, name: str, cells: Cells) -> CategoricalColumn:
    labels = [str(label) for label in np.unique(labels_of(cells)) if label != MISSING]
    count, rows = len(labels), len(cells)
    if not labels:
        raise ValueRangeError(f"{table.where}: column {name!r} has no values; use {declaration(name, 'ignore')}")
    if count > MAX_CATEGORIES or (count > IDENTIFIERS and 2 * count > rows):
        raise ValueRangeError(
            f"{table.where}: column {name!r} has {count:,} different values in {rows:,} rows, too many for categories "
            f"(is it a name, an identifier or a date?); leave it out with {declaration(name, 'ignore')}"
        )
    return CategoricalColumn(name, tuple(sorted(labels, key=_order)))


def _order(label: str) -> tuple[bool, float, str]:
    """Numbers first, ascending, then other labels."""
    number = number_of(label)
    return (number is None, number if number is not None and not math.isnan(number) else 0.0, label)
