"""The colours, signs and outlines of every renderer, from `theme.json`, which the views in JavaScript read too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

FILE = Path(__file__).with_name("theme.json")
DARK_BELOW = 0.18
"""Fills of a lower luminance have white text."""


@dataclass(frozen=True, slots=True)
class Change:
    """Marks that tell changed boxes and edges apart without colour."""

    sign: str
    dash: tuple[float, ...]
    edge_dash: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The sign and the outline of a match, a conflict or a near miss; `line` and `fill` are roles."""

    sign: str
    line: str
    fill: str
    width: float
    dash: tuple[float, ...]
    hatch: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """The sign of a kind of node in text, its name, and its symbol: strokes in a square of 16, as an SVG path."""

    sign: str
    words: str
    symbol: str


@dataclass(frozen=True, slots=True)
class Tone:
    """The sign and the words of a change in time; its name is also its role."""

    sign: str
    words: str


@dataclass(frozen=True, slots=True)
class Lane:
    """Whose times: the name of a lane, the role of its bars, and whether they are of a recorded run.

    `backend` is empty for the times of layers.
    """

    words: str
    line: str
    recorded: bool
    backend: str


def _colours(theme: Mapping[str, Any]) -> Mapping[str, str]:
    categories = {f"category-{number}": colour for number, colour in enumerate(theme["categories"])}
    return MappingProxyType({**theme["roles"], **categories})


_TABLE: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

LIGHT = _colours(_TABLE["light"])
"""Colours by role, among them `category-0`, `category-1` and so on."""
DARK = _colours(_TABLE["dark"])
CATEGORIES: int = len(_TABLE["light"]["categories"])
"""Number of colours of the categorical palette."""
SERIES: tuple[str, ...] = tuple(_TABLE["light"]["series"])
CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        name: Change(change["sign"], tuple(change["dash"]), tuple(change["edgeDash"]))
        for name, change in _TABLE["changes"].items()
    }
)
HULLS: Mapping[str, Outline] = MappingProxyType(
    {
        kind: Outline(hull["sign"], hull["line"], hull["fill"], hull["width"], tuple(hull["dash"]), hull["hatch"])
        for kind, hull in _TABLE["hulls"].items()
    }
)
KINDS: Mapping[str, Kind] = MappingProxyType({name: Kind(**kind) for name, kind in _TABLE["kinds"].items()})
FONT: str = _TABLE["font"]
"""The font of all views, for CSS."""
MATCHED: str = _TABLE["matched"]
"""The sign of a box that is part of a match."""
LANES: Mapping[str, Lane] = MappingProxyType({name: Lane(**lane) for name, lane in _TABLE["lanes"].items()})
"""In the order in which they are shown."""
CLOSEUPS: Mapping[str, str] = MappingProxyType(_TABLE["closeup"])
"""The parts of the close-up, in the order of their buttons, and the words on those: the first is shown at first."""
TONES: Mapping[str, Tone] = MappingProxyType({name: Tone(**tone) for name, tone in _TABLE["tones"].items()})


def value_role(value: float) -> str:
    """Return the role of a value from 0 to 1, in percent; the role of text on it begins with `on`."""
    return f"value-{_percent(value)}"


def value_colour(value: float, *, dark: bool = False) -> str:
    """Return the colour (cividis) of a value from 0 to 1: the largest is the one that differs most from the ground."""
    ramp: list[str] = _TABLE["heat"]
    share = _percent(value) / 100
    scaled = (share if dark else 1.0 - share) * (len(ramp) - 1)
    low = min(len(ramp) - 2, int(scaled))
    pairs = zip(_rgb(ramp[low]), _rgb(ramp[low + 1]), strict=True)
    return "#" + "".join(f"{int(a + (b - a) * (scaled - low) + 0.5):02x}" for a, b in pairs)


def is_dark(colour: str) -> bool:
    """Return whether white text is legible on a colour, by its relative luminance (WCAG 2)."""
    parts = [part / 255 for part in _rgb(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] <= DARK_BELOW


def _percent(value: float) -> int:
    return int(100 * min(1.0, max(0.0, value)) + 0.5)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _values(*, dark: bool) -> Mapping[str, str]:
    colours = {number: value_colour(number / 100, dark=dark) for number in range(101)}
    inks = {f"onValue-{number}": "#ffffff" if is_dark(colour) else "#000000" for number, colour in colours.items()}
    return MappingProxyType({**{f"value-{number}": colour for number, colour in colours.items()}, **inks})


LIGHT_VALUES = _values(dark=False)
"""Colours of values, and of text on them, by role."""
DARK_VALUES = _values(dark=True)
