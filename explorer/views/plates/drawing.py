"""Plates as plain data: where they are, their cells, and which cell reads which."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from math import sqrt

from explorer.views.boxes import names_of
from explorer.views.hulls import near_miss_nodes
from explorer.views.index import APPLIED, LOST, TraceIndex, cached, match_roles
from explorer.views.lanes import LayerTimes
from explorer.views.plates.cells import UNKNOWN, Plate, grid_of, plates_of
from explorer.views.plates.layout import MARGIN, Placed, Shape, Stage, place_plates, shape_of
from explorer.views.plates.links import missed_links
from explorer.views.plates.plate_words import (
    MAX_LINES,
    MAX_SENT_READS,
    OPERATOR_LABEL,
    blocked_text,
    blocking_layers,
    calls_text,
    column_names,
    label_width,
    news_text,
    outputs_text,
    reads_text,
    rewrites_by_layer,
    shape_text,
)
from explorer.views.plates.routes import Wiring, wire_plates
from explorer.views.plates.times import plate_times
from explorer_widgets.schema import EdgeView, PlateView, SmallPlateView, ThumbnailPlateView, ThumbnailView

MAX_GAP = 5.0
"""The largest gap between the cells of separate layers, in pixels."""
MIN_SMALL = 4.0
"""The least size of a plate in a small drawing, in percent of its width."""

THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT = 240.0, 150.0
SIDE, GAP, SMALLER = 46.0, 7.0, 0.85
"""The longest side of a plate and the gap between two, in pixels; both shrink by a factor until all plates fit."""
MAX_CELLS, MAX_ACROSS, MAX_ACROSS_OF_MANY, MANY = 64, 8, 4, 12
"""Maximum number of cells across the grid of a plate with more cells; fewer if there are many plates."""


def stage_of(index: TraceIndex, step: int) -> Stage:
    """Return where the plates are after a step."""
    return wiring_of(index, step).stage


@cached
def wiring_of(index: TraceIndex, step: int) -> Wiring:
    """Return where the plates are after a step, and the lines and links between them that go along channels."""
    links, plates = missed_links(index, step), plates_of(index, step)
    rooms = {(link.first.id, link.second.id): link.room for link in links}
    words = {"least": OPERATOR_LABEL} if step < index.trace.start else {}
    stage = place_plates(plates, partial(_shape, index), partial(label_width, **words), rooms)
    each = plates.reads if sum(map(len, plates.reads.values())) <= MAX_LINES else {}
    position = {plate.id: number for number, plate in enumerate(plates.plates)}
    linked = [(position[link.first.id], position[link.second.id]) for link in links]
    jumps = plates.columns if index.trace.level.has_circuit else None
    return wire_plates(stage, {ends: each.get(ends) for ends in plates.ends}, linked, jumps)


@cached
def _shape(index: TraceIndex, plate: Plate) -> Shape:
    return shape_of(plate, grid_of(index), len(index.columns))


def placed_at(index: TraceIndex, step: int) -> Mapping[str, Placed]:
    """Return the plates after a step by the ids of their boxes."""
    return {placed.plate.id: placed for placed in stage_of(index, step).placed}


def rects_of(index: TraceIndex, step: int, names: Sequence[str]) -> list[list[float]]:
    """Return x and y of the centre, width and height of the boxes of plates."""
    placed = placed_at(index, step)
    return [
        [one.left + one.shape.width / 2, one.top + one.shape.height / 2, one.shape.width, one.shape.height]
        for one in map(placed.__getitem__, names)
    ]


def size_of(index: TraceIndex, step: int) -> tuple[float, float]:
    """Return the size of the drawing, without the margin on the right and below."""
    stage = stage_of(index, step)
    return stage.width - MARGIN, stage.height - MARGIN


def plate_view(index: TraceIndex, step: int, name: str, *, at: int, near_misses: str | None, marked: bool) -> PlateView:
    """Return the inside of a plate as it is after the step `at`: `step`, or the one before.

    If `marked`, with what the step does to its cells; those where the pattern `near_misses` failed are marked, too.
    """
    placed = placed_at(index, at)[name]
    plate, shape = placed.plate, placed.shape
    _, _, widths, heights = zip(*shape.places, strict=True)
    narrow = min(min(widths) * shape.unit[0], min(heights) * shape.unit[1])
    calls = calls_text(index, step if marked and at == step else 0, plate)
    reads, copies = reads_text(index, at, plate)
    view: PlateView = {
        "cells": plate.layers.tolist(),
        "places": list(chain.from_iterable(shape.places)),
        "unit": list(shape.unit),
        "gap": 0.0 if plate.node is not None else min(MAX_GAP, narrow / 4),
        "room": placed.room,
        "calls": ", ".join(filter(None, (calls, outputs_text(index, at, plate)))),
        "news": _news(index, step, plate, at) if marked else "",
        "reads": reads,
        "copies": copies,
        "shape": shape_text(index, at, plate),
    }
    if columns := column_names(index, at, plate):
        view["columns"] = columns
    names = names_of(index, view["cells"])
    if any(names):
        view["names"] = names
    marks = _marks(index, step, plate, at, near_misses) if marked else {}
    if marks:
        view["marks"] = marks
    return view


def _news(index: TraceIndex, step: int, plate: Plate, at: int) -> str:
    """Return what the step did to a plate, or, before the step, how many matches were blocked there."""
    return news_text(index, step, plate) if at == step else blocked_text(index, step, plate)


def _marks(index: TraceIndex, step: int, plate: Plate, at: int, pattern: str | None) -> dict[str, list[int]]:
    """Return the cells of each kind of mark."""
    found: dict[str, set[int]] = {}
    roles = match_roles(index, step)
    made = rewrites_by_layer(index, step)
    is_touched = plate.node is None and (bool(made) or roles[plate.layers].any())
    for cell in plate.cells if is_touched else ():
        if cell.layer in made and at == step:
            found.setdefault("new", set()).add(cell.layer)
        elif roles[cell.layer] & APPLIED and at < step:
            found.setdefault("matched", set()).add(cell.layer)
        elif roles[cell.layer] & LOST:
            found.setdefault("lost", set()).add(cell.layer)
    if pattern is not None:
        found["near-miss"] = _missed_layers(index, step, pattern)
    elif at < step:
        found["near-miss"] = blocking_layers(index, step)
    if not found:
        return {}
    positions = {cell.layer: i for i, cell in enumerate(plate.cells) if cell.layer != UNKNOWN}
    marks = {mark: sorted(positions[layer] for layer in layers & positions.keys()) for mark, layers in found.items()}
    return {mark: cells for mark, cells in marks.items() if cells}


@cached
def _missed_layers(index: TraceIndex, step: int, pattern: str) -> set[int]:
    """Return the layers at which attempts of a pattern failed."""
    missed = [miss for miss in index.step(step).refusals if miss.refusal.pattern == pattern]
    return {layer for miss in missed for layer in near_miss_nodes(index, step, miss)}


def origins_of_cells(index: TraceIndex, step: int) -> list[list[int]]:
    """Return each layer that the step made, followed by those that it replaces, or that an operator made it of."""
    applied = index.step(step).operator
    if applied is not None:
        return [[layer, *sources] for layer, sources in sorted(applied.sources.items())]
    return [[layer, *rewrite.removed] for layer, rewrite in sorted(rewrites_by_layer(index, step).items())]


def add_cells(index: TraceIndex, at: int, edges: Sequence[EdgeView]) -> None:
    """Add to arrows between plates which cell reads which, and the ways of those that are not direct."""
    plates = plates_of(index, at)
    position = {plate.id: i for i, plate in enumerate(plates.plates)}
    total = sum(map(len, plates.reads.values()))
    ends = [(position[edge["source"]], position[edge["target"]]) for edge in edges]
    wiring = wiring_of(index, at)
    for edge, key in zip(edges, ends, strict=True):
        if total <= MAX_SENT_READS:
            pairs = plates.reads.get(key)
            edge["pairs"] = [] if pairs is None else pairs.ravel().tolist()
        if key in wiring.ports:
            edge["port"] = wiring.ports[key]
        elif key in wiring.lines:
            edge["points"] = wiring.lines[key]
        elif key in wiring.turns:
            edge["turns"] = [round(x, 1) for x in wiring.turns[key]]


def _small_area(area: Sequence[float]) -> list[int]:
    """Round left, top, width and height; an area that would be a dot is enlarged around its centre."""
    left, top, width, height = area
    by = max(0.0, MIN_SMALL - max(width, height)) / 2
    return [round(part) for part in (left - by, top - by, width + 2 * by, height + 2 * by)]


def small_plates(index: TraceIndex, step: int, measured: LayerTimes) -> list[SmallPlateView]:
    """Return the plates after a step for a small drawing; `measured` are the times of layers, if they are known."""
    stage = stage_of(index, step)
    percent = 100 / stage.width
    found: list[SmallPlateView] = [
        {
            "kind": one.plate.record.kind,
            "at": _small_area([part * percent for part in (one.left, one.top, one.shape.width, one.shape.height)]),
            "calls": one.plate.num_calls,
        }
        for one in stage.placed
    ]
    times = plate_times(index, step, [one.plate for one in stage.placed], measured)
    for view, one in zip(found, stage.placed, strict=True) if times else ():
        view["ms"] = {lane: of[one.plate.id].median for lane, of in times.items() if one.plate.id in of}
    return found


def thumbnail(index: TraceIndex, step: int) -> ThumbnailView:
    """Return the plates after a step in the order in which they run, wrapped like lines of text."""
    stage = stage_of(index, step)
    size = 1.0
    while (drawn := _wrapped(stage, size))["height"] > THUMBNAIL_HEIGHT:
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
        if left and left + own_width > THUMBNAIL_WIDTH:
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
