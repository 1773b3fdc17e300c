"""Pictures, bars and samples of images as PNG, without a browser."""

import math
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from explorer.packages import require
from explorer.views import Picture, bars_svg, static_svg
from explorer_widgets.encode import Png
from explorer_widgets.schema import BarsView

DENSITY = 2
"""Pixels of the image per CSS pixel, in each direction."""
FONT = "Inter"
"""Installed with the extra `ui`, so that an image is the same on every machine."""
SUBSTITUTES = str.maketrans({"✕": "✗"})
"""For signs that the font lacks."""


def picture_png(picture: Picture) -> Png:
    """Return the picture with its texts and legend, scaled to fit a page. Raises: MissingPackageError."""
    return _png(static_svg(picture, fit=True))


def bars_png(bars: BarsView) -> Png:
    """Return bars with their whiskers and values. Raises: MissingPackageError."""
    return _png(bars_svg(bars))


def _png(svg: str) -> Png:
    require("a PNG", "ui", "resvg_py", "fontpkg_inter")
    import fontpkg_inter
    import resvg_py

    data = resvg_py.svg_to_bytes(
        svg_string=svg.translate(SUBSTITUTES),
        zoom=DENSITY,
        skip_system_fonts=True,
        font_dirs=[str(fontpkg_inter.ROOT)],
        font_family=FONT,
        sans_serif_family=FONT,
    )
    width, height = struct.unpack(">II", data[16:24])  # the header of a PNG
    return Png(data, width // DENSITY, height // DENSITY)


# ---------------------------------------------------------------------- grids of samples


GAP = 1
"""Pixels between two pictures."""
MIN_SIDE = 64
"""Minimum width and height of a picture in pixels; the pixels of a smaller one are repeated."""


def grid_png(images: NDArray[np.float64]) -> bytes:
    """A PNG with a grid of images (N, C, H, W), values from 0 to 1, one or three channels."""
    count, channels, height, width = images.shape
    columns = max(1, math.ceil(math.sqrt(count)))
    rows = max(1, math.ceil(count / columns))
    shades = np.round(np.clip(images, 0, 1) * 255).astype(np.uint8).transpose(0, 2, 3, 1)
    page = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, channels), 255, dtype=np.uint8)
    for number in range(count):
        top, left = number // columns * (height + GAP), number % columns * (width + GAP)
        page[top : top + height, left : left + width] = shades[number]
    zoom = max(1, math.ceil(MIN_SIDE / max(height, width)))
    return _grid_bytes(page.repeat(zoom, 0).repeat(zoom, 1))


def _grid_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of pixels (H, W, C), one or three channels. Source: ISO/IEC 15948, Portable Network Graphics."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    lines = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
