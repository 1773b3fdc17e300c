"""Where the pins of a picture are: next to their plates, but over no plate, no words and no other pin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from explorer.views.marks import mark
from explorer.views.plates.pen import Rect, word_rects
from explorer.views.plates.pin_scene import Area, Scene
from explorer_widgets.schema import MarkView, PinKind, PinView

SIZE, HEIGHT, PAD = 12.5, 24.0, 12.0
"""The font size of a pin, its height, and the room at its sides."""
BOLD = 0.61
"""Width of a character in parts of the font size, that of a wide font: no word leaves its frame."""
PLAY = 16.0
"""Room for the sign that a click plays something."""
SMALL = 11.0
"""The radius of a pin that has no room for its words."""
ROLES = {"contest": "matchedLine", "waits": "nearMiss", "levels": "nearMiss", "blocked": "nearMiss", "more": "nearMiss"}
"""The colour of the line from a pin to its plate."""
STEP = 10.0
"""Distance between two places that are tried."""
CLEAR, EDGE = 7.0, 6.0
"""Least distance of a pin from words and plates, and from the edge of the picture."""
BELOW = 44.0
"""Room below a picture for pins that have none inside it."""
GROWS = 0.12
"""At a small scale a pin is drawn larger than it is by this share."""
UPPER = 0.3
"""The part of a plate where a line from its side ends: reads are at its middle."""
MAX_TRIED, MAX_NEAREST = 40_000, 24
"""Maximum number of places that are tried, and of plates of a note to which it is near."""
AT_ONCE = 128
"""So many places are compared with all that is drawn, the nearest ones first."""
CROSSED, OUTSIDE = 26.0, 60.0
"""What crossing a line, and needing room outside the picture, cost, in pixels of distance."""


@dataclass(frozen=True)
class Note:
    """A pin before it has a place: what it says, and of which plates."""

    kind: PinKind
    text: str
    reason: str
    plates: Sequence[str]
    strokes: Sequence[MarkView] = ()
    ends: Sequence[int] = ()
    """The layers at the ends of each stroke: source, user, source, user, ..."""
    cells: Sequence[int] = ()
    """The layers that would close up."""
    verdict: str = ""
    line: Sequence[Sequence[float]] = ()
    """The corners of a line on which the pin is, in place of a line to its plates."""
    size: tuple[float, float] | None = None
    """Width and height if it draws more than its text: `marks`, around its middle."""
    marks: Sequence[MarkView] = ()
    hull: str = ""
    rule: str = ""


def placed_notes(notes: Sequence[Note], scene: Scene) -> list[PinView]:
    """Return the pins of notes; the picture becomes higher if there is no room in it."""
    return [_placed(note, f"pin-{number}", scene) for number, note in enumerate(notes)]


def width_of(text: str, size: float = SIZE) -> float:
    """Return the estimated width of a line of text."""
    return BOLD * size * len(text)


def words(
    x: float, y: float, text: str, fill: str = "fg", size: float = SIZE, weight: int = 400, **more: str
) -> MarkView:
    """Return a line of text as a mark; it is around `x` unless `text_anchor` says otherwise."""
    look = {"text_anchor": "middle", **more}
    return mark("text", x=round(x, 1), y=round(y, 1), text=text, fill=fill, font_size=size, font_weight=weight, **look)


def _placed(note: Note, name: str, scene: Scene) -> PinView:
    plays = bool(note.cells)
    width = width_of(note.text) + 2 * PAD + (PLAY if plays else 0)
    size = note.size or (round(width, 1), HEIGHT)
    on_line = _place_on_line(size, note, scene)
    x, y = on_line or _free_place(size, note, scene)
    area = (x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2)
    scene.taken.append(area)
    scene.view["height"] = max(scene.view["height"], area[3] + EDGE)
    scene.view["width"] = max(scene.view["width"], area[2] + EDGE)
    pin: PinView = {
        "id": name,
        "kind": note.kind,
        "text": note.text,
        "reason": note.reason,
        "nodes": list(note.plates),
        "box": [round(number, 1) for number in (x, y, *size)],
        "leader": [] if on_line or note.kind == "more" else [_leader(area, note, scene)],
        "marks": list(note.marks) or _label(note, size, plays=plays),
        "small": _small(note.kind),
        "strokes": list(note.strokes),
        "ends": list(note.ends),
        "cells": list(note.cells),
    }
    if note.verdict:
        pin["verdict"] = note.verdict
    if note.rule:
        pin["rule"] = note.rule
    if note.hull:
        pin["hull"] = note.hull
    return pin


def _label(note: Note, size: tuple[float, float], *, plays: bool) -> list[MarkView]:
    """Return a frame with its text, and a triangle if a click plays something; around its middle."""
    width, height = size
    frame = mark(
        "rect",
        x=-width / 2,
        y=-height / 2,
        width=width,
        height=height,
        rx=height / 2,
        fill="panel",
        stroke="nearMiss",
        stroke_width=1.6,
    )
    left = -width / 2 + PAD
    sign = [mark("path", d=f"M{left + 1:.1f} -5v10l8.5 -5z", fill="nearMiss", stroke="none")] if plays else []
    return [frame, *sign, words(PLAY / 2 if plays else 0, 4.5, note.text, weight=600)]


def _small(kind: PinKind) -> list[MarkView]:
    """Return the marks of a pin without room for its words."""
    return [
        mark("circle", r=SMALL, fill="panel", stroke=ROLES[kind], stroke_width=1.8),
        words(0, 4.5, "⚔" if kind == "contest" else "!", size=13, weight=700),
    ]


def _meets(boxes: NDArray[np.float64], areas: NDArray[np.float64], by: float) -> NDArray[np.bool_]:
    """Return for each box (N, 4) and each area (M, 4) whether they are closer than `by`, shape (N, M)."""
    one, other = boxes[:, None], areas[None]
    return (
        (one[..., 0] - by < other[..., 2])
        & (other[..., 0] < one[..., 2] + by)
        & (one[..., 1] - by < other[..., 3])
        & (other[..., 1] < one[..., 3] + by)
    )


def _places_on(line: Sequence[Sequence[float]], size: tuple[float, float]) -> Iterator[tuple[float, float, float]]:
    """Yield x and y of the places on the parts of a line that are long enough, those in the middle of long ones first.

    Each has its cost: the distance from the middle of its part, less the length that is left.
    """
    for (x1, y1, *_), (x2, y2, *_) in pairwise(line):
        is_flat = y1 == y2
        room = abs(x2 - x1) - size[0] if is_flat else abs(y2 - y1) - size[1]
        for off in np.arange(-room / 2, room / 2 + 1, STEP).tolist() if room > 0 else ():
            across, down = (off, 0.0) if is_flat else (0.0, off)
            yield (x1 + x2) / 2 + across, (y1 + y2) / 2 + down, abs(off) - room


def _place_on_line(size: tuple[float, float], note: Note, scene: Scene) -> tuple[float, float] | None:
    """Return the free place on the line of a note that is nearest to the middle of its longest part; None without."""
    places = np.array(sorted(_places_on(note.line, size), key=lambda place: place[2])).reshape(-1, 3)
    half = np.array([-size[0], -size[1], size[0], size[1]]) / 2
    boxes = places[:, [0, 1, 0, 1]] + half
    free = ~_meets(boxes + GROWS * half, scene.covered, 0).any(axis=1)
    return (float(places[free.argmax(), 0]), float(places[free.argmax(), 1])) if free.any() else None


def _free_place(size: tuple[float, float], note: Note, scene: Scene) -> tuple[float, float]:
    """Return the middle of the free place that is nearest to the plates of a note and crosses few lines."""
    (width, height), (right, bottom) = size, (scene.view["width"], scene.view["height"])
    step = max(STEP, sqrt(right * bottom / MAX_TRIED))
    xs = np.arange(EDGE + width / 2, max(EDGE + width / 2 + 1, right - EDGE - width / 2 + 1), step)
    ys = np.arange(EDGE + height / 2, bottom + BELOW + height, step)
    x, y = (grid.ravel() for grid in np.meshgrid(xs, ys))
    boxes = np.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], axis=1)
    some = note.plates[:: -(-len(note.plates) // MAX_NEAREST)]
    plates = np.array([scene.rects[name] for name in some])
    left, top = plates[:, 0], plates[:, 1]
    ends = plates[:, :2] + plates[:, 2:]
    away = np.hypot(
        np.maximum(0, np.maximum(left - boxes[:, None, 2], boxes[:, None, 0] - ends[:, 0])),
        np.maximum(0, np.maximum(top - boxes[:, None, 3], boxes[:, None, 1] - ends[:, 1])),
    )
    middle = (plates[:, :2] + plates[:, 2:] / 2).mean(axis=0)
    off = np.hypot(x - middle[0], y - middle[1])
    outside = OUTSIDE * (boxes[:, 3] + EDGE > bottom) + np.maximum(0, boxes[:, 3] + EDGE - bottom)
    distance = away.min(axis=1) + 0.2 * off + outside
    grown = GROWS * np.array([-width, -height, width, height]) / 2
    order = np.argsort(distance, kind="stable")
    best, least = int(order[0]), np.inf
    for some in np.split(order, range(AT_ONCE, len(order), AT_ONCE)):
        if distance[some[0]] >= least:  # what crosses nothing there is no better
            break
        free = ~_meets(boxes[some] + grown, scene.covered, CLEAR).any(axis=1)
        crossed = _meets(boxes[some], scene.lines, 0).sum(axis=1)
        cost = distance[some] + CROSSED * crossed + np.where(free, 0.0, 1e6)
        if cost.min() < least:
            best, least = int(some[cost.argmin()]), float(cost.min())
    return float(x[best]), float(y[best])


def _leader(area: Area, note: Note, scene: Scene) -> MarkView:
    """Return a straight line from a pin to the nearest plate."""
    words = _words_by_plate(scene)

    def ends(name: str) -> tuple[float, list[list[float]]]:
        left, top, width, height = scene.rects[name]
        upper, lower = words.get(name, (top, top + height))
        is_beside = area[0] > left + width or area[2] < left
        inside = (top, top + UPPER * height) if is_beside else (upper, lower)
        x1, x2 = _nearest((area[0] + 12, area[2] - 12), (left, left + width))
        y1, y2 = _nearest((area[1], area[3]), inside)
        return (x2 - x1) ** 2 + (y2 - y1) ** 2, [[round(x1, 1), round(y1, 1)], [round(x2, 1), round(y2, 1)]]

    (x1, y1), (x2, y2) = min(map(ends, note.plates))[1]
    d = f"M{x1:g} {y1:g}L{x2:g} {y2:g}"
    return mark("path", d=d, fill="none", stroke=ROLES[note.kind], stroke_width=1.6, stroke_dasharray="2 3")


def _words_by_plate(scene: Scene) -> dict[str, tuple[float, float]]:
    """Return the upper edge of the title and the lower edge of the words of each plate."""
    areas = word_rects(scene.view["nodes"], scene.places)
    pairs = zip(scene.rects, zip(areas[::2], areas[1::2], strict=True), strict=True)
    return {name: (title[1], max(below[3], rect_bottom(scene.rects[name]))) for name, (title, below) in pairs}


def rect_bottom(rect: Rect) -> float:
    """Return the lower edge of a rectangle."""
    return rect[1] + rect[3]


def _nearest(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the points of two intervals that are nearest to each other."""
    if one[1] < other[0]:
        return one[1], other[0]
    if other[1] < one[0]:
        return one[0], other[1]
    middle = (max(one[0], other[0]) + min(one[1], other[1])) / 2
    return middle, middle
