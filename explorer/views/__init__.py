"""Views: pure functions from a trace to plain data for drawing. The contract is `widgets.schema`.

Create one `TraceIndex` per trace and pass it to every view: it holds the data that they share.
"""

from explorer.views.bottlenecks import Bottleneck, bottlenecks
from explorer.views.comparing import (
    Counterparts,
    TraceDifference,
    compare_table,
    counterparts,
    first_difference_of_traces,
    same_circuit,
)
from explorer.views.costs import FIGURES, Measured, cost_strip, figure_bars, time_bars, waterfall
from explorer.views.details import details, match_details, near_misses, why_not
from explorer.views.folds import fold_level, fold_levels, missed_folds, why_not_folded
from explorer.views.index import TraceIndex
from explorer.views.messages import RUN_MORE, SHOW_ALL, SHOW_MISSES
from explorer.views.picture import ALL_MODES, COLOURS, GROUPINGS, MODES, Picture, picture
from explorer.views.predicting import Answer, Question, QuestionKind, Verdict, check, question_about, questions
from explorer.views.question_view import question_view
from explorer.views.recording import PictureKey, add_looks, empty_recording, recording
from explorer.views.static_svg import static_svg
from explorer.views.steps import only_changing, steps
from explorer.views.timings import (
    SpeedUp,
    check_fits,
    conditions,
    crossover_text,
    layer_heat,
    layer_table,
    layers_note,
    measurements,
    memory_table,
    mode_bars,
    no_cuda_text,
    speed_up,
    step_bars,
    sweep_bars,
    time_waterfall,
)
from explorer.views.trials import PatternTrial

__all__ = [
    "ALL_MODES",
    "COLOURS",
    "FIGURES",
    "GROUPINGS",
    "MODES",
    "RUN_MORE",
    "SHOW_ALL",
    "SHOW_MISSES",
    "Answer",
    "Bottleneck",
    "Counterparts",
    "Measured",
    "PatternTrial",
    "Picture",
    "PictureKey",
    "Question",
    "QuestionKind",
    "SpeedUp",
    "TraceDifference",
    "TraceIndex",
    "Verdict",
    "add_looks",
    "bottlenecks",
    "check",
    "check_fits",
    "compare_table",
    "conditions",
    "cost_strip",
    "counterparts",
    "crossover_text",
    "details",
    "empty_recording",
    "figure_bars",
    "first_difference_of_traces",
    "fold_level",
    "fold_levels",
    "layer_heat",
    "layer_table",
    "layers_note",
    "match_details",
    "measurements",
    "memory_table",
    "missed_folds",
    "mode_bars",
    "near_misses",
    "no_cuda_text",
    "only_changing",
    "picture",
    "question_about",
    "question_view",
    "questions",
    "recording",
    "same_circuit",
    "speed_up",
    "static_svg",
    "step_bars",
    "steps",
    "sweep_bars",
    "time_bars",
    "time_waterfall",
    "waterfall",
    "why_not",
    "why_not_folded",
]
