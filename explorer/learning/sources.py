"""Data by name: a data set that ships with a package, or the user's own table, folder or stack of images."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from explorer.errors import (
    DataTypeError,
    FileFormatError,
    LearningError,
    MissingPackageError,
    ShapeError,
    UnknownNameError,
    ValueRangeError,
    listed,
    unknown_name,
)
from explorer.learning.data import DATA_SETS, DataSet, ImageData, split
from explorer.learning.tables import Column, load_table
from explorer.learning.tables.reading import READERS, load_array

EXTENSIONS = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
LEVELS = 256
MAX_LEVELS = 65536
LOSSLESS = {"L": ("L", "1"), "RGB": ("RGB", "P")}
"""For each mode that images are read in, the modes that are converted to it without loss."""
MODE_WORDS = {"1": "black and white", "L": "grey", "P": "palette", "RGB": "coloured"}


def load_folder(folder: "str | Path") -> ImageData:
    """Read the images in a folder and its folders, in the order of their paths, with 256 levels; every fifth held out.

    Grey images have one channel; if the first one is coloured, all have three. They must have one size. Images of
    another kind than the first one are converted, and transparency is dropped; the note of the data says so.
    Raises: MissingPackageError with the command that installs Pillow; ShapeError, FileFormatError, which name the file,
    the latter also for levels of more than 8 bits.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingPackageError(
            f"reading the images in {folder} needs Pillow, which is not installed; install it with: pip install pillow"
        ) from error
    files = image_files(folder)
    if not files:
        raise FileFormatError(f"{folder} contains no images ({', '.join(sorted(EXTENSIONS))})")
    rows: list[np.ndarray] = []
    target, size, modes, num_transparent = "", (0, 0), Counter[str](), 0
    for file in files:
        try:
            with Image.open(file) as image:
                mode = image.mode.rstrip("Aa")  # RGBA, LA and PA are RGB, L and P with transparency
                if mode == "F" or mode.startswith("I"):
                    raise FileFormatError(f"{file} has levels of more than 8 bits (mode {mode}); convert it to 8 bits")
                if not rows:
                    target, size = ("L" if mode in LOSSLESS["L"] else "RGB"), image.size
                pixels = np.asarray(image.convert(target)) if image.size == size else None
                found = image.size
                modes[mode] += 1
                num_transparent += mode != image.mode or "transparency" in image.info
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise FileFormatError(f"cannot read the image {file}: {error}") from error
        if pixels is None:
            raise ShapeError(
                f"{file} has {pixels_text(*reversed(found))}, {files[0]} has {pixels_text(*reversed(size))}; give all "
                "images one size"
            )
        rows.append(pixels if target == "L" else pixels.transpose(2, 0, 1))
    return _image_data(str(folder), np.stack(rows), LEVELS, _note(str(folder), target, modes, num_transparent))


def pixels_text(height: int, width: int) -> str:
    """The size of an image in words, everywhere in the order of the axes of arrays.

    >>> pixels_text(28, 20)
    '28 x 20 pixels (height x width)'
    """
    return f"{height} x {width} pixels (height x width)"


def _note(folder: str, target: str, modes: Mapping[str, int], num_transparent: int) -> str:
    """Say how many images were converted or lost their transparency; empty if none did.

    `modes` counts the images of each mode; its first mode is the first image's.
    """
    total, sentences = sum(modes.values()), list[str]()
    converted = {mode: count for mode, count in modes.items() if mode not in LOSSLESS[target]}
    if converted:
        kinds = " and ".join(_images_text(count, mode) for mode, count in converted.items())
        were = "was" if sum(converted.values()) == 1 else "were"
        name = "grey levels" if target == "L" else "RGB"
        as_first = ", as the first one is" if next(iter(modes)) == target else ""
        stored = "all in one mode" if len(modes) > 1 else f"as {name}"
        sentences.append(
            f"Of {total:,} images in {folder}, {kinds} {were} converted to {name}{as_first}; store them {stored} if "
            "this is not meant"
        )
    if num_transparent:
        sentences.append(
            f"The transparency of {num_transparent:,} of {total:,} images in {folder} was dropped; store them without "
            "transparency if it is meant to be seen"
        )
    return ". ".join(sentences)


def _images_text(count: int, mode: str) -> str:
    """Return the number of images of a mode, in words."""
    if mode not in MODE_WORDS:
        return f"{count:,} of mode {mode}"
    return f"{count:,} {MODE_WORDS[mode]} {'one' if count == 1 else 'ones'}"


def image_files(folder: "str | Path") -> list[Path]:
    """The files of images in a folder and its folders, in the order of their paths."""
    return sorted(file for file in Path(folder).rglob("*") if file.suffix.lower() in EXTENSIONS and file.is_file())


def load_stack(file: "str | Path") -> ImageData:
    """Read the images in a .npy file, integers (N, H, W) or (N, C, H, W); the levels are 0 to the largest value.

    Raises: FileFormatError; ShapeError, DataTypeError, ValueRangeError for other arrays.
    """
    stack = load_array(Path(file))
    if stack.ndim not in (3, 4) or 0 in stack.shape:
        raise ShapeError(f"{file}: images are an array (N, H, W) or (N, C, H, W); found shape {stack.shape}")
    if stack.dtype.kind not in "bui":
        raise DataTypeError(
            f"{file}: levels of pixels are integers; found {stack.dtype}: round them, such as to 0 .. 255"
        )
    if stack.min() < 0 or stack.max() >= MAX_LEVELS:
        raise ValueRangeError(
            f"{file}: levels of pixels are 0 to {MAX_LEVELS - 1}; found {stack.min()} to {stack.max()}"
        )
    return _image_data(str(file), stack, int(stack.max()) + 1)


def is_stack(file: Path) -> bool:
    """Whether a .npy file has images rather than a table: more than two axes."""
    return file.suffix.lower() == ".npy" and file.is_file() and load_array(file).ndim > 2


def _image_data(name: str, images: np.ndarray, num_values: int, note: str = "") -> ImageData:
    """Images (N, H, W) or (N, C, H, W) as data."""
    shape = (1, *images.shape[1:]) if images.ndim == 3 else images.shape[1:]
    rows = torch.from_numpy(images.reshape(len(images), -1).astype(np.int64))
    channels, height, width = shape
    return ImageData(name, *split(rows), num_values, (int(channels), int(height), int(width)), note)


def load_source(
    name_or_path: str,
    kinds: Mapping[str, str] | None = None,
    columns: Sequence[Column] | None = None,
    missing: str = "error",
    check_width: Callable[[int], None] = lambda num_columns: None,
) -> DataSet:
    """Load the data set of this name, or the table or the images in this file or folder; nothing is downloaded.

    `kinds` overrides the inferred kinds of columns of a table, by name; `columns` are known columns, which are not
    inferred; `missing` is passed to `encode_rows`, `check_width` to `load_table`.
    Raises: UnknownNameError if it is neither; LearningError for kinds of columns without a table; the errors of
    `load_table`, `load_folder` and `load_stack`.
    """
    path = Path(name_or_path)
    images = DATA_SETS.get(name_or_path)
    if images is None and not path.exists():
        if path.suffix in READERS:
            raise UnknownNameError(f"there is no file {path.absolute()}; name the file with --data")
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
