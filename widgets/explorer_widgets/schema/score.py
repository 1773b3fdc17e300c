"""The score: calls in a row, from left to right, as marks that are drawn one after the other."""

from typing import Literal, NotRequired, TypedDict

MarkShape = Literal["rect", "body", "arc", "dot", "text"]
"""`body`: a slab around its middle; `arc`: a line from one foot to another; `dot`: a sign in a circle."""


class ScoreMarkView(TypedDict):
    """A mark. Colours are roles of the theme or `category-3`.

    `at` is left, top, width and height in pixels. A zoom stretches the row, and with it left and width, but not the
    height, the text and what is `fixed`, which is at the left end of the view. Of a body, left is its middle and width
    its room. An arc is as high as `height`: upward from its feet at `top`, downward if that is negative.
    """

    shape: MarkShape
    key: str
    """The same in the picture of another step if it is drawn for the same thing."""
    at: list[float]
    was: NotRequired[str]
    """The key, before the step, of the mark that it came out of."""
    fill: NotRequired[str]
    stroke: NotRequired[str]
    width: NotRequired[float]
    """The width of the line; 1 by default."""
    dash: NotRequired[list[float]]
    radius: NotRequired[float]
    thick: NotRequired[float]
    """The thickness of a body, unless it has less room."""
    words: NotRequired[list[str]]
    """Texts, the longest first: the first one with room is drawn; the last one is turned, or cut, if it has none."""
    ink: NotRequired[str]
    size: NotRequired[float]
    """The size of the text; 12 by default."""
    bold: NotRequired[bool]
    start: NotRequired[bool]
    """Whether the text begins at the left; by default it is in the middle."""
    fixed: NotRequired[bool]
    box: NotRequired[str]
    """The box that it belongs to."""
    tip: NotRequired[str]
    """A text that is shown at the pointer, in lines."""
    zooms: NotRequired[bool]
    """Whether a click shows what is above and below it over the whole width."""
    pair: NotRequired[list[str]]
    """The boxes that a click selects; an arc with boxes is drawn while one of them is selected."""
    lights: NotRequired[list[str]]
    """The keys of the marks that it is about: they are lit while the pointer is at it."""


class ScoreView(TypedDict):
    """What the grouping `score` draws."""

    left: float
    """Where the row begins, right of the names of the lanes."""
    marks: list[ScoreMarkView]
