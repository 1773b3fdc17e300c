"""The ways of lines between plates that are not direct: along the channels between columns and lines of plates.

All lines from one plate share a lane of each channel, and all lines to one plate share a lane in front of it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from explorer.views.plates.cells import Ends, Pairs
from explorer.views.plates.channels import APART, Name, Wire, assign_lanes, overlap
from explorer.views.plates.layout import ABOVE, BELOW, LINE_GAP, MARGIN, Placed, Stage
from explorer.views.plates.ports import SIDES, Side, cut_ends, place_ports, port_room, port_x
from explorer_widgets.schema import PortView

NEAR, FAR = 6.0, 16.0
"""Smallest and largest distance of vertical lanes from the columns next to them, and from the edge of the drawing."""
FIRST, LANE = 9.0, 6.0
"""Distance of the lowest lane above a line of plates from these, and of lanes from each other, if there is room."""
LAST, ROOM = 5.0, 56.0
"""Distance of the highest lane from the words above, and of the lowest from the highest lane at most."""
WORDS = (ABOVE - 8.0, BELOW - 24.0)
"""Height of the words above and below a plate; direct lines do not cross them."""
REACH = 5.0
"""Distance of the ends of a link from its plates."""
SIDE = 3.0
"""Distance of the ends of a link from the lower edge of its plates: lines end further up."""
_T = np.linspace(0, 1, 257)
_ACROSS, _DOWN = 1.5 * _T * (1 - _T) + _T**3, 3 * _T**2 - 2 * _T**3
"""Shares of the width and the height of a direct line, a curve that begins and ends horizontally."""

Reads = Mapping[Ends, Pairs | None]
"""The cells that a direct line joins; None if it joins the plates."""
Points = list[list[float]]
"""Corners."""
Channel = tuple[int, int]
"""A line of plates, and the number of columns to the left of the channel."""
Floats = npt.NDArray[np.float64]
Rect = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Wiring:
    """The plates with room for all lanes, the ways of lines and links, and the ends of lines that are cut."""

    stage: Stage
    lines: Mapping[Ends, Points]
    ports: Mapping[Ends, PortView]
    turns: Mapping[Ends, list[float]]
    """Where direct lines begin and end to bend: beside the words of their columns."""
    links: Sequence[Points]


def wire_plates(stage: Stage, reads: Reads, links: Sequence[Ends] = (), columns: Sequence[int] | None = None) -> Wiring:
    """Lead the lines that are not direct, and links between plates that are not read, along channels.

    With `columns` of the plates, lines that would run backwards or pass many of them are cut.
    """
    cut = cut_ends(columns, stage.line_of, reads) if columns else frozenset[Ends]()
    plan = _Columns(stage, cut)
    drawn = sorted(reads.keys() - cut)
    ways = {ends: plan.way(ends) for ends in drawn if not plan.is_direct(ends, reads[ends])}
    linked = [plan.link(ends, number) for number, ends in enumerate(links)]
    ports = {ends: _routed_ends(stage, ends, reads[ends]) for ends in ways}
    linked_ports = [_link_port(stage, ends) for ends in links]
    together = [*zip(ways.values(), ports.values(), strict=True), *zip(linked, linked_ports, strict=True)]
    lanes = _Lanes(plan, together)
    points = [lanes.corners(way, port) for way, port in together]
    roomy = lanes.roomy()
    taken: dict[Side, list[float]] = {side: [] for ends in cut for side in zip(ends, SIDES, strict=True)}
    for ends in drawn:
        for end, side in zip(ends, SIDES, strict=True):
            if (end, side) in taken:
                line = _direct_ends(roomy, ends, None if ends in ways else reads[ends])
                taken[end, side] += np.unique(_heights(line, port_x(roomy.placed[end], side))).tolist()
    turns = {ends: _turns(roomy, ends) for ends in drawn if ends not in ways}
    cuts = place_ports(roomy, cut, taken)
    return Wiring(roomy, dict(zip(ways, points, strict=False)), cuts, turns, points[len(ways) :])


@dataclass(frozen=True, slots=True)
class _Way:
    """The vertical channels that a line goes along, each with its wire, and the horizontal ones between them."""

    verticals: Sequence[tuple[Channel, Name]]
    gaps: Sequence[int]
    wire: Name
    """The wire in horizontal channels."""


class _Columns:
    """The columns of each line of plates, and what is between two plates."""

    def __init__(self, stage: Stage, cut: Collection[Ends]) -> None:
        self.stage = stage
        sides: dict[int, set[tuple[float, float]]] = {line: set() for line in range(len(stage.tops))}
        for line, placed in zip(stage.line_of, stage.placed, strict=True):
            sides[line].add(placed.column)
        self.sides = {line: sorted(columns) for line, columns in sides.items()}
        self.of = [
            self.sides[line].index(placed.column) for line, placed in zip(stage.line_of, stage.placed, strict=True)
        ]
        self.plates: dict[tuple[int, int], list[Placed]] = {}
        for line, column, placed in zip(stage.line_of, self.of, stage.placed, strict=True):
            self.plates.setdefault((line, column), []).append(placed)
        self.ported: dict[tuple[int, int, str], float] = {}
        """How far the ends of lines that are cut reach beyond the sides of columns."""
        for ends in cut:
            for end, side in zip(ends, SIDES, strict=True):
                at = stage.line_of[end], self.of[end], side
                self.ported[at] = max(self.ported.get(at, 0.0), port_room(stage.placed[end], side))

    def bounds(self, channel: Channel) -> tuple[float, float]:
        """Return the left and the right side of a vertical channel."""
        line, number = channel
        sides = self.sides[line]
        left = sides[number - 1][1] if number else 0.0
        right = sides[number][0] if number < len(sides) else self.stage.width
        wanted = self.ported.get((line, number - 1, "out"), 0.0), self.ported.get((line, number, "into"), 0.0)
        share = min(1.0, max(0.0, right - left - 2 * FAR) / max(1.0, sum(wanted)))
        return left + share * wanted[0], right - share * wanted[1]

    def middle(self, channel: Channel) -> float:
        """Return the middle of a vertical channel; for the last one, a point near its column."""
        left, right = self.bounds(channel)
        return (left + min(right, left + 2 * MARGIN)) / 2

    def is_direct(self, ends: Ends, pairs: Pairs | None) -> bool:
        """Return whether a line can be direct: from left to right, and across no plate between its ends."""
        stage = self.stage
        line, last = (stage.line_of[end] for end in ends)
        first, behind = (self.of[end] for end in ends)
        if line != last or first >= behind:
            return False
        obstacles = [_obstacle(placed) for at in range(first + 1, behind) for placed in self.plates[line, at]]
        return not obstacles or not _meets_any(_direct_ends(stage, ends, pairs), obstacles)

    def way(self, ends: Ends) -> _Way:
        """Return the way of a line: behind the column of its source, then in front of the column of its target."""
        first, last = (self.stage.line_of[end] for end in ends)
        gaps = range(first + 1, last + 1) if first < last else range(first, min(last, first - 1), -1)
        return self._along(ends, gaps, ("out", ends[0]), ("pass", ends[0]), ("in", ends[1]))

    def link(self, ends: Ends, number: int) -> _Way:
        """Return the way of a link: below its first plate, or behind the column of both."""
        first, last = (self.stage.line_of[end] for end in ends)
        gaps = range(first + 1, max(last, first + 1) + 1)
        if (first, self.of[ends[0]]) == (last, self.of[ends[1]]):
            gaps = range(0)
        return self._along(ends, gaps, *((part, number) for part in ("link out", "link pass", "link in")))

    def _along(self, ends: Ends, gaps: range, out: Name, passing: Name, into: Name) -> _Way:
        channel = (self.stage.line_of[ends[0]], self.of[ends[0]] + 1)
        verticals = [(channel, out)]
        for gap in gaps[:-1]:
            line = gap if gaps.step > 0 else gap - 1
            wish = self.middle(channel)
            channels = ((line, number) for number in range(len(self.sides[line]) + 1))
            channel = min(channels, key=lambda one: abs(self.middle(one) - wish))
            verticals.append((channel, passing))
        if gaps:
            verticals.append(((self.stage.line_of[ends[1]], self.of[ends[1]]), into))
        return _Way(verticals, gaps, out)


class _Lanes:
    """The lanes of all wires, and the room that they need."""

    def __init__(self, columns: _Columns, ways: "Sequence[tuple[_Way, _Port]]") -> None:
        self.columns = columns
        self.vertical: dict[Channel, dict[Name, Wire]] = {}
        self.horizontal: dict[int, dict[Name, Wire]] = {}
        for way, port in ways:
            self._add_vertical(way, port)
        self.x = {at: x for channel, wires in self.vertical.items() for at, x in self._across(channel, wires)}
        for way, _ in ways:
            self._add_horizontal(way)
        self.y = {(gap, name): y for gap, wires in self.horizontal.items() for name, y in self._down(gap, wires)}
        """The height of each wire of a horizontal channel, before lines of plates move."""
        highest = [self._level(gap) for gap in range(len(columns.stage.tops) + 1)]
        for (gap, _), y in self.y.items():
            highest[gap] = min(highest[gap], y)
        rooms = [max(0.0, self._ceiling(gap) - y) for gap, y in enumerate(highest)]
        self.shifts = list(accumulate(rooms))
        """Return the shift of each line of plates downward."""

    def _level(self, gap: int) -> float:
        """Return the height of the lowest lane above a whole line of plates; the last gap is below all."""
        stage = self.columns.stage
        bottom = stage.tops[gap] if gap < len(stage.tops) else stage.height - MARGIN + LINE_GAP
        return bottom - FIRST

    def _ceiling(self, gap: int) -> float:
        """Return the height of the highest lane for which there is room."""
        return self._level(gap) + FIRST - (LINE_GAP if gap else MARGIN) + LAST

    def _add_vertical(self, way: _Way, port: "_Port") -> None:
        (_, start), (_, end) = port
        wires = [self.vertical.setdefault(channel, {}).setdefault(name, Wire()) for channel, name in way.verticals]
        wires[0].leave(start, low=True)
        wires[-1].leave(end, low=len(wires) == 1)
        for (one, other), gap in zip(pairwise(wires), way.gaps, strict=True):
            one.reach(self._level(gap))
            other.reach(self._level(gap))

    def _across(self, channel: Channel, wires: Mapping[Name, Wire]) -> "list[tuple[tuple[Channel, Name], float]]":
        """Return the position of each wire of a vertical channel: near the column that it leaves or enters."""
        left, right = self.columns.bounds(channel)
        lanes = assign_lanes(wires)
        last = max(lanes.values())
        room = right - left - 2 * NEAR
        apart = min(LANE, room / max(1, last))
        beside = NEAR + min(FAR - NEAR, (room - last * apart) / 3)
        leaving = max((lane for name, lane in lanes.items() if wires[name].low), default=-1)
        return [
            (
                (channel, name),
                left + beside + lane * apart if lane <= leaving else right - beside - (last - lane) * apart,
            )
            for name, lane in lanes.items()
        ]

    def _add_horizontal(self, way: _Way) -> None:
        for gap, verticals in zip(way.gaps, pairwise(way.verticals), strict=True):
            wire = self.horizontal.setdefault(gap, {}).setdefault(way.wire, Wire())
            for at in verticals:
                wire.leave(self.x[at], low=at[0][0] == gap)

    def _down(self, gap: int, wires: Mapping[Name, Wire]) -> Iterator[tuple[Name, float]]:
        """Return the height of each wire of a horizontal channel: just above the columns and wires that it passes."""
        lanes = assign_lanes(wires)
        apart = min(LANE, ROOM / max(1, *lanes.values()))
        placed: list[tuple[Wire, float]] = []
        for name in sorted(lanes, key=lambda name: lanes[name]):
            wire = wires[name]
            passed = [y - apart for other, y in placed if overlap(wire, other, APART)]
            y = min((self._above(gap, wire), *passed))
            placed.append((wire, y))
            yield name, y

    def _above(self, gap: int, wire: Wire) -> float:
        """Return the height of the lowest lane above the columns that a wire passes."""
        columns = self.columns
        sides = columns.sides.get(gap, [])
        passed = [at for at, (left, right) in enumerate(sides) if left < wire.last and right > wire.first]
        tops = [placed.top - ABOVE for at in passed for placed in columns.plates[gap, at]]
        return min(tops, default=self._level(gap) + FIRST) - FIRST

    def roomy(self) -> Stage:
        """Return the plates with room for the lanes."""
        stage = self.columns.stage
        placed = [
            replace(one, top=one.top + self.shifts[line]) for one, line in zip(stage.placed, stage.line_of, strict=True)
        ]
        tops = [top + shift for top, shift in zip(stage.tops, self.shifts, strict=False)]
        return Stage(tuple(placed), stage.line_of, tuple(tops), stage.width, stage.height + self.shifts[-1])

    def corners(self, way: _Way, port: "_Port") -> Points:
        """Return the corners of a line."""
        (start, first), (end, last) = port
        lines = [channel[0] for channel, _ in way.verticals]
        x = [self.x[at] for at in way.verticals]
        points = [(start, first + self.shifts[lines[0]]), (x[0], first + self.shifts[lines[0]])]
        for gap, (one, other) in zip(way.gaps, pairwise(x), strict=True):
            y = self.y[gap, way.wire] + self.shifts[gap]
            points += [(one, y), (other, y)] if one != other else []
        points += [(x[-1], last + self.shifts[lines[-1]]), (end, last + self.shifts[lines[-1]])]
        return [[round(x, 1), round(y, 1)] for x, y in points]


# ---------------------------------------------------------------------- the ends of lines

_Port = tuple[tuple[float, float], tuple[float, float]]
"""The two ends of a line."""


def _direct_ends(stage: Stage, ends: Ends, pairs: Pairs | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return x and y where each direct line begins to bend, and where it ends to."""
    one, other = (stage.placed[end] for end in ends)
    (left, right) = _turns(stage, ends)
    if pairs is None:
        return np.array([left]), np.array([one.middle]), np.array([right]), np.array([other.middle])
    _, y, _, height = _areas(one)[pairs[:, 0]].T
    _, top, _, down = _areas(other)[pairs[:, 1]].T
    return np.full(len(pairs), left), y + height / 2, np.full(len(pairs), right), top + down / 2


