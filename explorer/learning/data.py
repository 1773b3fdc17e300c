"""Data sets by name, with a fixed split into training and held-out images."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from explorer.errors import ShapeError, check_type
from explorer.learning.workers import digest_of
from explorer.packages import require

HELD_OUT_EVERY = 5
"""Every fifth image is held out: those at positions 4, 9, 14, ..."""
DIGITS_FILE = "datasets/data/digits.csv.gz"
"""The file of the digits in scikit-learn."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows (N, D) for training and held-out ones. Raises: DataTypeError, ShapeError."""

    name: str
    training: Tensor
    held_out: Tensor

    def __post_init__(self) -> None:
        for name in ("training", "held_out"):
            rows = getattr(self, name)
            check_type(f"the {name} rows of {self.name}", rows, Tensor)
            if rows.dim() != 2 or rows.shape[1] != self.training.shape[1]:
                raise ShapeError(
                    f"the {name} rows of {self.name} must have the shape (N, D), with one D; found {tuple(rows.shape)}"
                )

    @property
    def num_variables(self) -> int:
        """D, the number of columns or pixels."""
        return self.training.shape[1]

    @cached_property
    def digest(self) -> str:
        """The same for all data with these rows."""
        return digest_of((self.training, self.held_out))


@dataclass(frozen=True, eq=False)
class ImageData(DataSet):
    """Images as rows (N, D) of grey levels 0 .. num_values-1, int64; `shape` is (C, H, W).

    `note` says which of them were converted; empty if none was.
    """

    num_values: int
    shape: tuple[int, int, int]
    note: str = ""


def load_digits() -> ImageData:
    """The 1,797 handwritten digits of scikit-learn, 8x8 pixels of 17 grey levels: 1,438 for training, 359 held out.

    The images are ordered by writer, and every fifth one is held out, so each writer occurs on both sides.
    Raises: MissingPackageError with the command that installs scikit-learn, if it is missing.
    Source: Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits.
    """
    training, held_out = split(torch.from_numpy(_images_of_digits()))
    return ImageData("digits", training, held_out, 17, (1, 8, 8))


def _images_of_digits() -> npt.NDArray[np.int64]:
    """The images (1797, 64), read from the file of scikit-learn: importing it would take more than a second."""
    require("the data set digits", "digits", "sklearn")
    found = find_spec("sklearn")
    file = None if found is None or found.origin is None else Path(found.origin).parent / DIGITS_FILE
    if file is not None and file.is_file():
        return np.loadtxt(file, delimiter=",", dtype=np.int64)[:, :-1]  # the last column is the digit
    from sklearn.datasets import load_digits as load  # another version, with the file in another place

    return np.asarray(load(return_X_y=True)[0]).astype(np.int64)


DATA_SETS: Mapping[str, Callable[[], ImageData]] = MappingProxyType({"digits": load_digits})


def split(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Hold out every fifth row; returns training and held-out rows. Raises: ShapeError for fewer than five rows."""
    if len(rows) < HELD_OUT_EVERY:
        raise ShapeError(f"at least {HELD_OUT_EVERY} rows are needed to hold some out; found {len(rows)}")
    held_out = torch.arange(len(rows)) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
    return rows[~held_out].contiguous(), rows[held_out].contiguous()
