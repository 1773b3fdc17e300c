"""Rows of pixels as one PNG image: a grid of pictures, written without other packages."""

import math
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

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
    return _png(page.repeat(zoom, 0).repeat(zoom, 1))


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of pixels (H, W, C), one or three channels. Source: ISO/IEC 15948, Portable Network Graphics."""
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    lines = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
