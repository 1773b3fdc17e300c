"""Finds the data that a command names: a data set that ships with a package, or the user's own file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from explorer.errors import LearningError, unknown_name
from explorer.learning.data import DATA_SETS, DataSet
from explorer.learning.tables import Column, load_table
from explorer.learning.tables.reading import READERS


def load_source(
    name_or_path: str,
    kinds: Mapping[str, str] | None = None,
    columns: Sequence[Column] | None = None,
    missing: str = "error",
) -> DataSet:
    """The data set of this name, or the table in this file; nothing is downloaded.

    `kinds` overrides the inferred kinds of columns of a table, by name; `columns` are known columns, which are not
    inferred; `missing` is that of `encode_rows`.
    Raises: UnknownNameError if it is neither; LearningError for kinds of columns without a table; the errors of
    `load_table`.
    """
    if name_or_path in DATA_SETS:
        if kinds:
            raise LearningError(f"{name_or_path} has no columns to override; leave out --column")
        return DATA_SETS[name_or_path]()
    if Path(name_or_path).exists():
        return load_table(name_or_path, kinds, columns, missing)
    known = [*DATA_SETS, *(f"a file FILE{extension}" for extension in READERS)]
    raise unknown_name("data set", name_or_path, known)
