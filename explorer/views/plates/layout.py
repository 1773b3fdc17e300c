"""Positions of plates and their cells: columns from left to right, wrapped like lines of text; never scaled down.

Circuits that are not combined yet are one below the other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import ceil, sqrt

from explorer.views.plates.cells import Cell, Plate, Plates
from explorer.views.plates.geometry import Grid, repeated

PAGE = (1200.0, 540.0)
"""Plates are wrapped so that they fill a page of this shape best."""
NEARLY = 0.92
"""Fewer lines are better if plates are at least this large beside the best number of lines."""
MAX_LINES = 8
SIDE = 168.0
"""The longer side of an image: all images of a picture have one scale, so that regions can be compared."""
MARGIN, LEVEL_GAP, PLATE_GAP, LINE_GAP = 24.0, 52.0, 10.0, 14.0
MAX_SPREAD = 72.0
"""Levels move this far apart, or less, if the page has the room: for longer words at their plates."""
ABOVE, BELOW = 30.0, 60.0
"""Room for the title above a plate, and for the lines of text below it."""
CELL, MIN_CELL = 28.0, 2.5
"""Sides of a cell that is not drawn at its variables: usual, and among very many cells."""
WIDE = 84.0
"""The width of a cell of a table that has no neighbour: for the distribution of each column."""
COLUMN = 6
"""Up to this many such cells are in one column, next to the inputs of a product."""
MIN_ROW, MAX_LANES = 5.0, 8
"""The least height of a variable on a line; the most cells next to each other at one variable."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A plate with its corner, the width for its words and the sides of its column, in pixels, and its cells."""

    plate: Plate
    left: float
    top: float
    room: float
    column: tuple[float, float]
    """The left and the right side of the plates of its level and of their words."""
    shape: "Shape"

    @property
    def right(self) -> float:
        """Its right side."""
        return self.left + self.shape.width

    @property
    def bottom(self) -> float:
        """Its lower side."""
        return self.top + self.shape.height

    @property
    def middle(self) -> float:
        """Half way between its upper and its lower side."""
        return self.top + self.shape.height / 2


@dataclass(frozen=True, slots=True)
class Shape:
    """The cells of a plate as column, row, width and height in units; its size in units; the pixels of a unit."""

    places: tuple[tuple[int, int, int, int], ...]
    units: tuple[int, int]
    unit: tuple[float, float]
    above: float = 0.0
    below: float = 0.0
    """Pixels of variables above and below the cells, so that variables are at one height in all plates."""

    @property
    def width(self) -> float:
        """Pixels from the left of the first to the right of the last column."""
        return self.units[0] * self.unit[0]

    @property
    def height(self) -> float:
        """Pixels from the top of the first to the bottom of the last row."""
        return self.units[1] * self.unit[1]


@dataclass(frozen=True, slots=True)
class Stage:
    """All plates of a step, with their line, and the size of the drawing in pixels."""

    placed: tuple[Placed, ...]
    line_of: tuple[int, ...]
    tops: tuple[float, ...]
    """The upper edge of each line."""
    width: float
    height: float


Shapes = Callable[[Plate], Shape]
"""Positions of the cells of a plate; see `shape_of`."""
Labels = Callable[[Plate], float]
"""The width of the longest label of a plate."""


Rooms = Mapping[tuple[str, str], float]
"""Additional pixels between two neighbours of a level, by the ids of their boxes."""


def place_plates(plates: Plates, shapes: Shapes, label_width: Labels, rooms: Rooms) -> Stage:
    """Place the plates of a step on the number of lines with which they are largest on the page."""
    circuits = [
        [
            _column([(plate, shapes(plate)) for plate, _ in of_column], label_width, rooms)
            for _, of_column in groupby(of_circuit, key=lambda one: one[1])
        ]
        for _, of_circuit in groupby(zip(plates.plates, plates.columns, strict=True), key=lambda one: one[0].circuit)
    ]
    most = max(map(len, circuits), default=1)
    wrapped = [
        [line for columns in circuits for line in _lines(columns, min(number, len(columns)))]
        for number in range(1, min(MAX_LINES, most) + 1)
    ]
    stages = [_stage(lines, 0.0) for lines in wrapped]
    scales = [min(PAGE[0] / stage.width, PAGE[1] / stage.height) for stage in stages]
    chosen = next(at for at, scale in enumerate(scales) if scale >= NEARLY * max(scales))
    lines, stage = wrapped[chosen], stages[chosen]
    spare = stage.height * PAGE[0] / PAGE[1] - stage.width
    return _stage(lines, max(0.0, min(MAX_SPREAD, spare / max(map(len, lines), default=1))))


def _lines(columns: "Sequence[_Column]", number: int) -> "list[list[_Column]]":
    """Wrap levels into lines of about equal width."""
    total = sum(column.width + LEVEL_GAP for column in columns)
    lines: list[list[_Column]] = [[]]
    used = 0.0
    for column in columns:
        middle = used + (column.width + LEVEL_GAP) / 2
        if lines[-1] and middle > len(lines) * total / number:
            lines.append([])
        used += column.width + LEVEL_GAP
        lines[-1].append(column)
    return lines


def _stage(lines: "Sequence[Sequence[_Column]]", spread: float) -> Stage:
    """Place the levels of each line, `spread` pixels further apart than they must be, and from the edges."""
    gap, edge = LEVEL_GAP + spread, MARGIN + spread / 2
    placed: list[Placed] = []
    line_of: list[int] = []
    tops: list[float] = []
    right, top = 0.0, MARGIN
    for number, line in enumerate(lines):
        tops.append(top)
        height = max((column.height for column in line), default=0.0)
        left = edge
        for column in line:
            placed += column.place(left, top, height, gap)
            line_of += [number] * len(column.parts)
            left += column.width + gap
        right = max(right, left - gap)
        top += height + LINE_GAP
    return Stage(tuple(placed), tuple(line_of), tuple(tops), right + edge, top - LINE_GAP + MARGIN)


