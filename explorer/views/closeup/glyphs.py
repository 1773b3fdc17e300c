"""Inputs to pick: digits drawn on the grid of an image."""

import numpy as np
from numpy.typing import NDArray

from explorer.views.plates.geometry import Grid

GLYPHS = {
    "0": (".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."),
    "1": ("..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."),
    "3": ("####.", "....#", "....#", ".###.", "....#", "....#", "####."),
    "7": ("#####", "....#", "...#.", "...#.", "..#..", "..#..", "..#.."),
}
"""Digits of 5 x 7 pixels."""
HEIGHT, WIDTH = 7, 5


def digits_on(grid: Grid) -> dict[str, NDArray[np.float64]]:
    """Return digits of 0 and 1 on the pixels of a grid, by name; none if they have no room."""
    scale = min(grid.height // HEIGHT, grid.width // WIDTH)
    if not scale:
        return {}
    top, left = (grid.height - scale * HEIGHT) // 2, (grid.width - scale * WIDTH) // 2
    found: dict[str, NDArray[np.float64]] = {}
    for name, rows in GLYPHS.items():
        glyph = np.kron([[float(pixel == "#") for pixel in row] for row in rows], np.ones((scale, scale)))
        image = np.zeros((grid.channels, grid.height, grid.width))
        image[:, top : top + scale * HEIGHT, left : left + scale * WIDTH] = glyph
        found[name] = image.ravel()
    return found
