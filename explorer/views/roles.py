"""Colours and signs of the roles in static pictures (SVG, PNG): Okabe-Ito, each with a sign."""

from collections.abc import Mapping

CIVIDIS = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")
CATEGORY_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")
DARK_FILLS = frozenset({"#0072B2", *CIVIDIS[:3]})
"""Fills on which text is white."""

LIGHT: Mapping[str, str] = {
    "page": "#ffffff",
    "ink": "#1a1a1a",
    "soft": "#565656",
    "box": "#f6f6f6",
    "line": "#767676",
    "added": "#009E73",
    "removed": "#D55E00",
    "changed": "#0072B2",
    "matched": "#E69F00",
    "near": "#CC79A7",
    "lost": "#6E6E6E",
}
DARK: Mapping[str, str] = {
    **LIGHT,
    "page": "#16181c",
    "ink": "#f0f0f0",
    "soft": "#b4b4b4",
    "box": "#262a31",
    "line": "#8f8f8f",
    "changed": "#56B4E9",
    "lost": "#a0a0a0",
}

OUTPUT = "out"
"""The sign of outputs if a circuit has several: they must not disappear inside a match."""
SIGNS: Mapping[str, str] = {"added": "+", "removed": "−", "changed": "~"}
KIND_SIGNS: Mapping[str, str] = {
    "input": "▽",
    "sum": "Σ",
    "product": "∏",
    "fused": "Σ∏",
    "operator": "○",
    "leaf": "◇",
}

HULL_PADS: Mapping[str, int] = {"match": 10, "winner": 10, "lost": 14, "near-miss": 18}
"""Distance of the outline of a match from its boxes; different kinds do not overlap."""


def corner_radius(kind: str, height: float) -> float:
    """Return the corner radius of a box, which shows its kind."""
    return {"input": height / 2, "product": 2.0, "operator": 8.0, "leaf": 8.0}.get(kind, 10.0)
