"""Finds the data that a command names: a data set that ships with a package, or the user's own file."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from explorer.errors import LearningError, UnknownNameError, listed, unknown_name
from explorer.learning.data import DATA_SETS, DataSet
from explorer.learning.images import EXTENSIONS, is_stack, load_folder, load_stack
from explorer.learning.tables import Column, load_table
from explorer.learning.tables.reading import READERS


def load_source(
    name_or_path: str,
    kinds: Mapping[str, str] | None = None,
    columns: Sequence[Column] | None = None,
    missing: str = "error",
    check_width: Callable[[int], None] = lambda num_columns: None,
) -> DataSet:
    """Load the data set of this name, or the table or the images in this file or folder; nothing is downloaded.

    `kinds` overrides the inferred kinds of columns of a table, by name; `columns` are known columns, which are not
    inferred; `missing` is that of `encode_rows`, `check_width` that of `load_table`.
    Raises: UnknownNameError if it is neither; LearningError for kinds of columns without a table; the errors of
    `load_table`, `load_folder` and `load_stack`.
    """
    path = Path(name_or_path)
    images = DATA_SETS.get(name_or_path)
    if images is None and not path.exists():
        if path.suffix in READERS:
            raise UnknownNameError(f"there is no file {name_or_path}")
        known = [*DATA_SETS, *(f"a file FILE{extension}" for extension in READERS), "a folder of images"]
        raise unknown_name("data set", name_or_path, known)
    if images is None and path.is_file() and path.suffix.lower() in EXTENSIONS:
        raise LearningError(f"{name_or_path} is a picture; a circuit is trained on a folder of images: --data FOLDER")
    if images is None and not path.is_dir() and not is_stack(path):
        return load_table(path, kinds, columns, missing, check_width)
    if columns:
        names = listed((column.name for column in columns), 4)
        raise LearningError(f"{name_or_path} has images; name a table, with the columns {names}")
    if kinds:
        raise LearningError(f"{name_or_path} has images, not columns; leave out --column, or name a table")
    if images is not None:
        return images()
    return load_folder(path) if path.is_dir() else load_stack(path)
