"""One framework for the levels below compiled: states that passes change, one kind of pass, one recorder."""

from explorer.levels.recording import (
    NO_OBSERVER as NO_OBSERVER,
    Change as Change,
    Kept as Kept,
    LevelSnapshot as LevelSnapshot,
    Limit as Limit,
    NoObserver as NoObserver,
    Outcome as Outcome,
    Recorded as Recorded,
    Recording as Recording,
    StateRecording as StateRecording,
    StateSnapshot as StateSnapshot,
    run_options as run_options,
)
from explorer.levels.states import (
    PassChoice as PassChoice,
    StatePass as StatePass,
    WorkingState as WorkingState,
    choose_passes as choose_passes,
    describe_passes as describe_passes,
    explainer_of as explainer_of,
    pause_garbage_collection as pause_garbage_collection,
)
