"""What a training starts from: first values, the values of an earlier checkpoint, or the step where it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from explorer.app.training.checkpoint import Checkpoint
from explorer.learning.data import DataSet
from explorer.learning.loop import Epoch, is_of
from explorer.learning.methods import TrainingOptions
from explorer.learning.state import TrainingState


@dataclass(frozen=True, eq=False)
class Start:
    """What a training starts from.

    `values` are those of the leaves, None for the first ones; `before`, `best` and `state` are arguments of `train`.
    `note` says why the training does not simply continue; empty otherwise.
    """

    settings: TrainingOptions
    values: Mapping[str, Tensor] | None = None
    before: tuple[Epoch, ...] = ()
    best: Mapping[str, Tensor] | None = None
    state: TrainingState | None = None
    note: str = ""


def find_start(earlier: Checkpoint | None, circuit: str, data: DataSet, given: Mapping[str, Any]) -> Start:
    """Where training on this data starts: `given` are fields of `TrainingOptions`, None for those that were not given.

    A run continues with the options of its checkpoint unless they are given. With another method, it continues without
    what the first one has averaged. On other rows or with another circuit, only the best values are used, since the
    epochs do not compare. Raises: ValueRangeError, UnknownNameError for options out of range.
    """
    named = {name: value for name, value in given.items() if value is not None}
    if earlier is None:
        return Start(TrainingOptions(**named))
    state = earlier.training
    reason = _difference(earlier, circuit, data)
    if state is None or reason is not None:
        note = f"{reason or 'saved without the state of its training'}: only its values are used"
        return Start(TrainingOptions(**named), earlier.best_state, note=note)
    if named.get("method", state.method) != state.method:
        note = f"trained with --method {state.method}: only its values and epochs are used"
        return Start(TrainingOptions(**named), earlier.leaf_state, earlier.history, state.best, note=note)
    settings = TrainingOptions(**{**state.options, **named})
    return Start(settings, earlier.leaf_state, earlier.history, state=state)


def _difference(earlier: Checkpoint, circuit: str, data: DataSet) -> str | None:
    """What a checkpoint was trained on if it was not this circuit and these rows."""
    if earlier.circuit != circuit:
        return f"trained with the circuit {earlier.circuit}"
    if earlier.data != data.name:
        return f"trained on {earlier.data}"
    if earlier.training is not None and not is_of(earlier.training, data):
        return f"trained on other rows of {data.name}"
    return None
