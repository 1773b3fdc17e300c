"""Signs and shapes of the roles in static pictures (SVG, PNG); their colours are those of `widgets/theme.json`."""

from collections.abc import Mapping

from widgets.theme import CHANGES

OUTPUT = "out"
"""The sign of outputs if a circuit has several: they must not disappear inside a match."""
SIGNS: Mapping[str, str] = {name: change.sign for name, change in CHANGES.items() if change.sign}
KIND_SIGNS: Mapping[str, str] = {
    "input": "▽",
    "sum": "Σ",
    "product": "∏",
    "fused": "Σ∏",
    "matmul": "▦",
    "view": "↔",
    "operator": "○",
    "leaf": "◇",
}

HULL_PADS: Mapping[str, int] = {"match": 10, "winner": 10, "lost": 14, "near-miss": 18}
"""Distance of the outline of a match from its boxes; different kinds do not overlap."""


def corner_radius(kind: str, height: float) -> float:
    """Return the corner radius of a box, which shows its kind."""
    return {"input": height / 2, "product": 2.0, "sum": 10.0, "fused": 10.0}.get(kind, 8.0)
