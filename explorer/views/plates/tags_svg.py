"""Names of matches on plates as SVG elements: placed by the rule of `widgets/js/plates/tags.js`, at full size."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.views.graph_svg import tag_element, tag_width
from explorer.views.plates.labels_svg import Words
from explorer_widgets.plate_look import PLATES
from explorer_widgets.schema import HullView

LOOK = PLATES["tag"]
SIZE = LOOK["size"] / LOOK["drawn"]
HEIGHT, SIGN_WIDTH = LOOK["height"], LOOK["sign"]

Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Tag:
    """A name at its place; `is_sign` if only its sign has room."""

    hull: HullView
    area: Area
    is_sign: bool


def place_tags(hulls: Sequence[HullView], labels: Sequence[Sequence[Words]], right: float) -> list[Tag]:
    """Place the names of hulls, short ones first; what has no room is only a sign, or hidden.

    `labels` are the words of each plate, its title first, and `right` is the right edge of the plates.
    """
    titles = [label[0].area for label in labels]
    placed: list[Tag] = []
    tagged = [(hull, hull["tag"], tag_width(hull)) for hull in hulls if "tag" in hull]
    for hull, (x, top), width in sorted(tagged, key=lambda one: one[2]):
        bottom = top + HEIGHT * SIZE
        left = max(0.0, min(x, right + SIGN_WIDTH - width * SIZE))
        whole, sign = (left, top, left + width * SIZE, bottom), (x, top, x + SIGN_WIDTH * SIZE, bottom)
        taken = [*(tag.area for tag in placed), *titles]
        fitting = next((area for area in (whole, sign) if not any(_meet(area, other) for other in taken)), None)
        if fitting is not None:
            placed.append(Tag(hull, fitting, fitting is sign))
    return placed


def tag_elements(hulls: Sequence[HullView], tags: Sequence[Tag]) -> list[str]:
    """Return the elements of the names that have room, in the order of the hulls."""
    by_id = {tag.hull["id"]: tag for tag in tags}
    found = (by_id[hull["id"]] for hull in hulls if hull["id"] in by_id)
    return [
        tag_element(tag.hull, (tag.area[0], tag.area[1]), SIZE, SIGN_WIDTH if tag.is_sign else None) for tag in found
    ]


def seen_words(words: Sequence[Words], tags: Sequence[Tag]) -> list[Words]:
    """Return the words of a plate without those below its cells that a name covers."""
    return [*words[:1], *(one for one in words[1:] if not any(_meet(tag.area, one.area) for tag in tags))]


def _meet(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
