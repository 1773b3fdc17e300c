"""Sizes, strokes and text styles of plates, from `theme.json`; `js/plates/look.js` reads the same table."""

import json
from collections.abc import Mapping
from typing import TypedDict

from explorer_widgets.theme import FILE


class WordLook(TypedDict):
    """The font of some words, and the role of their colour."""

    size: float
    weight: int
    style: str
    ink: str


class TitleLook(TypedDict):
    """Distance of a title from separate cells, and from the sheets of a folded layer."""

    above: float
    above_sheets: float


class LinesLook(TypedDict):
    """The lines below a plate: their distance from the cells, their height in parts of the font size, how many."""

    below: float
    height: float
    most: int


class CellLook(TypedDict):
    """Strokes of a cell and of a slice, and the largest radius of a corner.

    A smaller cell than `round` has no round corners, one smaller than `parted` no stroke, a slice smaller than twice
    that no stroke, and one smaller than `numbered` times the size of a number has no number.
    """

    stroke: float
    slice: float
    corner: float
    round: float
    parted: float
    number: float
    numbered: float


class SheetsLook(TypedDict):
    """Offsets of the sheets behind a folded layer, and their opacity."""

    far: float
    near: float
    fill: float
    stroke: float


class MarkLook(TypedDict):
    """Words for the legend, and the outline of a marked cell; `line` is a role."""

    words: str
    line: str
    width: float
    dash: list[float]


class ReadLook(TypedDict):
    """The width of a line between cells, and its bend; a line for n reads is as wide as many + more log2(n).

    Beyond `each` reads in a picture, a line connects plates, not their cells, except at the cell at the pointer.
    At most `few` reads do not cover each other: their lines are less transparent.
    """

    width: float
    bend: float
    corner: float
    many: float
    more: float
    most: float
    each: int
    few: int


class BarsLook(TypedDict):
    """The longest half bar, its distance from the cells, its height, the gap, and the opacity of recorded times."""

    length: float
    off: float
    thick: float
    gap: float
    recorded: float


class LinkLook(TypedDict):
    """The line of a missed fold."""

    width: float
    dash: list[float]


class PortLook(TypedDict):
    """The circle at an end of a line that is cut, the size of its number, and the width of its strokes."""

    radius: float
    text: float
    stroke: float


class TagLook(TypedDict):
    """The size of the name of a match on plates and in a graph; at the latter its height, and its width as a sign."""

    size: float
    drawn: float
    height: float
    sign: float


class PlateLook(TypedDict):
    """The look of plates."""

    words: Mapping[str, WordLook]
    """`title`, `calls`, `news`, `line` (below a plate), `reason` (of a missed fold)."""
    title: TitleLook
    lines: LinesLook
    cell: CellLook
    sheets: SheetsLook
    frame: float
    marks: Mapping[str, MarkLook]
    marked: float
    """If all cells of a plate are marked and smaller than this, they have one outline."""
    cross: float
    """The largest cross in a cell that lost a conflict."""
    reads: Mapping[str, float]
    """The opacity of the lines between cells, by role."""
    read: ReadLook
    bars: BarsLook
    link: LinkLook
    port: PortLook
    halo: float
    """Width of the ground around words."""
    tint: float
    """Opacity of the inside of an outline."""
    tag: TagLook
    ascent: float
    """The part of a text above its baseline."""


PLATES: PlateLook = json.loads(FILE.read_text(encoding="utf-8"))["plates"]
