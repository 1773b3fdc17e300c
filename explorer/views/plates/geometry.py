"""Where variables are: the pixels of an image, a line, or nowhere in particular; read from the scopes of the layers.

A circuit does not say that its variables are pixels, so the grid is inferred: on the right one, every scope is a
rectangle. Variables are in the order of an image tensor, (channels, height, width) with the width fastest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Scope = NDArray[np.intp]
"""The variables of a layer, ascending."""

MAX_CHANNELS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """Variables as a tensor of the shape (channels, height, width); a line has the height 1."""

    channels: int
    height: int
    width: int

    def region(self, scope: Scope) -> "Region | None":
        """Return the rectangle of a scope; None if it is not a rectangle, the same one in all its channels."""
        channel, pixel = np.divmod(scope, self.height * self.width)
        first, last = int(channel[0]), int(channel[-1])
        pixels = np.unique(pixel)
        y, x = np.divmod(pixels, self.width)
        left, right, top, bottom = int(x.min()), int(x.max()) + 1, int(y[0]), int(y[-1]) + 1
        area = (right - left) * (bottom - top)
        if len(pixels) != area or len(scope) != area * (last - first + 1):
            return None
        return Region(first, last + 1, left, top, right, bottom)


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of pixels, `left <= x < right`, `top <= y < bottom`, in `first_channel <= c < end_channel`."""

    first_channel: int
    end_channel: int
    left: int
    top: int
    right: int
    bottom: int


def infer_grid(scopes: Sequence[Scope], num_variables: int) -> Grid | None:
    """Return the grid on which all scopes are rectangles, with the fewest channels; None if there is none.

    A line is preferred, since on it fewer sets of variables are rectangles; among images the one nearest to a square.
    Scopes of one variable, or of all, are rectangles on every grid and say nothing: without others there is no grid.
    """
    telling = [scope for scope in scopes if 1 < len(scope) < num_variables]
    if not telling:
        return None
    return next((grid for grid in _grids(num_variables) if all(grid.region(scope) for scope in telling)), None)


def _grids(num_variables: int) -> Iterator[Grid]:
    yield Grid(1, 1, num_variables)
    for channels in range(1, MAX_CHANNELS + 1):
        pixels, rest = divmod(num_variables, channels)
        if rest:
            continue
        for height in range(isqrt(pixels), 1, -1):
            if pixels % height == 0:
                yield Grid(channels, height, pixels // height)
                if height * height != pixels:
                    yield Grid(channels, pixels // height, height)
