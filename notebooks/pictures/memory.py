"""How a folded layer reads its inputs: two strips of slices in memory order, and the lines between them."""

from collections.abc import Mapping, Sequence

from pictures.svg import BLUE, ORANGE, Drawing, Figure

SIDE, LEFT, ROW = 34, 20, 150
"""Pixels of a slice, of the margin, and of a pair of strips."""
FREE = ("view", "slice", "transpose", "expand")
"""Reads that are views of the same memory."""


def memory_strips(reads: Mapping[str, tuple[str, Sequence[Sequence[int]]]], count: int) -> Figure:
    """Draw for each title how (kind of read, rows of slices) reads the `count` slices of a layer.

    The upper strip is the layer that is read. The lower one is what the folded layer sees: row by row, and for a
    transpose column by column, which is the order in which the read is regular.
    """
    drawing = Drawing(height=ROW * len(reads) + 20)
    said = []
    for at, (title, (kind, rows)) in enumerate(reads.items()):
        top = 20 + ROW * at
        free = kind in FREE
        colour = BLUE if free else ORANGE
        by_column = kind == "transpose"
        parts = [list(part) for part in zip(*rows, strict=True)] if by_column else [list(row) for row in rows]
        wanted = [piece for part in parts for piece in part]
        drawing.text(LEFT, top + 14, f"{title}: {kind}", bold=True)
        cost = "no copy" if free else f"copies {len(wanted)} slices"
        drawing.text(LEFT + 720, top + 14, cost, at="end", colour=colour, bold=True)
        _strip(drawing, top + 24, [str(piece) for piece in range(count)], BLUE)
        x = LEFT
        below = top + 24 + SIDE + 34
        for index, part in enumerate(parts):
            for piece in part:
                drawing.line([(LEFT + SIDE * (piece + 0.5), top + 24 + SIDE), (x + SIDE / 2, below)], colour, width=1.8)
                _slice(drawing, x, below, str(piece), colour, copied=not free)
                x += SIDE
            name = f"input {index}" if by_column else f"row {index}"
            drawing.text(x - SIDE * len(part) / 2, below + SIDE + 15, name, at="middle", small=True)
            x += 14
        said.append(f"{title}: {kind}, {cost}, slices {wanted}")
    return drawing.figure(". ".join(said) + ".")


def _strip(drawing: Drawing, y: float, names: Sequence[str], colour: str) -> None:
    for at, name in enumerate(names):
        _slice(drawing, LEFT + SIDE * at, y, name, colour, copied=False)


def _slice(drawing: Drawing, x: float, y: float, name: str, colour: str, *, copied: bool) -> None:
    drawing.rect(x, y, SIDE, SIDE, colour, fill="" if copied else "#ffffff")
    drawing.text(x + SIDE / 2, y + SIDE / 2 + 5, name, at="middle")