@dataclass(frozen=True, slots=True)
class _Column:
    """The plates of one level, one below the other."""

    parts: Sequence[tuple[Plate, Shape]]
    gaps: Sequence[float]
    """The gap below each plate."""
    width: float
    height: float

    def place(self, left: float, top: float, height: float, gap: float) -> list[Placed]:
        """Place the plates in the middle of a line; `gap` is that to the next level."""
        y = top + (height - self.height) / 2
        sides = left, left + self.width
        found: list[Placed] = []
        for (plate, shape), below in zip(self.parts, self.gaps, strict=True):
            y += ABOVE + shape.above
            corner = left + (self.width - shape.width) / 2
            found.append(Placed(plate, corner, y, self.width + gap - 10, sides, shape))
            y += shape.height + shape.below + BELOW + below
        return found


def _column(parts: Sequence[tuple[Plate, Shape]], label_width: Labels, rooms: Rooms) -> _Column:
    width = max(max(shape.width, label_width(plate)) for plate, shape in parts)
    ids = [plate.id for plate, _ in parts]
    gaps = [*(PLATE_GAP + rooms.get(neighbours, 0.0) for neighbours in pairwise(ids)), 0.0]
    heights = (shape.above + shape.height + shape.below for _, shape in parts)
    height = sum(height + ABOVE + BELOW for height in heights) + sum(gaps)
    return _Column(parts, gaps, width, height)


# ---------------------------------------------------------------------- one plate


def shape_of(plate: Plate, grid: Grid | None, num_columns: int = 0) -> Shape:
    """Return where the cells of a plate are: at their variables, or else in rows; `num_columns` of a table."""
    shape = None
    if grid is not None:
        shape = _mosaic(plate.cells, grid) if grid.height > 1 else _line(plate.cells, grid)
    return shape or _columns(plate.cells, num_columns) or _rows(len(plate.cells))


def _columns(cells: Sequence[Cell], num_columns: int) -> Shape | None:
    """Place few cells of a table one below the other, as high as the columns that they read are many.

    None for many cells, or if the variables are no columns.
    """
    if not all(cell.columns for cell in cells) or len(cells) > COLUMN:
        return None
    row = min(CELL, SIDE / num_columns)
    heights = [max(cell.columns, round(CELL / row)) for cell in cells]
    if sum(heights) * row > 2 * SIDE:
        return None
    places = tuple((0, sum(heights[:at]), 1, height) for at, height in enumerate(heights))
    return Shape(places, (1, sum(heights)), (WIDE, row))


def _rows(count: int) -> Shape:
    """Place cells in rows, in the order of slices."""
    columns = 1 if count <= COLUMN else ceil(sqrt(count))
    rows = ceil(count / columns)
    unit = max(MIN_CELL, min(CELL, SIDE / max(columns, rows)))
    return Shape(tuple((i % columns, i // columns, 1, 1) for i in range(count)), (columns, rows), (unit, unit))


def _mosaic(cells: Sequence[Cell], grid: Grid) -> Shape | None:
    """Place cells on their regions of the image, channels that have cells of their own side by side.

    None if a cell has no region or two overlap.
    """
    starts = sorted({cell.region.first_channel for cell in cells if cell.region is not None})
    panel = grid.width + 1
    areas = [(r.right - r.left) * (r.bottom - r.top) for r in (cell.region for cell in cells) if r is not None]
    if sum(areas) > grid.width * grid.height * len(starts):
        return None
    width = len(starts) * panel - 1
    taken = 0
    places: list[tuple[int, int, int, int]] = []
    for cell in cells:
        region = cell.region
        if region is None:
            return None
        left = starts.index(region.first_channel) * panel + region.left
        place = (left, region.top, region.right - region.left, region.bottom - region.top)
        pixels = ((1 << place[2]) - 1) * repeated(place[3], width) << (region.top * width + left)
        if taken & pixels:
            return None
        taken |= pixels
        places.append(place)
    pixel = SIDE / max(grid.width, grid.height)
    return Shape(tuple(places), (width, grid.height), (pixel, pixel))


def _line(cells: Sequence[Cell], grid: Grid) -> Shape | None:
    """Place cells at their variables, from top to bottom, those that overlap side by side.

    None if a cell has no region, or there is no room.
    """
    row = min(CELL, SIDE / grid.width)
    if row < MIN_ROW:
        return None
    regions = [cell.region for cell in cells if cell.region is not None]
    if len(regions) < len(cells):
        return None
    first, last = min(region.left for region in regions), max(region.right for region in regions)
    ends: list[int] = []
    places: dict[int, tuple[int, int, int, int]] = {}
    for i, region in sorted(enumerate(regions), key=lambda one: one[1].left):
        lane = next((lane for lane, end in enumerate(ends) if end <= region.left), len(ends))
        if lane == MAX_LANES:
            return None
        ends[lane : lane + 1] = [region.right]
        places[i] = (lane, region.left - first, 1, region.right - region.left)
    ordered = tuple(places[i] for i in range(len(cells)))
    wide = WIDE if len(ends) == 1 and cells[0].columns else CELL
    return Shape(ordered, (len(ends), last - first), (wide, row), first * row, (grid.width - last) * row)
