"""What a training starts from: first values, the values of an earlier checkpoint, or the step where it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.app.training.checkpoint import Checkpoint
from explorer.learning.data import DataSet
from explorer.learning.loop import Epoch
from explorer.learning.options import TrainingOptions
from explorer.learning.state import TrainingState


@dataclass(frozen=True, eq=False)
class Start:
    """The options of a training, the epochs before it, and the state where they ended; None if it does not continue.

    `note` says why only the values of the checkpoint are used; empty otherwise.
    """

    settings: TrainingOptions
    before: tuple[Epoch, ...] = ()
    state: TrainingState | None = None
    note: str = ""


def find_start(earlier: Checkpoint | None, data: DataSet, given: Mapping[str, Any]) -> Start:
    """Where training on this data starts: `given` are fields of `TrainingOptions`, None for those that were not given.

    A run continues with the options of its checkpoint unless they are given. On other data, or with another method,
    only its values are used. Raises: ValueRangeError, UnknownNameError for options out of range.
    """
    named = {name: value for name, value in given.items() if value is not None}
    if earlier is None:
        return Start(TrainingOptions(**named))
    note, state = "", earlier.training
    if earlier.data != data.name:
        note, state = f"trained on {earlier.data}", None
    elif state is not None and named.get("method", state.method) != state.method:
        note, state = f"trained with --method {state.method}", None
    kept = state.options if state is not None else {}
    return Start(TrainingOptions(**{**kept, **named}), earlier.history, state, note)
