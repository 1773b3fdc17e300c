"""Views: plain data for drawing, made from a trace by pure functions. The contract is `widgets.schema`.

Make one `TraceIndex` for a trace and hand it to every view: it keeps what they have in common.
"""

from explorer.views.costs import FIGURES, Measured, cost_strip, course, time_bars, waterfall
from explorer.views.details import details, match_details, near_misses, why_not
from explorer.views.folds import fold_level, fold_levels, missed_folds, why_not_folded
from explorer.views.index import TraceIndex
from explorer.views.picture import COLOURS, GROUPINGS, MODES, Picture, picture
from explorer.views.recording import recording
from explorer.views.static_svg import static_svg
from explorer.views.steps import only_changing, steps

__all__ = [
    "COLOURS",
    "FIGURES",
    "GROUPINGS",
    "MODES",
    "Measured",
    "Picture",
    "TraceIndex",
    "cost_strip",
    "course",
    "details",
    "fold_level",
    "fold_levels",
    "match_details",
    "missed_folds",
    "near_misses",
    "only_changing",
    "picture",
    "recording",
    "static_svg",
    "steps",
    "time_bars",
    "waterfall",
    "why_not",
    "why_not_folded",
]
