"""Create questions about a step and check answers, also those that are clicks; questions on conflicts and matches."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import cast

import numpy as np

from explorer.errors import CircuitError, DataTypeError, UnknownNameError, check_name, unknown_name
from explorer.symbolic.checks import is_integer
from explorer.trace import Refusal, RefusalKind, Step, type_title
from explorer.views.index import TraceIndex
from explorer.views.predicting.count_questions import check_layers, check_stat, layers_question, stat_question
from explorer.views.predicting.fold_questions import fold_questions, fold_together, question_about_fold, why_not_folded
from explorer.views.predicting.fusion_questions import (
    fused_together,
    fusion_questions,
    question_about_fusion,
    why_not_fused,
)
from explorer.views.predicting.question import (
    CLICKED,
    KINDS,
    Answer,
    Question,
    QuestionKind,
    Together,
    Verdict,
    askable,
    first_that_changes,
    grouping_of,
    noun_of,
    where,
)
from explorer.views.words import list_text

MAX_ENTRIES_CHARS = 80
"""Maximum length of a pattern's entries in a question; tensor-level rules have dozens of operators."""

TAKES = {**dict.fromkeys(CLICKED, ("node",)), "winner": ("node",), "matches": ("node", "pattern"), "stat": ("stat",)}
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
    clicked = (*fold_questions(index, entry), *fusion_questions(index, entry))
    questions = [*clicked, *first_conflict, *match_questions(index, entry)]
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
    if kind == "fused-with":
        return question_about_fusion(index, entry, node)
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
    if question.kind in CLICKED:
        return _check_clicks(index, question, _layers_of(index, answer))
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


def together(index: TraceIndex, question: Question) -> Together:
    """Return the answer to a question that is answered by clicks."""
    return (fold_together if question.kind == "fold-with" else fused_together)(index, question)


def why_apart(index: TraceIndex, question: Question, other: int) -> str:
    """Describe why a node does not belong to the answer."""
    return (why_not_folded if question.kind == "fold-with" else why_not_fused)(index, question, other)


def _check_clicks(index: TraceIndex, question: Question, answer: Sequence[int]) -> Verdict:
    """Check chosen nodes: which do not belong to the answer and why, and which are missing."""
    (node,) = question.nodes
    known = together(index, question)
    given = [one for one in dict.fromkeys(answer) if one != node]
    wrong = [one for one in given if one not in known.wanted]
    missing = [one for one in known.wanted if one not in given]
    if not wrong and not missing:
        return Verdict(True, known.right, known.members)
    parts: list[str] = []
    if wrong:
        noun = noun_of(index).capitalize()
        parts.append(f"Not these: {list_text(wrong, 6)}. {noun} {wrong[0]}: {why_apart(index, question, wrong[0])}")
    if missing:
        parts.append(f"Missing: {list_text(missing, 6)}.")
    return Verdict(False, " ".join([*parts, known.why]), known.members)


def winner_questions(index: TraceIndex, step: Step) -> Iterator[Question]:
    """Yield a question about each conflict between two matches on layers."""
    for lost in step.lost if step.error is None else ():
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        if lost.parameter_path or (loser.rule, loser.nodes) == (winner.rule, winner.nodes):
            continue
        choices = sorted((match.nodes, _match_text(match.rule, match.nodes)) for match in (loser, winner))
        text = f"Both of these matches claim {noun_of(index)} {lost.node}. Which one is applied?"
        nodes = tuple(dict.fromkeys((*loser.nodes, *winner.nodes)))
        names = tuple(choice for _, choice in choices)
        yield Question("winner", text, step.index, nodes, names, group_by=grouping_of(index, step))


def question_about_conflict(index: TraceIndex, step: Step | None, node: int | None) -> Question:
    """Return the question about the first conflict, or the first one that involves a node.

    Raises: CircuitError if there is none.
    """
    steps = index.trace.steps if step is None else (step,)
    found = (question for one in steps for question in winner_questions(index, one))
    question = next((one for one in found if node is None or node in one.nodes), None)
    if question is None:
        at = "" if node is None else f" that node {node} is part of"
        raise CircuitError(f"there is no conflict between two matches{at} in {where(step)}")
    return question


def check_winner(index: TraceIndex, question: Question, answer: str) -> Verdict:
    """Check a choice. Raises: UnknownNameError if the step does not have this conflict."""
    step = index.step(question.step)
    for lost in step.lost:
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        names = {_match_text(match.rule, match.nodes) for match in (loser, winner)}
        if names == set(question.choices):
            won, lost_to_it = _match_text(winner.rule, winner.nodes), _match_text(loser.rule, loser.nodes)
            right = answer == won
            why = f"{lost_to_it} lost by the strategy {lost.strategy}: {lost.reason}."
            return Verdict(right, f"{'Right' if right else f'No: {won} is applied'}. {why}", winner.nodes)
    raise UnknownNameError(f"step {question.step} has no conflict of {' and '.join(question.choices)}")


