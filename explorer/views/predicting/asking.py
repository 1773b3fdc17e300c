"""Create questions about a step, and check answers."""

from collections.abc import Iterable
from itertools import islice
from typing import cast

import numpy as np

from explorer.errors import CircuitError, DataTypeError, UnknownNameError, check_name
from explorer.symbolic.checks import is_integer
from explorer.views.index import TraceIndex
from explorer.views.predicting.conflicts import check_winner, question_about_conflict, winner_questions
from explorer.views.predicting.counts import check_layers, check_stat, layers_question, stat_question
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

TAKES = {"fold-with": ("node",), "winner": ("node",), "matches": ("node", "pattern"), "stat": ("stat",)}
"""Options in addition to the step, by kind of question."""
YES_OR_NO = {"yes": True, "no": False}


def questions(index: TraceIndex, step: "int | str") -> tuple[Question, ...]:
    """Return the questions about a step, in a deterministic order; none about a failed step.

    Raises: UnknownNameError for an unknown step.
    """
    entry = index.step(step)
    if entry.index <= index.trace.start or entry.error is not None:
        return ()
    first_conflict = islice(winner_questions(index, entry), 1)
    questions = [*fold_questions(index, entry), *first_conflict, *match_questions(index, entry)]
    if entry.changed or entry.refusals:
        questions.append(layers_question(index, entry))
    return tuple(questions)


def question_about(
    index: TraceIndex,
    kind: QuestionKind,
    step: "int | str | None" = None,
    *,
    node: int | None = None,
    pattern: str | None = None,
    stat: str | None = None,
) -> Question:
    """Return a question of a kind about a step; defaults to the first step, node and pattern that raise it.

    Raises: UnknownNameError for an unknown kind, step, node, pattern or statistic; DataTypeError for a node that is not
    an integer; CircuitError if the step does not raise the question, or the kind does not accept an option.
    """
    check_name("kind of question", kind, KINDS)
    for name, value in (("node", node), ("pattern", pattern), ("stat", stat)):
        if value is not None and name not in TAKES.get(kind, ()):
            raise CircuitError(f"a question of kind {kind!r} does not accept {name}; omit {name}={value!r}")
    entry = None if step is None else askable(index, step)
    if node is not None:
        if not is_integer(node):
            raise DataTypeError(f"node must be the id of a {noun_of(index)}; got {node!r}")
        node = int(node)
        index.trace.lineage(node)  # raises for an unknown node
    if kind == "fold-with":
        return question_about_fold(index, entry, node)
    if kind == "matches":
        return question_about_match(index, entry, node, pattern)
    if kind == "winner":
        return question_about_conflict(index, entry, node)
    if kind == "stat":
        return stat_question(index, entry, stat)
    return layers_question(index, entry or first_that_changes(index))


def check(index: TraceIndex, question: Question, answer: Answer) -> Verdict:
    """Check an answer against the trace.

    Raises: DataTypeError for an answer of the wrong type; UnknownNameError for one that is not among the choices, and
    for an unknown layer.
    """
    if question.kind == "fold-with":
        return check_fold(index, question, _layers_of(index, answer))
    if question.kind in ("winner", "stat"):
        if not isinstance(answer, str):
            raise DataTypeError(f"the answer must be one of the choices: {'; '.join(question.choices)}; got {answer!r}")
        if answer not in question.choices:
            raise UnknownNameError(f"no choice {answer!r}; the choices are: {'; '.join(question.choices)}")
        return (check_winner if question.kind == "winner" else check_stat)(index, question, str(answer))
    if question.kind == "matches":
        if not isinstance(answer, bool | np.bool_) and not (isinstance(answer, str) and answer in YES_OR_NO):
            raise DataTypeError(f"the answer must be yes or no (True or False); got {answer!r}")
        return check_match(index, question, YES_OR_NO[answer] if isinstance(answer, str) else bool(answer))
    if not is_integer(answer):
        raise DataTypeError(f"the answer must be a number of {noun_of(index)}s; got {answer!r}")
    return check_layers(index, question, int(cast(int, answer)))


def _layers_of(index: TraceIndex, answer: object) -> list[int]:
    """Return layer ids. Raises: DataTypeError for anything else; UnknownNameError for an unknown layer."""
    if isinstance(answer, str | bytes) or not isinstance(answer, Iterable):
        raise DataTypeError(f"the answer must be a list of layers; got {answer!r}")
    try:
        given = list(cast("Iterable[object]", answer))
    except TypeError as error:  # a 0-d array only raises here
        raise DataTypeError(f"the answer must be a list of layers; got {answer!r}") from error
    others = [node for node in given if not is_integer(node)]
    if others:
        raise DataTypeError(f"the answer must be a list of layer ids; got {others[0]!r} in it")
    nodes = [int(cast(int, node)) for node in given]
    for node in nodes:
        index.trace.lineage(node)
    return nodes
