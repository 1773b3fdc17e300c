"""The pad of an image circuit: its observed pixels, and the images of an answer."""

from collections.abc import Mapping, Sequence

from explorer.views.closeup.values import digits_on
from explorer.views.index import TraceIndex
from explorer.views.plates.cells import image_of
from explorer.views.plates.geometry import Grid
from explorer_widgets.schema import VERSION, ImageView, QueryView

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

    D is the number of variables of the circuit after a step: the last pixels, which it may not read, are 0. `most` is
    the largest value of a pixel, `step` the smallest difference of two; `number` that of the evidence that the rows
    answer, `chosen` the position of the chosen row.
    """
    image = image_of(index, len(x))
    if image is None:
        return None
    digits: Mapping[str, Sequence[float]] = {
        name: (pixels * most).tolist() for name, pixels in digits_on(image).items()
    }
    return {
        "version": VERSION,
        "image": image.shape,
        "most": most,
        "step": step,
        "examples": _images(list(digits.items()), image),
        "x": image.fill(map(float, x)),
        "observed": [int(known) for known in observed] + [0] * (image.size - len(observed)),
        "n": number,
        "answers": _images(answers, image),
        "note": note,
        "chosen": chosen,
    }


def _images(rows: Rows, image: Grid) -> list[ImageView]:
    return [{"label": label, "x": image.fill(float(f"{value:.4g}") for value in row)} for label, row in rows]
