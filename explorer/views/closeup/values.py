"""Values of a circuit on some inputs: outputs after each step, values of layers; digits to pick, and the pad."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.views.index import TraceIndex
from explorer.views.plates.cells import UNKNOWN, image_of, plates_of
from explorer.views.plates.geometry import Grid
from explorer.views.scopes import node_scopes, slice_scopes
from explorer.views.words import plural
from explorer_widgets.schema import VERSION, ImageView, LookView, QueryView, RunView, ValuesView

GLYPHS = {
    "0": (".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."),
    "1": ("..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."),
    "3": ("####.", "....#", "....#", ".###.", "....#", "....#", "####."),
    "7": ("#####", "....#", "...#.", "...#.", "..#..", "..#..", "..#.."),
}
"""Digits of 5 x 7 pixels."""
HEIGHT, WIDTH = 7, 5

DIGITS = {"float32": 5, "complex64": 5, "float64": 10, "complex128": 10}
"""Significant digits of an output by its dtype: those that do not depend on the order of sums."""
OTHER_DIGITS = 3

LOOKS: Sequence[LookView] = (
    *({"fill": f"heat-{percent}", "ink": f"onHeat-{percent}"} for percent in range(101)),
    {"fill": "box", "ink": "fg"},
)
"""The look of a cell for each percent of the scale, followed by that of a cell without a value."""

Rows = Sequence[tuple[str, Sequence[float]]]
"""Rows (D,) with their names."""


@dataclass(frozen=True, eq=False)
class Input:
    """A row (D,) with its name."""

    label: str
    x: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepRun:
    """Outputs of the circuit after a step for N inputs."""

    step: int
    outputs: NDArray[Any]
    """The first output (N,)."""
    layers: Mapping[int, NDArray[np.float64]]
    """For each node the logarithms (F, N) of its values, each the mean of its units."""
    differences: Sequence[tuple[float, float]]
    """For each input the distance of all outputs from the first step run, and the error that rounding allows."""
    num_outputs: int = 1


def no_values(missing: str, *, can_run: bool = False) -> ValuesView:
    """Return a view that says why there are no values; with `can_run` the reader can ask for them again."""
    return {
        "version": VERSION,
        "answer": 0,
        "missing": missing,
        "image": [],
        "most": 0,
        "paints": can_run,
        "runs": [],
        "steps": [],
        "looks": [],
        "scale": [],
        "note": "",
    }


def values_view(
    index: TraceIndex, inputs: Sequence[Input], found: Sequence[StepRun], *, most: float, paints: bool = False
) -> ValuesView:
    """Return the values of some inputs; `most` is the largest value of a variable.

    The last pixels of an image, which the circuit may not read, are 0.
    """
    image = image_of(index, len(inputs[0].x)) if inputs else None
    logs = _logs_of_cells(index, found)
    shares = {name: log / size for name, (log, size) in logs.items()}
    finite = [share[np.isfinite(share)] for share in shares.values()]
    known = np.concatenate(finite) if finite else np.zeros(0)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    rows = [one.x.tolist() if image is None else image.fill(one.x.tolist()) for one in inputs]
    runs = [
        _run_view(number, one.label, x, found, logs, low, high)
        for number, (one, x) in enumerate(zip(inputs, rows, strict=True))
    ]
    return {
        **no_values(""),
        "image": [] if image is None else image.shape,
        "most": most,
        "paints": paints,
        "runs": runs,
        "steps": [[str(run.step), index.step(run.step).at.words] for run in found],
        "looks": list(LOOKS),
        "scale": [f"{low:.3g}", f"{high:.3g}", "log-likelihood per variable (mean of the units)"],
        "note": _not_run(index, {run.step for run in found}),
    }


def _not_run(index: TraceIndex, ran: Container[int]) -> str:
    """Say which steps have no values, and why; empty if all have some."""
    skipped = [step.index for step in index.trace.steps if step.matters and step.index not in ran]
    operands = [step for step in skipped if step < index.trace.start - 1]
    large = skipped[len(operands) :]
    told = [f"Not run, because their circuits are combined later: {_span(operands)}."] if operands else []
    told += [f"Not run, because they have too many layers: {_span(large)}."] if large else []
    return " ".join(told)


def _span(steps: Sequence[int]) -> str:
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"


def _logs_of_cells(index: TraceIndex, found: Sequence[StepRun]) -> dict[str, tuple[NDArray[np.float64], int]]:
    """Return the logarithms (N,) of the value of each cell, and its number of variables."""
    logs: dict[str, tuple[NDArray[np.float64], int]] = {}
    for run in found:
        plates = plates_of(index, run.step)
        scopes = node_scopes(index, plates.layers)
        for plate in plates.plates:
            for at, cell in enumerate(plate.cells):
                node, number = (plate.node, at) if plate.node is not None else (cell.layer, 0)
                if node not in run.layers:
                    continue
                if cell.layer == UNKNOWN:
                    name, scope = f"{node}/{at}", slice_scopes(index, run.step)[node][at]
                else:
                    name, scope = str(cell.layer), scopes[cell.layer]
                logs[name] = (run.layers[node][number], max(1, scope.bit_count()))
    return logs


def _run_view(
    number: int,
    label: str,
    x: Sequence[float],
    found: Sequence[StepRun],
    logs: Mapping[str, tuple[NDArray[np.float64], int]],
    low: float,
    high: float,
) -> RunView:
    outputs = [_number_text(run.outputs[number]) for run in found]
    cells = {
        name: [float(f"{log[number]:.5g}"), round(100 * (float(log[number]) / size - low) / (high - low or 1.0))]
        for name, (log, size) in logs.items()
        if isfinite(log[number])
    }
    return {
        "label": label,
        "x": [float(f"{value:.4g}") for value in x],
        "outputs": {str(run.step): text for run, text in zip(found, outputs, strict=True)},
        "same": _same_text(outputs, number, found),
        "cells": cells,
    }


def _number_text(value: Any) -> str:
    """Return a real or complex number with the digits of its dtype and a proper minus sign."""
    digits = DIGITS.get(str(value.dtype), OTHER_DIGITS)
    parts = [value.real, value.imag] if np.iscomplexobj(value) else [value]
    text = f"{parts[0]:.{digits}g}" + (f" {parts[1]:+.{digits}g}i" if len(parts) > 1 else "")
    return text.replace("-", "−")


def _same_text(outputs: Sequence[str], number: int, found: Sequence[StepRun]) -> str:
    """Return whether the outputs for an input are the same after all steps, and by how much rounding changes them."""
    if not found:
        return ""
    count = found[0].num_outputs
    output = f"Output 1 of {count:,}" if count > 1 else "The output"
    steps = plural(len(outputs), "step")
    if not all(run.differences[number][0] <= run.differences[number][1] for run in found):  # NaN is not the same
        return f"{'An' if count > 1 else 'The'} output is not the same after all of these {steps}."
    if len(outputs) == 1:
        return f"{output} is {outputs[0]}."
    if len(set(outputs)) == 1:
        return f"{output} is {outputs[0]} after each of these {steps}."
    most = max(run.differences[number][0] for run in found)
    return f"{output} is {outputs[0]} after each of these {steps}, up to rounding errors of {most:.2g}."


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
    the largest value of a pixel, `step` the smallest difference of two; `number` identifies the evidence
    that the rows answer, `chosen` the position of the chosen row.
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
