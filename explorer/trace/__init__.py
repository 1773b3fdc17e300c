"""The record of a compilation: events, the recorder, the trace and its files."""

from explorer.trace.events import (
    Event,
    Folded,
    LimitReached,
    Listener,
    MatchFound,
    MatchLost,
    MatchRefused,
    Rewritten,
    RuleDescription,
    RunStarted,
    Snapshot,
    StepEnded,
    StepFailed,
    StepStarted,
)
from explorer.trace.refusal import Refusal, RefusalKind

__all__ = [
    "Event",
    "Folded",
    "LimitReached",
    "Listener",
    "MatchFound",
    "MatchLost",
    "MatchRefused",
    "Refusal",
    "RefusalKind",
    "Rewritten",
    "RuleDescription",
    "RunStarted",
    "Snapshot",
    "StepEnded",
    "StepFailed",
    "StepStarted",
]
