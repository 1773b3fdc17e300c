"""Positions of variables: the pixels of an image, a line, or nowhere in particular; read from the scopes of the layers.

A circuit does not say that its variables are pixels, so the grid is inferred: on the right one, every scope is a
rectangle. Variables are in the order of an image tensor, (channels, height, width) with the width fastest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import isqrt

Scope = int
"""The variables of a layer, as bits: variable v is the bit 1 << v."""

MAX_CHANNELS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """Variables as a tensor of the shape (channels, height, width); a line has the height 1."""

    channels: int
    height: int
    width: int

    @property
    def size(self) -> int:
        """The number of variables."""
        return self.channels * self.height * self.width

    @property
    def shape(self) -> list[int]:
        """Channels, height and width."""
        return [self.channels, self.height, self.width]

    def fill(self, row: Iterable[float]) -> list[float]:
        """Return a row with 0 for each of the last variables that it lacks."""
        found = list(row)
        return found + [0.0] * (self.size - len(found))

    def region(self, scope: Scope) -> "Region | None":
        """Return the rectangle of a scope; None if it is not a rectangle, the same one in all its channels.

        The first variable of a rectangle is its upper left corner, the last one its lower right corner.
        """
        pixels = self.height * self.width
        first, last = (scope & -scope).bit_length() - 1, scope.bit_length() - 1
        (first_channel, corner), (last_channel, other) = divmod(first, pixels), divmod(last, pixels)
        (top, left), (bottom, right) = divmod(corner, self.width), divmod(other, self.width)
        if left > right or top > bottom:
            return None
        row = (1 << (right - left + 1)) - 1
        image = row * repeated(bottom - top + 1, self.width)
        whole = image * repeated(last_channel - first_channel + 1, pixels)
        if scope != whole << first:
            return None
        return Region(first_channel, last_channel + 1, left, top, right + 1, bottom + 1)


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle of pixels, `left <= x < right`, `top <= y < bottom`, in `first_channel <= c < end_channel`."""

    first_channel: int
    end_channel: int
    left: int
    top: int
    right: int
    bottom: int


@cache
def repeated(count: int, distance: int) -> int:
    """Return `count` bits at this distance from each other."""
    if count <= 1:
        return count
    half = repeated(count // 2, distance)
    both = half | half << (distance * (count // 2))
    return both if count % 2 == 0 else both | 1 << (distance * (count - 1))


def infer_grid(scopes: Sequence[Scope], num_variables: int) -> Grid | None:
    """Return the grid on which all scopes are rectangles, with the fewest channels; None if there is none.

    A line is preferred, since on it fewer sets of variables are rectangles; among images the one nearest to a square.
    Scopes of one variable, or of all, are rectangles on every grid and say nothing: without others there is no grid.
    """
    telling = [scope for scope in scopes if 1 < scope.bit_count() < num_variables]
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
