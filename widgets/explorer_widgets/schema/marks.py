"""SVG elements as data."""

from typing import NotRequired, TypedDict


class MarkView(TypedDict):
    """An SVG element with its other attributes by name; `fill` and `stroke` are roles, `none`, or `url(#pattern)`.

    On an axis, `from` and `to` are shares of its length: the ends of a line or of a rectangle, or where the rest is.
    """

    tag: str
    text: NotRequired[str]
    parts: NotRequired[list["MarkView"]]
    fill: NotRequired[str]
    stroke: NotRequired[str]
