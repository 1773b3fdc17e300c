"""What a question and a verdict are, and over which picture a question is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from explorer.errors import CircuitError
from explorer.trace import Step
from explorer.views.index import TraceIndex
from widgets.schema import GroupBy

QuestionKind = Literal["fold-with", "winner", "matches", "layers-left", "figure"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
Answer = Sequence[int] | str | bool | int
"""Ids of layers for `fold-with`, a number for `layers-left`, else a choice, which for `matches` may be a bool."""
MOST_LAYERS = 1_000
"""Where there are more layers than can be drawn one by one, there is nothing to click on."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a step. `nodes` are the layers it is about, for showing them.

    It is asked over the picture of what the step finds: `after_step` in mode `plain`, grouped by `group_by`.
    """

    kind: QuestionKind
    text: str
    step: int
    nodes: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()
    pattern: str = ""
    group_by: GroupBy = "none"
    figure: str = ""

    @property
    def after_step(self) -> int:
        """The step whose state is shown with the question."""
        return self.step - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, in words why, and what the answer would have been (layers to show)."""

    right: bool
    text: str
    nodes: tuple[int, ...] = ()


def askable(index: TraceIndex, step: "int | str") -> Step:
    """A step that can be asked about. Raises: UnknownNameError; CircuitError for the first, or one that failed."""
    entry = index.step(step)
    if entry.index == 0:
        raise CircuitError(f"step 0 ({entry.path}) is where the trace begins; ask about a later step")
    if entry.error is not None:
        raise CircuitError(f"step {entry.index} ({entry.path}) failed; ask about another step")
    return entry


def first_that_changes(index: TraceIndex) -> Step:
    """The first step that changes the circuit. Raises: CircuitError if there is none."""
    found = next((one for one in index.trace.steps[1:] if one.changed and one.error is None), None)
    if found is None:
        raise CircuitError("no step of the trace changes anything, so there is nothing to predict")
    return found


def where(entry: Step | None) -> str:
    """A step, or the whole trace, in a message."""
    return "the trace" if entry is None else f"step {entry.index} ({entry.path})"


def noun_of(index: TraceIndex) -> str:
    """What is counted and asked about: a layer, or at the tensor level an operator."""
    return "operator" if index.trace.is_tensor else "layer"


def layers_found(index: TraceIndex, step: Step) -> int:
    """How many layers the step found."""
    return int(np.count_nonzero(index.before(step.index).present))


def grouping_of(index: TraceIndex, step: Step) -> GroupBy:
    """One box a layer, or, where they are too many, one for layers of a kind."""
    return "none" if layers_found(index, step) <= MOST_LAYERS else "fold"


def title_of(name: str) -> str:
    """A type's name as it is read."""
    return name.removeprefix("Torch").removesuffix("Layer")
