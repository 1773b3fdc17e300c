"""The pad of an image circuit: its observed pixels, and the images of an answer."""

from collections.abc import Mapping, Sequence

from explorer.views.closeup.glyphs import digits_on
from explorer.views.index import TraceIndex
from explorer.views.plates.cells import grid_of
from widgets.schema import VERSION, ImageView, QueryView

Rows = Sequence[tuple[str, Sequence[float]]]
"""Rows (D,) with their names."""


def query_view(
    index: TraceIndex,
    x: Sequence[float],
    observed: Sequence[bool],
    *,
    most: float,
    step: float = 1.0,
    number: int = 0,
    answers: Rows = (),
    note: str = "",
    chosen: int = 0,
) -> QueryView | None:
    """Return the pad with the observed entries of x (D,), and rows (D,) as images; None unless variables are pixels.

    `most` is the largest value of a pixel, `step` the smallest difference of two; `number` that of the evidence that
    the rows answer, `chosen` the position of the chosen row.
    """
    grid = grid_of(index)
    if grid is None or grid.height < 2:
        return None
    digits: Mapping[str, Sequence[float]] = {name: (pixels * most).tolist() for name, pixels in digits_on(grid).items()}
    return {
        "version": VERSION,
        "image": [grid.channels, grid.height, grid.width],
        "most": most,
        "step": step,
        "examples": _images(list(digits.items())),
        "x": [float(value) for value in x],
        "observed": [int(known) for known in observed],
        "n": number,
        "answers": _images(answers),
        "note": note,
        "chosen": chosen,
    }


def _images(rows: Rows) -> list[ImageView]:
    return [{"label": label, "x": [float(f"{value:.4g}") for value in row]} for label, row in rows]
