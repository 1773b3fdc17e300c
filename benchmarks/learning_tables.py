"""The tables of `bench learning`, that scikit-learn and statsmodels ship, as CSV files with a fixed split."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.files import replace_file
from explorer.packages import is_installed

MAX_ROWS = 5_000
"""Maximum number of rows of a table; of a longer one, rows are drawn."""
MAX_CATEGORIES = 20
"""A column of at most as many different values is categorical, for all models alike: its density would be a spike."""

SOURCES = {"sklearn": "scikit-learn", "statsmodels": "statsmodels"}
"""The modules that ship tables, and the packages to install."""
TABLES: Mapping[str, str] = {
    "iris": "sklearn",
    "wine": "sklearn",
    "breast_cancer": "sklearn",
    "diabetes": "sklearn",
    "macrodata": "statsmodels",
    "star98": "statsmodels",
    "modechoice": "statsmodels",
    "anes96": "statsmodels",
    "fair": "statsmodels",
    "randhie": "statsmodels",
}
"""The modules by table. Of statsmodels, these are the tables of more than 200 rows and at least nine columns."""


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """A table as a file, of which `train` holds out every fifth row; the kinds of its columns by name."""

    name: str
    file: Path
    kinds: Mapping[str, str]


def is_shipped(name: str) -> bool:
    """Whether the package with this table is installed."""
    return is_installed(TABLES[name])


def write_table(name: str, folder: Path, seed: int = 0) -> WrittenTable:
    """Write a table with its rows in the random order of a seed, which decides the rows that are held out."""
    columns = _columns_of(name)
    order = np.random.default_rng(seed).permutation(len(next(iter(columns.values()))))[:MAX_ROWS]
    columns = {key: values[order] for key, values in columns.items() if len(np.unique(values[order])) > 1}
    kinds = {
        key: "categorical" if len(np.unique(values)) <= MAX_CATEGORIES else "gaussian"
        for key, values in columns.items()
    }
    file, out = folder / f"{name}.csv", StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    replace_file(file, out.getvalue().encode())
    return WrittenTable(name, file, kinds)


def _columns_of(name: str) -> dict[str, NDArray[Any]]:
    shipped: Any = import_module(f"{TABLES[name]}.datasets")
    if TABLES[name] == "sklearn":
        data = getattr(shipped, f"load_{name}")().data
        return {f"x{at}": np.asarray(column) for at, column in enumerate(data.T)}
    frame = getattr(shipped, name).load_pandas().data
    return {str(key): np.asarray(frame[key]) for key in frame.columns}
