"""The Poon-Domingos region graph: all rectangles of an image, with all of their cuts."""

from collections import deque
from collections.abc import Sequence

from explorer.errors import ValueRangeError
from explorer.templates.regions.checks import ImageShape, check_image_shape
from explorer.templates.regions.image_grid import rectangle
from explorer.templates.regions.region_graph import RegionGraph, RegionGraphBuilder

Rectangle = tuple[int, int, int, int]


def poon_domingos(shape: ImageShape, *, delta: float | Sequence[float]) -> RegionGraph:
    """All rectangles between cuts of an image (C, H, W) at multiples of delta, with a partition for each cut inside.

    Several deltas are tried in turn: a rectangle uses the first with a cut inside it. Rectangles that no delta
    cuts are leaves. Not structured decomposable, unless there is only one cut.
    Raises: ShapeError; ValueRangeError unless every delta is at least one.
    Source: Poon and Domingos 2011, Sum-Product Networks: A New Deep Architecture.

    >>> g = poon_domingos((1, 8, 8), delta=1)
    >>> len(g.regions), len(g.partitions)
    (1296, 6048)
    """
    check_image_shape(shape)
    deltas = tuple(delta) if isinstance(delta, Sequence) else (delta,)
    if not deltas or any(step < 1 for step in deltas):
        raise ValueRangeError(f"delta must be one or more distances between cuts of at least 1; found {delta}")
    _, height, width = shape
    cuts = [(_cuts(height, step), _cuts(width, step)) for step in deltas]
    builder = RegionGraphBuilder()
    whole: Rectangle = (0, 0, height, width)
    ids: dict[Rectangle, int] = {whole: builder.region(rectangle(shape, *whole))}
    waiting = deque[Rectangle]([whole])
    while waiting:
        current = waiting.popleft()
        for pieces in _halves(current, cuts):
            for piece in pieces:
                if piece not in ids:
                    ids[piece] = builder.region(rectangle(shape, *piece))
                    waiting.append(piece)
            builder.split(ids[current], [ids[piece] for piece in pieces])
    return builder.build()


def _cuts(length: int, step: float) -> tuple[int, ...]:
    """The multiples of `step` inside an axis, rounded down."""
    return tuple(int(k * step) for k in range(1, int((length - 1) // step) + 1))


def _halves(piece: Rectangle, cuts: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[tuple[Rectangle, Rectangle]]:
    """All ways to cut a rectangle in two under the first delta that cuts it: rows first, then columns."""
    top, left, bottom, right = piece
    for rows, columns in cuts:
        found = [((top, left, i, right), (i, left, bottom, right)) for i in rows if top < i < bottom]
        found += [((top, left, bottom, j), (top, j, bottom, right)) for j in columns if left < j < right]
        if found:
            return found
    return []
