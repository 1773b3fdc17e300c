"""What is drawn of plates before their pins: cells, words and lines, and which read is drawn by which line."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.trace import RefusalKind
from explorer.views.lines import Place
from explorer.views.plates.pen import Rect, curve, polyline, word_rects
from explorer.views.plates.plates_svg import cells_of
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import EdgeView, PictureView

READ = PLATES["read"]
Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Pair = tuple[int, int]
"""A layer and one that reads it."""
Read = tuple[Pair, EdgeView]
"""The ends of a read, and the line that draws it."""


@dataclass(frozen=True)
class Spot:
    """The plate of a cell, its position there, and where it is drawn."""

    plate: str
    number: int
    rect: Rect


@dataclass
class Scene:
    """What is drawn already: plates, cells, words and lines."""

    view: PictureView
    places: Sequence[Place]
    taken: list[Area] = field(default_factory=list[Area])
    reads: dict[tuple[str, int], dict[int, list[Read]]] = field(default_factory=dict[tuple[str, int], Any])
    """What was looked up of `_reads_of`."""

    @cached_property
    def rects(self) -> dict[str, Rect]:
        """Left, top, width and height of each plate."""
        pairs = zip(self.view["nodes"], self.places, strict=True)
        return {node["id"]: (x - w / 2, y - h / 2, w, h) for node, (x, y, w, h) in pairs if "plate" in node}

    @cached_property
    def cells(self) -> dict[int, Spot]:
        """The cell of each layer."""
        found: dict[int, Spot] = {}
        for node in self.view["nodes"]:
            if "plate" in node:
                rects = cells_of(node["plate"], self.rects[node["id"]])
                for number, (layer, rect) in enumerate(zip(node["plate"]["cells"], rects, strict=True)):
                    found[layer] = Spot(node["id"], number, rect)
        return found

    @cached_property
    def layers(self) -> dict[str, list[int]]:
        """The layers of the cells of each plate."""
        return {node["id"]: node["plate"]["cells"] for node in self.view["nodes"] if "plate" in node}

    @cached_property
    def titles(self) -> dict[str, str]:
        """The title of each plate."""
        return {node["id"]: node["title"] for node in self.view["nodes"]}

    @cached_property
    def edges(self) -> dict[tuple[str, str], EdgeView]:
        """The lines between plates by their ends."""
        return {(edge["source"], edge["target"]): edge for edge in self.view["edges"]}

    def pairs(self, edge: EdgeView) -> list[Pair]:
        """Return the ends of each read of a line."""
        sources, targets = self.layers[edge["source"]], self.layers[edge["target"]]
        pairs = edge.get("pairs", [])
        return [(sources[pairs[i]], targets[pairs[i + 1]]) for i in range(0, len(pairs), 2)]

    def path(self, read: Read) -> str:
        """Return the path of a read: that of its line, if this has corners."""
        (source, target), edge = read
        if "points" in edge or "port" in edge:
            return self.line(edge)
        return curve(self.cells[source].rect, self.cells[target].rect, READ["bend"], edge.get("turns", ()))

    def line(self, edge: EdgeView) -> str:
        """Return the path of a line between plates."""
        if "port" in edge:  # its middle is not drawn
            return polyline(edge["port"]["out"], 0) + polyline(edge["port"]["into"], 0)
        if "points" in edge:
            return polyline(edge["points"], READ["corner"])
        return curve(self.rects[edge["source"]], self.rects[edge["target"]], READ["bend"], edge.get("turns", ()))

    def reads_at(self, layer: int, kind: RefusalKind) -> list[Read]:
        """Return the reads by which a layer refused: of it by others, or by it of others."""
        if kind is RefusalKind.SEVERAL_USERS:
            return self._reads_of(self.cells[layer].plate, 0).get(layer, [])
        if kind is RefusalKind.SEVERAL_INPUTS:
            return self._reads_of(self.cells[layer].plate, 1).get(layer, [])
        return []

    def _reads_of(self, plate: str, end: int) -> dict[int, list[Read]]:
        """Return the reads of each layer of a plate (`end` 0), or those by it (1)."""
        if (plate, end) not in self.reads:
            found = self.reads[plate, end] = {}
            for ends, edge in self.edges.items():
                if ends[end] == plate:
                    for pair in self.pairs(edge):
                        found.setdefault(pair[end], []).append((pair, edge))
        return self.reads[plate, end]

    @cached_property
    def words(self) -> NDArray[np.float64]:
        """The areas of plates, with their sheets, and of words, shape (N, 4)."""
        areas = [(left, top - 8, left + w + 8, top + h) for left, top, w, h in self.rects.values()]
        areas += word_rects(self.view["nodes"], self.places)
        size = PLATES["port"]["radius"]
        for edge in self.view["edges"]:
            if "port" in edge:
                ends = edge["port"]["out"][0], edge["port"]["into"][0]
                areas += [(x - size, y - size, x + size, y + size) for x, y, *_ in ends]
        for link in self.view.get("links", ()):
            if "at" in link:
                (x, y), half = link["at"], 4.0 * max(map(len, link["lines"]))
                areas.append((x - half, y, x + half, y + 16.0 * len(link["lines"])))
        return np.array(areas).reshape(-1, 4)

    @property
    def covered(self) -> NDArray[np.float64]:
        """The areas of words and of the pins that have a place, shape (N, 4)."""
        return np.concatenate([self.words, np.array(self.taken).reshape(-1, 4)])

    @cached_property
    def lines(self) -> NDArray[np.float64]:
        """The areas of the straight parts of lines, shape (N, 4)."""
        areas: list[Area] = []
        for ends, edge in self.edges.items():
            if "port" in edge:
                continue
            points = edge.get("points")
            if points is None:
                (l1, t1, w1, h1), (l2, t2, _, h2) = (self.rects[end] for end in ends)
                points = [[l1 + w1, t1 + h1 / 2], [l2, t2 + h2 / 2]]
            for (x1, y1, *_), (x2, y2, *_) in pairwise(points):
                areas.append((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)))
        return np.array(areas).reshape(-1, 4)