def _turns(stage: Stage, ends: Ends) -> list[float]:
    """Return where direct lines begin to bend, and where they end to: beside the words of their columns."""
    return [stage.placed[ends[0]].column[1], stage.placed[ends[1]].column[0]]


def _heights(line: tuple[Floats, Floats, Floats, Floats], at: float) -> Floats:
    """Return how far down each direct line is where it passes a position, or begins or ends."""
    x1, y1, x2, y2 = line
    return y1 + (y2 - y1) * np.interp((at - x1) / (x2 - x1), _ACROSS, _DOWN)


def _areas(placed: Placed) -> Floats:
    """Return left, top, width and height of the cells of a plate."""
    return np.array(placed.shape.places, np.float64) * (placed.shape.unit * 2) + (placed.left, placed.top, 0, 0)


def _routed_ends(stage: Stage, ends: Ends, pairs: Pairs | None) -> _Port:
    """Return the ends of an indirect line: its plates, unless it stands for one direct line."""
    _, y1, _, y2 = _direct_ends(stage, ends, pairs if pairs is not None and len(pairs) == 1 else None)
    return (stage.placed[ends[0]].right, float(y1[0])), (stage.placed[ends[1]].left, float(y2[0]))


def _link_port(stage: Stage, ends: Ends) -> _Port:
    """Return the ends of a link: at the right of both plates of a column, otherwise at the left of the second one."""
    one, other = (stage.placed[end] for end in ends)
    is_beside = one.column == other.column and stage.line_of[ends[0]] == stage.line_of[ends[1]]
    end = other.right + REACH if is_beside else other.left - REACH
    return (one.right + REACH, _side(one)), (end, _side(other))


def _side(placed: Placed) -> float:
    return placed.bottom - SIDE


def _obstacle(placed: Placed) -> Rect:
    """Return left, top, right and bottom of a plate with its words, which a direct line must not cross."""
    (left, right), (above, below) = placed.column, WORDS
    return left, placed.top - above, right, placed.bottom + below


def _meets_any(ports: tuple[Floats, Floats, Floats, Floats], obstacles: Sequence[Rect]) -> bool:
    """Return whether one of the direct lines crosses one of the areas."""
    x1, _, x2, _ = ports
    for left, top, right, bottom in obstacles:
        enters, leaves = (_heights(ports, x) for x in (left, right))
        is_high, is_low = np.maximum(enters, leaves) < top, np.minimum(enters, leaves) > bottom
        if ((x1 < right) & (x2 > left) & ~is_high & ~is_low).any():
            return True
    return False
