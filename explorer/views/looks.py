"""How boxes and arrows look in an image: the colours, borders and signs of the interactive view.

A colour is the name of a role of `widgets/explorer_widgets/theme.json`, or that of a value (`value-37`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from explorer_widgets.schema import BadgeView, EdgeView, NodeView, PictureView
from explorer_widgets.theme import CATEGORIES, CHANGES, LIGHT, MATCHED, value_role

SCALES = ("time", "memory", "fold")
"""Colourings in which a box without a value is hatched."""
MAX_LETTERS = 2
"""Maximum length of the sign of a category."""


@dataclass(frozen=True, slots=True)
class BoxLook:
    """The fill of a box, its text colour, its border, and its hatch: `removed`, `missing` or none."""

    fill: str
    ink: str
    stroke: str
    width: float
    dash: tuple[float, ...]
    hatch: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A round sign at the corner of a box."""

    sign: str
    fill: str
    ink: str
    stroke: str


@dataclass(frozen=True, slots=True)
class LineLook:
    """The line of an arrow."""

    stroke: str
    width: float
    dash: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Pill:
    """The number of layers or folds of a box; `solid` for folds."""

    words: str
    solid: bool


def box_look(node: NodeView, view: PictureView) -> BoxLook:
    """Return the look of a box."""
    fill, ink, hatch = fill_of(node, view)
    change = CHANGES[node["change"]]
    if node["change"] != "kept":
        return BoxLook(fill, ink, node["change"], 2, change.dash, hatch)
    if node["fill"] is not None:
        return BoxLook(fill, ink, "fg", 1, (), hatch)
    matched = node["matched"] and view["colour_by"] == "change"
    return BoxLook(fill, ink, "matchedLine" if matched else "kept", 1.8 if matched else 1.2, (), hatch)


def fill_of(node: NodeView, view: PictureView) -> tuple[str, str, str]:
    """Return the fill of a box, its text colour, and its hatch."""
    hatch = "removed" if node["change"] == "removed" else ""
    if node["fill"] is not None:
        return value_role(node["fill"]), ink_on(value_role(node["fill"])), hatch
    if view["colour_by"] in SCALES and node["category"] is None:
        return "box", "fg", hatch or "missing"
    if node["category"] is not None and view["colour_by"] != "change":
        return f"category-{node['category'] % CATEGORIES}", "fg", hatch
    if view["colour_by"] == "change" and node["matched"]:
        return "matchedFill", "fg", hatch
    if view["colour_by"] == "change" and node["change"] != "kept":
        return f"{node['change']}Fill", "fg", hatch
    return "box", "fg", hatch


def signs_of(node: NodeView, view: PictureView, letters: Mapping[int, str]) -> list[Sign]:
    """Return the signs of a box: what changed, what matched, and the letter of its category."""
    signs: list[Sign] = []
    if node["change"] != "kept":
        signs.append(Sign(CHANGES[node["change"]].sign, node["change"], ink_on(node["change"]), "box"))
    if node["matched"]:
        signs.append(Sign(MATCHED, "matched", "onMatched", "matchedLine"))
    category = node["category"]
    letter = letters.get(category, "") if category is not None and view["colour_by"] != "change" else ""
    if 0 < len(letter) <= MAX_LETTERS:
        signs.append(Sign(letter, "panel", "fg", "kept"))
    return signs


def letters_of(view: PictureView) -> dict[int, str]:
    """Return the sign of each category."""
    items = ((item["role"].removeprefix("category-"), item["sign"]) for item in view["legend"])
    return {int(number): sign for number, sign in items if number.isdigit() and sign}


def pill_of(node: NodeView) -> Pill | None:
    """Return the number at the upper right corner of a box, if there is one."""
    if node["folds"] > 1:
        return Pill(f"{node['count']} · ×{node['folds']}" if node["count"] > 1 else f"×{node['folds']}", True)
    return Pill(str(node["count"]), False) if node["count"] > 1 else None


def badge_colours(badge: BadgeView) -> tuple[str, str]:
    """Return the fill and the text colour of a badge."""
    role = badge["tone"] if badge["tone"] in LIGHT else "info"
    return role, ink_on(role)


def line_look(edge: EdgeView) -> LineLook:
    """Return the look of an arrow; one that stands for many edges is wider."""
    width = min(4.0, 1.2 + 0.35 * log2(max(1, edge["count"])))
    kept = edge["change"] == "kept"
    return LineLook("edge" if kept else edge["change"], width + (0 if kept else 0.6), CHANGES[edge["change"]].edge_dash)


def ink_on(role: str) -> str:
    """Return the role of text on a role: `onAdded` for `added`."""
    return f"on{role[0].upper()}{role[1:]}"


def css(colour: str) -> str:
    """Return a colour for CSS."""
    return colour if colour.startswith("#") else f"var(--{colour})"


def dashes(dash: Sequence[float]) -> str:
    """Return a dash pattern as an attribute; empty for a solid line."""
    return f' stroke-dasharray="{" ".join(f"{part:g}" for part in dash)}"' if dash else ""
