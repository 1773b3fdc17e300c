"""Pins: drawn notes outside the plates that say why their layers are not fewer; each is a button."""

from typing import Literal, NotRequired, TypedDict

from explorer_widgets.schema.lens import WhatIfView
from explorer_widgets.schema.marks import MarkView

PinKind = Literal["waits", "levels", "blocked", "contest", "more"]


class PinView(TypedDict):
    """A note, drawn from `marks`; a click plays the attempt: cells begin to close up, and lines hold them apart."""

    id: str
    kind: PinKind
    text: str
    """In a few words: the name of the button."""
    reason: str
    """In a sentence."""
    nodes: list[str]
    """The plates that it is about."""
    box: list[float]
    """The x and y of its middle, its width and its height."""
    leader: list[MarkView]
    """The line to the nearest plate; empty if the pin is on the line that it is about."""
    marks: list[MarkView]
    """Around its middle; as large on the screen as in the picture, or larger."""
    small: list[MarkView]
    """The same without words, where they have no room."""
    strokes: list[MarkView]
    """Lines that keep layers apart, in the picture."""
    ends: list[int]
    """The layers at the ends of each stroke: source, user, source, user, ..."""
    cells: list[int]
    """The layers that would close up."""
    verdict: NotRequired[str]
    """What the attempt shows, in a sentence."""
    hull: NotRequired[str]
    """The outline of the state before the step that a click lights instead."""
    rule: NotRequired[str]
    """The rule that was refused between the first two cells."""
    what_if: NotRequired[WhatIfView]
    """Only if there is an answer to what if this check had passed, where the host adds it."""
