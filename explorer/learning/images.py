"""Reads images of the user as rows of grey levels: a folder of image files, or a stack of images in a .npy file."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from explorer.errors import DataTypeError, FileFormatError, MissingPackageError, ShapeError, ValueRangeError
from explorer.learning.data import ImageData, split
from explorer.learning.tables.reading import load_array

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
    """How many images were converted or lost their transparency; empty if none did.

    `modes` counts the images of each mode; its first one is that of the first image.
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
    """How many images of a mode, in words."""
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
