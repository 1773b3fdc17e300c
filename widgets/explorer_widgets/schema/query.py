"""Questions about an image: its observed pixels, and what a circuit answered."""

from typing import TypedDict


class ImageView(TypedDict):
    """An image with its name."""

    label: str
    x: list[float]
    """The value of each variable, channel by channel and row by row."""


class QueryView(TypedDict):
    """A pad for the observed pixels of an image, and the images of an answer next to it."""

    version: int
    image: list[int]
    """Channels, height and width; none: there is nothing to paint."""
    most: float
    """The largest value of a pixel."""
    step: float
    """The smallest difference of two values: 1 if they are integers."""
    examples: list[ImageView]
    """Images that can be taken as a whole."""
    x: list[float]
    observed: list[int]
    """The painted image, and which of its variables are observed (1): values of the others are ignored."""
    n: int
    """The number of the evidence that this answers: later strokes are kept."""
    answers: list[ImageView]
    """Rows that the circuit answered."""
    note: str
    """Description of the answers, in a sentence."""
    chosen: int
    """The position of the answer that is chosen."""
