"""Views: pure functions from a trace to plain data for drawing. The contract is `explorer_widgets.schema`.

Create one `TraceIndex` per trace and pass it to every view: it holds the data that they share.
"""

from explorer.views.bars import bars_svg as bars_svg
from explorer.views.bottlenecks import Bottleneck as Bottleneck, bottlenecks as bottlenecks
from explorer.views.clock import Sources as Sources, clock_view as clock_view, full_width as full_width
from explorer.views.closeup import (
    Input as Input,
    NodeValue as NodeValue,
    StepRun as StepRun,
    digits_on as digits_on,
    failure_text as failure_text,
    find_plate as find_plate,
    no_values as no_values,
    values_view as values_view,
    with_values as with_values,
)
from explorer.views.closeup.values import query_view as query_view
from explorer.views.comparing import (
    Counterparts as Counterparts,
    TraceDifference as TraceDifference,
    compare_table as compare_table,
    counterparts as counterparts,
    first_difference_of_traces as first_difference_of_traces,
    same_circuit as same_circuit,
)
from explorer.views.costs import (
    STATS as STATS,
    Measurements as Measurements,
    cost_strip as cost_strip,
    stat_bars as stat_bars,
    stat_change_bars as stat_change_bars,
)
from explorer.views.derivations import (
    derivation_view as derivation_view,
    layers_of_circuits as layers_of_circuits,
)
from explorer.views.details import (
    details as details,
    match_details as match_details,
)
from explorer.views.fold_level import (
    fold_level as fold_level,
    fold_levels as fold_levels,
    fold_sections as fold_sections,
    missed_folds as missed_folds,
)
from explorer.views.index import TraceIndex as TraceIndex
from explorer.views.lanes import (
    LANES as LANES,
    RECORDED as RECORDED,
    LayerTimes as LayerTimes,
    lane_of as lane_of,
    main_lane as main_lane,
    with_lanes as with_lanes,
    with_more_lanes as with_more_lanes,
)
from explorer.views.layer_timings import (
    heat_at as heat_at,
    layer_heat as layer_heat,
    layer_table as layer_table,
    layer_times_at as layer_times_at,
    layers_note as layers_note,
    layers_notes as layers_notes,
    part_times as part_times,
    roofs_at as roofs_at,
)
from explorer.views.messages import RUN_MORE as RUN_MORE, SHOW_ALL as SHOW_ALL, SHOW_MISSES as SHOW_MISSES
from explorer.views.picture import (
    ALL_MODES as ALL_MODES,
    COLOURS as COLOURS,
    GROUPINGS as GROUPINGS,
    MODES as MODES,
    Picture as Picture,
    picture as picture,
)
from explorer.views.plates.cells import image_of as image_of
from explorer.views.plates.drawing import thumbnail as thumbnail
from explorer.views.plates.lens import (
    WHAT_IF as WHAT_IF,
    add_what_ifs as add_what_ifs,
    offer_what_ifs as offer_what_ifs,
)
from explorer.views.predicting import (
    CLICKED as CLICKED,
    Answer as Answer,
    Question as Question,
    QuestionKind as QuestionKind,
    Verdict as Verdict,
    check as check,
    question_about as question_about,
    questions as questions,
)
from explorer.views.question_view import question_view as question_view
from explorer.views.recording import (
    PictureKey as PictureKey,
    add_looks as add_looks,
    empty_recording as empty_recording,
    recording as recording,
)
from explorer.views.request import PatternTrial as PatternTrial
from explorer.views.static_svg import static_svg as static_svg
from explorer.views.step_details import step_details as step_details
from explorer.views.steps import (
    calls_of as calls_of,
    film as film,
    sentence_of as sentence_of,
    steps as steps,
)
from explorer.views.story import SLIDES as SLIDES, SlidesName as SlidesName, slide_at as slide_at, story as story
from explorer.views.timing_words import (
    SpeedUp as SpeedUp,
    conditions as conditions,
    crossover_text as crossover_text,
    memory_table as memory_table,
    no_cuda_text as no_cuda_text,
    speed_up as speed_up,
)
from explorer.views.timings import (
    INTERVALS as INTERVALS,
    backend_bars as backend_bars,
    check_fits as check_fits,
    gain_bars as gain_bars,
    measurements as measurements,
    mode_bars as mode_bars,
    step_bars as step_bars,
    sweep_bars as sweep_bars,
    time_change_bars as time_change_bars,
)
from explorer.views.words import bytes_text as bytes_text, list_text as list_text, plural as plural
