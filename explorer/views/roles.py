"""What the signs of pictures mean; the signs themselves are in `widgets/explorer_widgets/theme.json`."""

from collections.abc import Mapping

from explorer_widgets.schema import Change, HullKind
from explorer_widgets.theme import HULLS

OUTPUT = "out"
"""The sign of outputs if a circuit has several: they must not disappear inside a match."""
MISSED_FOLD = "≠"
LOST, NEAR_MISS = HULLS["lost"].sign, HULLS["near-miss"].sign

CHANGE_TEXTS: Mapping[Change, str] = {
    "added": "created by this step",
    "removed": "removed by this step",
    "changed": "changed by this step",
}
HULL_TEXTS: Mapping[HullKind, str] = {
    "match": "match that was applied",
    "winner": "match that won a conflict",
    "lost": "match that lost a conflict",
    "near-miss": "near miss",
}
BADGE_TEXTS: Mapping[str, str] = {
    LOST: "lost a conflict",
    NEAR_MISS: "near miss",
    MISSED_FOLD: "nearly folded with another",
    OUTPUT: "output",
}
