"""How boxes and arrows are drawn: colours as roles, borders, hatches and signs, which the renderers only draw.

A colour is the name of a role of `widgets/explorer_widgets/theme.json`, or that of a value (`value-37`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from explorer.views.fills import CATEGORIES, LETTERS
from explorer_widgets.schema import Change, ColourBy, EdgeView, LookView, NodeKind, SignView
from explorer_widgets.theme import CHANGES, MATCHED, value_role

SCALES = ("time", "memory", "fold")
"""Colourings in which a box without a value is hatched."""


@dataclass(frozen=True, slots=True)
class LineLook:
    """The line of an arrow."""

    stroke: str
    width: float
    dash: tuple[float, ...]


def box_look(colour_by: ColourBy, change: Change, matched: bool, value: float | None, category: int | None) -> LookView:
    """Return the look of a box that has a value on the scale of 0 to 1, a category, or neither."""
    look = _filled(colour_by, change, matched, value, category)
    if change == "removed":
        look["hatch"] = "removed"
    if change != "kept":
        look["stroke"], look["width"] = change, 2.0
        if CHANGES[change].dash:
            look["dash"] = [*CHANGES[change].dash]
    elif value is not None:  # on a strong fill the grey border, and with it the stack, would be invisible
        look["stroke"], look["width"] = "fg", 1.0
    elif matched and colour_by == "change":
        look["stroke"], look["width"] = "matchedLine", 1.8
    signs = _signs(change, matched, None if colour_by == "change" else category)
    if signs:
        look["signs"] = signs
    return look


def plate_look(
    colour_by: ColourBy, kind: NodeKind, matched: bool, value: float | None, category: int | None
) -> LookView:
    """Return the look of a plate, which has the colour of its kind unless the picture is coloured by a value."""
    if colour_by in ("change", "kind"):
        return {"fill": kind, "ink": "onCell"}
    return _filled(colour_by, "kept", matched, value, category)


def _filled(colour_by: ColourBy, change: Change, matched: bool, value: float | None, category: int | None) -> LookView:
    """Return the fill, the colour of text on it, and the hatch of a missing value."""
    if value is not None:
        return {"fill": value_role(value), "ink": ink_on(value_role(value))}
    if colour_by in SCALES and category is None:
        return {"fill": "box", "ink": "fg", "hatch": "missing"}
    if category is not None and colour_by != "change":
        return {"fill": f"category-{category % CATEGORIES}", "ink": "fg"}
    if colour_by == "change" and matched:
        return {"fill": "matchedFill", "ink": "fg"}
    return {"fill": f"{change}Fill" if colour_by == "change" and change != "kept" else "box", "ink": "fg"}


def _signs(change: Change, matched: bool, category: int | None) -> list[SignView]:
    """Return the signs of a box: what changed, what matched, and the letter of its category."""
    signs: list[SignView] = []
    if change != "kept":
        signs.append({"sign": CHANGES[change].sign, "fill": change, "ink": ink_on(change), "stroke": "box"})
    if matched:
        signs.append({"sign": MATCHED, "fill": "matched", "ink": "onMatched", "stroke": "matchedLine"})
    if category is not None:
        signs.append({"sign": LETTERS[category], "fill": "panel", "ink": "fg", "stroke": "kept"})
    return signs


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
