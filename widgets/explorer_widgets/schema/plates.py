"""The inside of a plate, and what joins plates."""

from typing import Literal, NotRequired, TypedDict


class BadgeView(TypedDict):
    """A small sign at a node; `tone` selects its colour; `text` is the tooltip, also read by screen readers."""

    sign: str
    text: str
    tone: Literal["info", "warning", "error"]


class HalfBarView(TypedDict):
    """The measured time of the calls of a plate in one lane."""

    lane: str
    """`cpu`, `cuda`, or those of a recorded run: `recorded-cpu`, `recorded-cuda`."""
    share: float
    """Of the longest time in the picture: 0 to 1."""
    text: str
    """The time with its interval."""


class PlateView(TypedDict):
    """Content of a box that is a plate: a cell for each layer, or for each slice of a folded layer.

    The box is the area of the cells; the title is above it, the other words are below.
    """

    cells: list[int]
    """The layer of each cell, also after it became a slice; -1 if it was folded before the trace."""
    names: NotRequired[list[str]]
    """The name of the layer of each cell, or an empty string; only if a layer has one."""
    places: list[int]
    """Column, row, width and height of each cell, in units; the corner of the box is (0, 0)."""
    unit: list[float]
    """Width and height of a unit in pixels."""
    gap: float
    """Pixels between two cells: each is a call. 0: they are slices, and the plate is one call."""
    room: float
    """Width for the words in pixels."""
    calls: str
    """`64 calls`; `64 → 1 call` if the step folded it."""
    news: str
    """Layers that the step rewrote: `was Hadamard + Sum`; before it, what was blocked: `16 of 20 matched`; or empty."""
    reads: str
    """Read of a layer after its level is folded: `gather, copies 64 KiB`; empty for others."""
    copies: NotRequired[str]
    """The same in short, where that has no room: `copies 64 KiB`."""
    shape: str
    columns: NotRequired[str]
    """The columns of a table that inputs read: named at every scale."""
    """The shapes of its parameters: `64×16×17`."""
    marks: NotRequired[dict[str, list[int]]]
    """Cells by what happened to them; `marks` in `theme.json` lists the marks."""
    times: NotRequired[list[HalfBarView]]
    """Only if the calls of the plate were measured."""


class LinkView(TypedDict):
    """A dotted line between two plates whose layers were nearly folded together."""

    source: str
    target: str
    points: list[list[float]]
    """Its corners ([x, y])."""
    lines: list[str]
    """The reason, in lines."""
    at: NotRequired[list[float]]
    """Middle of the upper edge of the reason; without it, there is room only when the link is selected."""
