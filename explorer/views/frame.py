"""The part of a picture that an image shows: the part with boxes.

Positions are shared by all steps so that stepping moves little; in a late step the first thousand pixels may be empty.
"""

from dataclasses import dataclass

from explorer.views.graph_svg import tag_width
from explorer.views.layout import MARGIN
from explorer.views.lines import Place
from explorer.views.picture import PAINTERS, Picture
from explorer_widgets.schema import PictureView

MIN_WIDTH, MIN_HEIGHT = 160.0, 60.0
EDGE = 6.0
"""Minimum distance of the name of a match from the frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One state: the boxes, and the corner and the size of the frame in pixels."""

    view: PictureView
    places: list[Place]
    left: float
    top: float
    width: float
    height: float


def frames_of(picture: Picture) -> list[Frame]:
    """Return the frame of a picture; in mode `side`, those of both states."""
    frames: list[Frame] = []
    rows = picture.places
    for view in (picture.view, *([picture.view["other"]] if "other" in picture.view else [])):
        own, rows = rows[: len(view["nodes"])], rows[len(view["nodes"]) :]
        whole = PAINTERS[view["group_by"]].has_margins
        left = 0.0 if whole else max(0.0, min((x - w / 2 for x, _, w, _ in own), default=0.0) - MARGIN)
        top = 0.0 if whole else max(0.0, min((y - h / 2 for _, y, _, h in own), default=0.0) - MARGIN)
        tags = [(*tag, tag[0] + tag_width(hull)) for hull in view["hulls"] if (tag := hull.get("tag"))]
        left = min([left, *(x - EDGE for x, _, _ in tags)])
        top = min([top, *(y - EDGE for _, y, _ in tags)])
        ends = [] if whole else [end + EDGE for _, _, end in tags]  # on plates they are moved inside
        right = max([view["width"], *ends])
        width, height = max(right - left, MIN_WIDTH), max(view["height"] - top, MIN_HEIGHT)
        frames.append(Frame(view, own, left, top, width, height))
    return frames
