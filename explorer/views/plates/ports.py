"""Ports: a line that would run backwards or pass many columns is cut, and both of its ends have the same number.

All lines of one plate that are cut have one number, as the names of wires in circuit diagrams.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from explorer.views.plates.cells import Ends
from explorer.views.plates.layout import Placed, Stage
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import PortView

PASSED = 2
"""A line that passes more columns than this is cut."""
RADIUS = PLATES["port"]["radius"]
PITCH, CLEAR = 25.0, RADIUS + 3.5
"""Distance of the centres of two ports, and of a centre from other lines."""
STUB, SHEETS = 8.0, PLATES["sheets"]["far"]
"""Length of the line between a port and its plate, or the sheets behind it."""

SIDES = ("out", "into")
"""Where lines leave a plate, and where they enter one."""
Side = tuple[int, str]
"""A plate, by position, and one of its sides."""


def cut_ends(columns: Sequence[int], line_of: Sequence[int], ends: Iterable[Ends]) -> frozenset[Ends]:
    """Return the lines that are cut: those that run backwards, pass many columns, or pass one from line to line.

    If one line of a plate is cut, so are the others, except those to the next column.
    """
    jumps = {(source, target): columns[target] - columns[source] for source, target in ends}
    far = {
        source
        for (source, target), jump in jumps.items()
        if jump < 1 or jump > (PASSED + 1 if line_of[source] == line_of[target] else 1)
    }
    return frozenset(one for one, jump in jumps.items() if one[0] in far and jump != 1)


def place_ports(stage: Stage, cut: Collection[Ends], taken: Mapping[Side, Collection[float]]) -> dict[Ends, PortView]:
    """Return the ends of the lines that are cut; `taken` are the heights of other lines at the sides of plates."""
    sources = sorted({source for source, _ in cut})
    number_of = {source: number for number, source in enumerate(sources, 1)}
    out = {source: _ends(stage.placed[source], "out", 1, taken[source, "out"])[0] for source in sources}
    found: dict[Ends, PortView] = {}
    for target in sorted({target for _, target in cut}):
        into = [source for source in sources if (source, target) in cut]
        ends = _ends(stage.placed[target], "into", len(into), taken[target, "into"])
        for source, end in zip(into, sorted(ends, key=lambda end: (end[0][1], end[0][0])), strict=True):
            found[source, target] = {"number": number_of[source], "out": out[source], "into": end}
    return found


def port_x(placed: Placed, side: str) -> float:
    """Return how far to the right the first ports at a side of a plate are."""
    if side == "into":
        return placed.left - STUB - RADIUS
    return placed.right + (SHEETS if placed.plate.node is not None else 0.0) + STUB + RADIUS


def port_room(placed: Placed, side: str) -> float:
    """Return how far the ports at a side of a plate reach beyond its column."""
    x = port_x(placed, side)
    return max(0.0, placed.column[0] - x + RADIUS if side == "into" else x + RADIUS - placed.column[1])


def _ends(placed: Placed, side: str, number: int, taken: Collection[float]) -> list[list[list[float]]]:
    """Return the centre of each port at a side of a plate, and where its line meets the plate: near its middle."""
    x, edge, sign = port_x(placed, side), *((placed.left, -1) if side == "into" else (placed.right, 1))
    heights = np.arange(placed.top + 1, placed.bottom)
    heights = heights[np.argsort(np.abs(heights - placed.middle), kind="stable")]
    far = np.abs(heights[:, None] - np.array([*taken])).min(axis=1, initial=CLEAR) >= CLEAR
    clear = heights[far].tolist() or heights.tolist()
    chosen: list[list[list[float]]] = []
    while len(chosen) < number:
        in_column: list[float] = []
        for y in clear:
            if len(chosen) + len(in_column) < number and all(abs(y - other) >= PITCH for other in in_column):
                in_column.append(y)
        chosen += [[[round(x, 1), round(y, 1)], [round(edge, 1), round(y, 1)]] for y in in_column]
        x += sign * PITCH
    return chosen
