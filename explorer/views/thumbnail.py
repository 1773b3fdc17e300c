"""A small drawing of the plates after a step, without words, as SVG paths."""

from math import sqrt

from explorer.views.index import TraceIndex
from explorer.views.plates.drawing import stage_of
from explorer.views.plates.layout import Placed, Stage
from explorer_widgets.schema import ThumbnailPlateView, ThumbnailView

WIDTH, HEIGHT = 240.0, 150.0
SIDE, GAP, SMALLER = 46.0, 7.0, 0.85
"""The longest side of a plate and the gap between two, in pixels; both shrink by a factor until all plates fit."""
MAX_CELLS, MAX_ACROSS, MAX_ACROSS_OF_MANY, MANY = 64, 8, 4, 12
"""Maximum number of cells across the grid of a plate with more cells; fewer if there are many plates."""


def thumbnail(index: TraceIndex, step: int) -> ThumbnailView:
    """Return the plates after a step in the order in which they run, wrapped like lines of text."""
    stage = stage_of(index, step)
    size = 1.0
    while (drawn := _wrapped(stage, size))["height"] > HEIGHT:
        size *= SMALLER
    return drawn


def _wrapped(stage: Stage, size: float) -> ThumbnailView:
    """Return the plates of a stage, smaller by a factor."""
    scale = size * SIDE / max(max(one.shape.width, one.shape.height) for one in stage.placed)
    gap = size * GAP
    across = MAX_ACROSS_OF_MANY if len(stage.placed) > MANY else MAX_ACROSS
    left = top = line_height = right = 0.0
    plates: list[ThumbnailPlateView] = []
    for one in stage.placed:
        own_width = one.shape.width * scale
        if left and left + own_width > WIDTH:
            left, top, line_height = 0.0, top + line_height + gap, 0.0
        plates.append(
            {
                "kind": one.plate.record.kind,
                "folded": one.plate.num_calls < len(one.plate.cells),
                "path": _path(one, left, top, scale, across),
            }
        )
        line_height = max(line_height, one.shape.height * scale)
        right, left = max(right, left + own_width), left + own_width + gap
    return {"width": round(right, 1), "height": round(top + line_height, 1), "plates": plates}


def _path(one: Placed, left: float, top: float, scale: float, across: int) -> str:
    """Return the path of a plate: one area if it is one call, otherwise its cells."""
    width, height = one.shape.width * scale, one.shape.height * scale
    if one.plate.num_calls == 1:
        return _rectangle(left, top, width, height)
    cells = one.shape.places
    if len(cells) <= MAX_CELLS:
        unit = [size * scale for size in one.shape.unit]
        rectangles = [(x * unit[0], y * unit[1], w * unit[0], h * unit[1]) for x, y, w, h in cells]
    else:
        columns = max(1, min(across, round(sqrt(len(cells) * width / height))))
        rows = max(1, min(across, round(sqrt(len(cells) * height / width))))
        cell = (width / columns, height / rows)
        rectangles = [(x * cell[0], y * cell[1], *cell) for y in range(rows) for x in range(columns)]
    gap = min(1.4, min(min(w, h) for _, _, w, h in rectangles) / 4)
    return "".join(_rectangle(left + x + gap / 2, top + y + gap / 2, w - gap, h - gap) for x, y, w, h in rectangles)


def _rectangle(left: float, top: float, width: float, height: float) -> str:
    x, y, w, h = (f"{round(number, 1):g}" for number in (left, top, width, height))
    return f"M{x} {y}h{w}v{h}h-{w}z"