def _match_text(rule: str, nodes: Sequence[int]) -> str:
    return f"{rule} at {list_text(nodes)}"


def match_questions(index: TraceIndex, step: Step) -> list[Question]:
    """Return questions for each rule on layers: at its first match, and at the near miss that got furthest."""
    found: list[tuple[int, str]] = []
    for rule in index.trace.rules:
        if rule.kind == "parameter":
            continue
        match = next((m for m in step.matches if m.rule == rule.name), None)
        misses = [r.refusal for r in step.refusals if r.refusal.pattern == rule.pattern and not r.parameter_path]
        misses = [refusal for refusal in misses if refusal.kind is not RefusalKind.DECLINED]
        if match is not None:
            found.append((match.root, rule.pattern))
        if misses:
            furthest = max(misses, key=lambda refusal: refusal.progress)
            found.append((furthest.root, rule.pattern))
    ordered = sorted(found)  # by layer, so that the order does not reveal the matches
    return [_match_question(index, step, node, pattern) for node, pattern in ordered]


def _match_question(index: TraceIndex, step: Step, node: int, pattern: str) -> Question:
    entries = _entries(index, pattern)
    spelled = f" ({entries})" if len(entries) <= MAX_ENTRIES_CHARS else ""
    return Question(
        "matches",
        f"Does the pattern {pattern}{spelled} match at {noun_of(index)} {node}?",
        step.index,
        (node,),
        ("yes", "no"),
        pattern,
        group_by=grouping_of(index, step),
    )


def question_about_match(index: TraceIndex, step: Step | None, node: int | None, pattern: str | None) -> Question:
    """Return the question about a pattern at a node, by default the first match or near miss.

    Raises: UnknownNameError for an unknown pattern; CircuitError if there is nothing to ask.
    """
    patterns = [rule.pattern for rule in index.trace.rules]
    if pattern is not None and pattern not in patterns:
        raise unknown_name("pattern", pattern, patterns)
    if any(rule.kind == "parameter" for rule in index.trace.rules if rule.pattern == pattern):
        raise CircuitError(
            f"the pattern {pattern} is tried inside parameters; ask about a pattern of {noun_of(index)}s"
        )
    if pattern is not None and node is not None:
        at = index.trace.why_not(pattern, node, None if step is None else step.index).step
        return _match_question(index, askable(index, at), node, pattern)
    steps = [one for one in index.trace.steps[index.trace.start + 1 :] if one.error is None] if step is None else [step]
    questions = (question for one in steps for question in match_questions(index, one))
    found = next((one for one in questions if node in (None, *one.nodes) and pattern in (None, one.pattern)), None)
    if found is None:
        what = "no pattern" if pattern is None else f"the pattern {pattern} never"
        at = "" if node is None else f" at node {node}"
        raise CircuitError(f"{what} matched or nearly matched{at} in {where(step)}; pass node= and pattern=")
    return found


def check_match(index: TraceIndex, question: Question, answer: bool) -> Verdict:
    """Check yes or no against the matcher, and quote its reason."""
    (node,) = question.nodes
    found = index.trace.why_not(question.pattern, node, question.step)
    match = next(
        (
            m
            for m in index.step(question.step).matches
            if m.rule == question.pattern and m.root == node and not m.parameter_path
        ),
        None,
    )
    fits = found.matched or _is_left_alone(index, found.refusal)
    right = answer == fits
    reason = found.reason[0].upper() + found.reason[1:]
    if fits and not found.matched:
        reason = f"The pattern matches; {found.reason}"
    nodes = (node,) if match is None else match.nodes
    at = f" ({list_text(nodes)})" if match is not None else ""
    return Verdict(right, f"{'Right' if right else 'No'}. {reason}{at}.", nodes)


def _is_left_alone(index: TraceIndex, refusal: Refusal | None) -> bool:
    """Return whether a pattern matched but its guard declined; at the tensor level, a guard is part of the pattern."""
    return refusal is not None and refusal.kind is RefusalKind.DECLINED and index.trace.level.declines_matches


def _entries(index: TraceIndex, pattern: str) -> str:
    rule = next(rule for rule in index.trace.rules if rule.pattern == pattern)
    return " over ".join(map(type_title, rule.entries))
