"""The record of a compilation: events, the recorder, the trace and its files."""

from explorer.trace.answers import (
    Answers,
    ConflictRecord,
    FoldAnswer,
    FoldGroup,
    Lineage,
    MissedFold,
    NearMisses,
    Origin,
    RuleInteraction,
    RuleStats,
    StepCheck,
    WhyNot,
)
from explorer.trace.changes import GraphChange
from explorer.trace.events import (
    TENSOR,
    AttemptsRefused,
    Event,
    Folded,
    LimitReached,
    Listener,
    MatchFound,
    MatchLost,
    Rewritten,
    RuleDescription,
    RunStarted,
    Snapshot,
    StepEnded,
    StepFailed,
    StepStarted,
)
from explorer.trace.file_format import TRACE_FORMAT
from explorer.trace.passes import tries
from explorer.trace.paths import Stage, StepPath, parse_path
from explorer.trace.reading import trace_from_json
from explorer.trace.records import NodeKind, NodeRecord, ParameterNodeRecord, ParameterRecord, record_of, type_title
from explorer.trace.refusal import SWITCHED_OFF, Check, Refusal, RefusalKind
from explorer.trace.steps import NEAR_MISS_LIMIT, MatchRefused, Recorder, Step
from explorer.trace.trace import Trace

__all__ = [
    "NEAR_MISS_LIMIT",
    "SWITCHED_OFF",
    "TENSOR",
    "TRACE_FORMAT",
    "Answers",
    "AttemptsRefused",
    "Check",
    "ConflictRecord",
    "Event",
    "FoldAnswer",
    "FoldGroup",
    "Folded",
    "GraphChange",
    "LimitReached",
    "Lineage",
    "Listener",
    "MatchFound",
    "MatchLost",
    "MatchRefused",
    "MissedFold",
    "NearMisses",
    "NodeKind",
    "NodeRecord",
    "Origin",
    "ParameterNodeRecord",
    "ParameterRecord",
    "Recorder",
    "Refusal",
    "RefusalKind",
    "Rewritten",
    "RuleDescription",
    "RuleInteraction",
    "RuleStats",
    "RunStarted",
    "Snapshot",
    "Stage",
    "Step",
    "StepCheck",
    "StepEnded",
    "StepFailed",
    "StepPath",
    "StepStarted",
    "Trace",
    "WhyNot",
    "parse_path",
    "record_of",
    "trace_from_json",
    "tries",
    "type_title",
]
