"""Questions and verdicts, and the picture of a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from explorer.errors import CircuitError
from explorer.trace import Step
from explorer.views.index import TraceIndex
from explorer_widgets.schema import GroupBy

QuestionKind = Literal["fold-with", "fused-with", "winner", "matches", "layers-left", "stat"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
CLICKED: tuple[QuestionKind, ...] = ("fold-with", "fused-with")
"""The kinds that are answered by clicks on boxes."""
Answer = Sequence[int] | str | bool | int
"""Ids for the kinds of `CLICKED`, an int for `layers-left`, a bool or a choice for `matches`, otherwise a choice."""
MAX_LAYERS = 1_000
"""Maximum number of layers to draw one by one, so that they can be clicked."""

_HINTS: dict[QuestionKind, str] = {
    "fold-with": "Layers are folded together if they are on the same level and agree in type, settings and the shapes "
    "of their parameters. The values of parameters and the variables may differ.",
    "fused-with": "Calls may become one if one reads what the other writes, or both read the same value, and nothing "
    "else has to run between them. A library call stays alone.",
    "winner": "The strategy compares the two matches. largest-match takes the one with more {noun}s; if both have the "
    "same number, the one whose root is nearer to the outputs. lowest-cost takes the one that saves more.",
    "matches": "Go through the pattern entry by entry, from the root: its type, its number of inputs, its users "
    "(below the root only one is allowed), its settings and its parameters.",
    "layers-left": "Find the matches that can be applied together, and count for each of them how many {noun}s it "
    "removes and how many it adds.",
    "stat": "Take one of the {noun}s that the step replaces. Write down what it computes, then what its replacement "
    "computes, and count both.",
}
_FOLDING = "Layers of this level with equal fold keys become one layer. Count the groups; the other levels stay."
_FOLDING_STAT = "Folded layers are computed together. Ask what that changes: the work itself, or the calls and copies?"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a step. `nodes` are the layers in question.

    Its picture shows the state before the step: `after_step` in mode `plain`, grouped by `group_by`.
    """

    kind: QuestionKind
    text: str
    step: int
    nodes: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()
    pattern: str = ""
    group_by: GroupBy = "none"
    stat: str = ""

    @property
    def after_step(self) -> int:
        """The step of the state that is shown with the question."""
        return self.step - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on an answer: right or wrong, why, and the right answer (layers to show)."""

    right: bool
    text: str
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Together:
    """The nodes that belong together, one of which is given; the feedback if they were found, and the reason."""

    given: int
    members: tuple[int, ...]
    right: str
    why: str

    @property
    def wanted(self) -> tuple[int, ...]:
        """The nodes to click."""
        return tuple(member for member in self.members if member != self.given)


def askable(index: TraceIndex, step: "int | str") -> Step:
    """Return a step that has questions. Raises: UnknownNameError; CircuitError for the first step or a failed one."""
    entry = index.step(step)
    if entry.operator is not None:
        raise CircuitError(f"step {entry.index} ({entry.path}) comes before the compilation; ask about a later step")
    if entry.index == index.trace.start:
        raise CircuitError(f"step {entry.index} ({entry.path}) is the start of the trace; ask about a later step")
    if entry.error is not None:
        raise CircuitError(f"step {entry.index} ({entry.path}) failed; ask about another step")
    return entry


def first_that_changes(index: TraceIndex) -> Step:
    """Return the first step that changes the circuit. Raises: CircuitError if there is none."""
    found = next((one for one in index.trace.steps[index.trace.start + 1 :] if one.changed and one.error is None), None)
    if found is None:
        raise CircuitError("no step of the trace changes anything, so there is nothing to predict")
    return found


def where(entry: Step | None) -> str:
    """Name a step, or the whole trace, in a message."""
    return "the trace" if entry is None else f"step {entry.index} ({entry.path})"


def noun_of(index: TraceIndex) -> str:
    """Return the noun of questions: layer, or operator at the tensor level."""
    return index.trace.level.noun


def layers_found(index: TraceIndex, step: Step) -> int:
    """Return the number of layers before the step."""
    return int(np.count_nonzero(index.before(step.index).present))


def grouping_of(index: TraceIndex, step: Step) -> GroupBy:
    """Return the grouping: one box per layer, or by fold key if there are too many; plates where nothing is folded."""
    if not index.trace.level.has_folds:
        return "plates"
    return "none" if layers_found(index, step) <= MAX_LAYERS else "fold"


def hint(index: TraceIndex, question: Question) -> str:
    """Return the hint that follows a wrong first answer to the question."""
    if index.step(question.step).folds and question.kind in ("layers-left", "stat"):
        return _FOLDING if question.kind == "layers-left" else _FOLDING_STAT
    return _HINTS[question.kind].format(noun=noun_of(index))
