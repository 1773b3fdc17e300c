"""The record of a compilation: events, the recorder, the trace and its files."""

from explorer.passes import (
    COMPILED as COMPILED,
    KERNELS as KERNELS,
    PROGRAM as PROGRAM,
    TENSOR as TENSOR,
    WATCHED as WATCHED,
)
from explorer.trace.answers import (
    Answers as Answers,
    FoldAnswer as FoldAnswer,
    FoldChain as FoldChain,
    FoldGroup as FoldGroup,
    Lineage as Lineage,
    MissedFold as MissedFold,
    Origin as Origin,
    StepCheck as StepCheck,
)
from explorer.trace.changes import GraphChange as GraphChange
from explorer.trace.events import (
    AttemptsRefused as AttemptsRefused,
    Event as Event,
    Folded as Folded,
    LimitReached as LimitReached,
    Listener as Listener,
    MatchFound as MatchFound,
    MatchLost as MatchLost,
    Noted as Noted,
    OperatorApplied as OperatorApplied,
    PresentCircuit as PresentCircuit,
    ReadOrdered as ReadOrdered,
    Rewritten as Rewritten,
    RuleDescription as RuleDescription,
    RunStarted as RunStarted,
    Snapshot as Snapshot,
    StepEnded as StepEnded,
    StepFailed as StepFailed,
    StepStarted as StepStarted,
)
from explorer.trace.file_types import TRACE_FORMAT as TRACE_FORMAT
from explorer.trace.fusions import (
    FITS as FITS,
    NO_REASON as NO_REASON,
    FusionAnswer as FusionAnswer,
    PairJudged as PairJudged,
    Verdict as Verdict,
    pairs_of as pairs_of,
)
from explorer.trace.ladder import LEVELS as LEVELS, Level as Level
from explorer.trace.layers import (
    LAYER as LAYER,
    LayerOrigin as LayerOrigin,
    LayerParts as LayerParts,
    ids_text as ids_text,
    layer_of_path as layer_of_path,
    paths_of as paths_of,
    title_of_path as title_of_path,
)
from explorer.trace.memory import (
    SHARING_WORDS as SHARING_WORDS,
    BufferRecord as BufferRecord,
    MemoryRecord as MemoryRecord,
    PairReason as PairReason,
    SharingAnswer as SharingAnswer,
    most_bytes as most_bytes,
)
from explorer.trace.paths import (
    Stage as Stage,
    StepPath as StepPath,
    owner_of_parameter as owner_of_parameter,
    parse_path as parse_path,
)
from explorer.trace.records import (
    NodeKind as NodeKind,
    NodeRecord as NodeRecord,
    ParameterNodeRecord as ParameterNodeRecord,
    ParameterRecord as ParameterRecord,
    record_of as record_of,
    title_of as title_of,
    type_title as type_title,
)
from explorer.trace.refusal import (
    SWITCHED_OFF as SWITCHED_OFF,
    Check as Check,
    Question as Question,
    Refusal as Refusal,
    RefusalKind as RefusalKind,
)
from explorer.trace.rule_answers import (
    ConflictRecord as ConflictRecord,
    NearMisses as NearMisses,
    RuleInteraction as RuleInteraction,
    RuleStats as RuleStats,
    WhatIf as WhatIf,
    WhyNot as WhyNot,
)
from explorer.trace.rules import (
    PassRules as PassRules,
    Rules as Rules,
    group_by_kind as group_by_kind,
    rules_text as rules_text,
    tries as tries,
)
from explorer.trace.steps import (
    MAX_NEAR_MISSES as MAX_NEAR_MISSES,
    KeptNearMisses as KeptNearMisses,
    MatchRefused as MatchRefused,
    Recorder as Recorder,
    Step as Step,
)
from explorer.trace.text import outcome_text as outcome_text
from explorer.trace.trace import Trace as Trace
from explorer.trace.trace_reading import trace_from_json as trace_from_json
from explorer.trace.why_not import is_waivable as is_waivable
