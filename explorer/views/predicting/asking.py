"""All questions about a step, the one that is asked for, and whether an answer is right."""

from collections.abc import Iterable
from itertools import islice
from typing import cast

import numpy as np

from explorer.errors import CircuitError, DataTypeError, UnknownNameError, unknown_name
from explorer.symbolic.checks import is_integer
from explorer.views.index import TraceIndex
from explorer.views.predicting.conflicts import check_winner, question_about_conflict, winner_questions
from explorer.views.predicting.counts import check_figure, check_layers, figure_question, layers_question
from explorer.views.predicting.folds import check_fold, fold_questions, question_about_fold
from explorer.views.predicting.matches import check_match, match_questions, question_about_match
from explorer.views.predicting.question import (
    KINDS,
    Answer,
    Question,
    QuestionKind,
    Verdict,
    askable,
    first_that_changes,
    noun_of,
)

TAKES = {"fold-with": ("node",), "winner": ("node",), "matches": ("node", "pattern"), "figure": ("figure",)}
"""What may be said beside the step, by kind of question."""
YES_OR_NO = {"yes": True, "no": False}


def questions(index: TraceIndex, step: "int | str") -> tuple[Question, ...]:
    """What can be asked about a step, in the same order under any circumstances; nothing about one that failed.

    Raises: UnknownNameError for a step that is not there.
    """
    entry = index.step(step)
    if entry.index == 0 or entry.error is not None:
        return ()
    first_conflict = islice(winner_questions(index, entry), 1)
    asked = [*fold_questions(index, entry), *first_conflict, *match_questions(index, entry)]
    if entry.changed or entry.refusals:
        asked.append(layers_question(index, entry))
    return tuple(asked)


def question_about(
    index: TraceIndex,
    kind: QuestionKind,
    step: "int | str | None" = None,
    *,
    node: int | None = None,
    pattern: str | None = None,
    figure: str | None = None,
) -> Question:
    """The question of a kind about a step; what is left out is chosen: the first step, node, pattern that raises it.

    Raises: UnknownNameError for a kind, step, node, pattern or figure that is not there; DataTypeError for a node that
    is no number; CircuitError for a question that the step does not raise, or that does not take what was given.
    """
    if kind not in KINDS:
        raise unknown_name("kind of question", kind, KINDS)
    for name, value in (("node", node), ("pattern", pattern), ("figure", figure)):
        if value is not None and name not in TAKES.get(kind, ()):
            raise CircuitError(f"a question of kind {kind!r} takes no {name}; leave out {name}={value!r}")
    entry = None if step is None else askable(index, step)
    if node is not None:
        if not is_integer(node):
            raise DataTypeError(f"node is the number of a {noun_of(index)}; found {node!r}")
        node = int(node)
        index.trace.lineage(node)  # raises for a node that never was
    if kind == "fold-with":
        return question_about_fold(index, entry, node)
    if kind == "matches":
        return question_about_match(index, entry, node, pattern)
    if kind == "winner":
        return question_about_conflict(index, entry, node)
    if kind == "figure":
        return figure_question(index, entry, figure)
    return layers_question(index, entry or first_that_changes(index))


def check(index: TraceIndex, question: Question, answer: Answer) -> Verdict:
    """Hold an answer against the trace.

    Raises: DataTypeError for an answer that is not of the kind asked for; UnknownNameError for one that is none of the
    choices, and for a layer that never was.
    """
    if question.kind == "fold-with":
        return check_fold(index, question, _layers_of(index, answer))
    if question.kind in ("winner", "figure"):
        if not isinstance(answer, str):
            raise DataTypeError(f"the answer is one of the choices: {'; '.join(question.choices)}; found {answer!r}")
        if answer not in question.choices:
            raise UnknownNameError(f"no choice {answer!r}; there are: {'; '.join(question.choices)}")
        return (check_winner if question.kind == "winner" else check_figure)(index, question, str(answer))
    if question.kind == "matches":
        if not isinstance(answer, bool | np.bool_) and not (isinstance(answer, str) and answer in YES_OR_NO):
            raise DataTypeError(f"the answer is yes or no (True or False); found {answer!r}")
        return check_match(index, question, YES_OR_NO[answer] if isinstance(answer, str) else bool(answer))
    if not is_integer(answer):
        raise DataTypeError(f"the answer is a number of {noun_of(index)}s; found {answer!r}")
    return check_layers(index, question, int(cast(int, answer)))


def _layers_of(index: TraceIndex, answer: object) -> list[int]:
    """Ids of layers. Raises: DataTypeError for anything else; UnknownNameError for a layer that never was."""
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise DataTypeError(f"the answer is a list of layers; found {answer!r}")
    try:
        given = list(cast("Iterable[object]", answer))
    except TypeError as error:  # an array without axes says only then that it is no list
        raise DataTypeError(f"the answer is a list of layers; found {answer!r}") from error
    others = [node for node in given if not is_integer(node)]
    if others:
        raise DataTypeError(f"the answer is a list of layers, by their numbers; found {others[0]!r} in it")
    nodes = [int(cast(int, node)) for node in given]
    for node in nodes:
        index.trace.lineage(node)
    return nodes
