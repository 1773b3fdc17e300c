"""Predict, then reveal: questions about a step, and what is right, wrong or missing in an answer.

A question does not hold its answer, and is asked over the picture of the state that the step found, one box for each
layer: grouped boxes, hulls and the colours of changes would tell it. The answers, and the reasons, are the trace's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explorer.errors import CircuitError, DataTypeError, UnknownNameError
from explorer.graph import first_difference
from explorer.trace import FoldGroup, RefusalKind, Step
from explorer.views.index import TraceIndex
from explorer.views.words import list_text, path_text, plural
from widgets.schema import GroupBy, Mode

QuestionKind = Literal["fold-with", "winner", "matches", "layers-left"]
Answer = Sequence[int] | str | bool | int
"""Ids of layers for `fold-with`, one of the choices for `winner`, yes or no for `matches`, else a number."""

MOST_LAYERS = 1_000
"""Where there are more layers than can be drawn one by one, there is nothing to click on."""
MOST_FOLD_QUESTIONS = 3


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a step. `nodes` are the layers it is about, for showing them.

    It is asked over the picture of `picture_step` in `picture_mode`, grouped by `group_by`.
    """

    kind: QuestionKind
    text: str
    step: int
    nodes: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()
    pattern: str = ""
    picture_step: int = 0
    picture_mode: Mode = "after"
    group_by: GroupBy = "none"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, in words why, and what the answer would have been (layers to show)."""

    right: bool
    text: str
    nodes: tuple[int, ...] = ()


def questions(index: TraceIndex, step: "int | str") -> tuple[Question, ...]:
    """What can be asked about a step, in the same order under any circumstances; nothing about one that failed.

    Raises: UnknownNameError for a step that is not there.
    """
    entry = index.step(step)
    if entry.index == 0 or entry.error is not None:
        return ()
    asked = [*_fold_questions(index, entry), *_winner_questions(index, entry), *_match_questions(index, entry)]
    if entry.changed or entry.refusals:
        asked.append(_layers_question(index, entry))
    return tuple(asked)


def check(index: TraceIndex, question: Question, answer: Answer) -> Verdict:
    """Hold an answer against the trace.

    Raises: DataTypeError for an answer that is not of the kind asked for; UnknownNameError for one that is none of the
    choices.
    """
    if question.kind == "fold-with":
        if isinstance(answer, str | int):
            raise DataTypeError(f"the answer is a list of layers; found {answer!r}")
        return _check_fold(index, question, answer)
    if question.kind == "winner":
        if answer not in question.choices:
            raise UnknownNameError(f"no choice {answer!r}; there are: {'; '.join(question.choices)}")
        return _check_winner(index, question, str(answer))
    if question.kind == "matches":
        if not isinstance(answer, bool):
            raise DataTypeError(f"the answer is yes or no (True or False); found {answer!r}")
        return _check_match(index, question, answer)
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise DataTypeError(f"the answer is a number of layers; found {answer!r}")
    return _check_layers(index, question, answer)


def _over(step: Step) -> int:
    """The step whose state is shown: the one that the asked step found."""
    return step.index - 1


def _layers(index: TraceIndex, step: Step) -> int:
    """How many layers the step found."""
    return int(np.count_nonzero(index.before(step.index).present))


def _grouping(index: TraceIndex, step: Step) -> GroupBy:
    return "none" if _layers(index, step) <= MOST_LAYERS else "fold"


# ---------------------------------------------------------------------- what folds together


def _fold_questions(index: TraceIndex, step: Step) -> list[Question]:
    """About the largest groups of a level, and about one layer that stays alone."""
    if not step.folds or _layers(index, step) > MOST_LAYERS:
        return []
    together = sorted((g for g in step.folds if len(g.members) > 1), key=lambda g: (-len(g.members), g.members))
    alone = [g for g in step.folds if len(g.members) == 1]
    chosen = [*together[:MOST_FOLD_QUESTIONS], *alone[:1]]
    found: list[Question] = []
    for group in sorted(chosen, key=lambda g: g.members):
        node = group.members[len(group.members) // 2]
        text = f"Which layers will be folded together with layer {node} ({_title(group.type)})? Click all of them."
        found.append(Question("fold-with", text, step.index, (node,), picture_step=_over(step)))
    return found


def _check_fold(index: TraceIndex, question: Question, answer: Sequence[int]) -> Verdict:
    (node,) = question.nodes
    group = next(g for g in index.groups if node in g.members)
    wanted = [member for member in group.members if member != node]
    given = [one for one in dict.fromkeys(answer) if one != node]
    wrong = [one for one in given if one not in wanted]
    missing = [one for one in wanted if one not in given]
    key = ", ".join(f"{name}={value}" for name, value in group.key.items())
    why = f"They agree on level {group.level} and on {_title(group.type)} with {key}."
    if not wanted:
        why = f"Layer {node} stays alone. {_nearly(index, group)}".rstrip()
    if not wrong and not missing:
        said = f"Right: {plural(len(wanted), 'other layer')}. {why}" if wanted else f"Right. {why}"
        return Verdict(True, said, group.members)
    parts: list[str] = []
    if wrong:
        parts.append(f"Not these: {list_text(wrong, 6)}. Layer {wrong[0]}: {_why_apart(index, node, wrong[0])}")
    if missing:
        parts.append(f"Missing: {list_text(missing, 6)}.")
    return Verdict(False, " ".join([*parts, why]), group.members)


def _why_apart(index: TraceIndex, node: int, other: int) -> str:
    """Why two layers are not folded together; the other may be a folded layer, or be gone."""
    folded = next((g for g in index.groups if g.node == other and g.members != (other,)), None)
    if folded is not None:
        return f"it is folded already, of {plural(len(folded.members))} of level {folded.level}."
    try:
        return index.trace.why_not_folded(node, other).reason.removeprefix("Not folded together: ")
    except CircuitError:
        return "it is not there any more when folding begins."


def _nearly(index: TraceIndex, group: FoldGroup) -> str:
    """What came closest to being folded with a layer that stays alone."""
    for miss in index.missed:
        if group.node in miss.nodes:
            other = miss.nodes[1 - miss.nodes.index(group.node)]
            return f"Closest was layer {other}: {miss.reason}."
    same = [g for g in index.groups if g.type == group.type and g.node != group.node]
    if not same:
        return f"There is no other {_title(group.type)}."
    found = first_difference((group.type, tuple(group.key.items())), (same[0].type, tuple(same[0].key.items())))
    if found is None:
        levels = list_text([g.level for g in same], 6)
        return f"The others of its key are on other levels: {levels}; it is on {group.level}."
    return f"Another {_title(group.type)} has {found[0]} {found[2]}, this one {found[1]}."


# ---------------------------------------------------------------------- who wins a conflict


def _winner_questions(index: TraceIndex, step: Step) -> list[Question]:
    """About the first conflict between two matches on layers."""
    for lost in step.lost:
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        if lost.place or (loser.rule, loser.nodes) == (winner.rule, winner.nodes):
            continue
        choices = sorted((match.nodes, _match_text(match.rule, match.nodes)) for match in (loser, winner))
        text = f"Both of these matches want layer {lost.node}. Which one is applied?"
        nodes = tuple(dict.fromkeys((*loser.nodes, *winner.nodes)))
        names = tuple(choice for _, choice in choices)
        return [Question("winner", text, step.index, nodes, names, "", _over(step), "after", _grouping(index, step))]
    return []


def _check_winner(index: TraceIndex, question: Question, answer: str) -> Verdict:
    step = index.step(question.step)
    for lost in step.lost:
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        names = {_match_text(match.rule, match.nodes) for match in (loser, winner)}
        if names == set(question.choices):
            won, gone = _match_text(winner.rule, winner.nodes), _match_text(loser.rule, loser.nodes)
            right = answer == won
            why = f"{gone} lost by the strategy {lost.strategy}: {lost.reason}."
            return Verdict(right, f"{'Right' if right else f'No: {won} is applied'}. {why}", winner.nodes)
    raise UnknownNameError(f"step {question.step} has no conflict of {' and '.join(question.choices)}")


def _match_text(rule: str, nodes: Sequence[int]) -> str:
    return f"{rule} at {list_text(nodes)}"


# ---------------------------------------------------------------------- does a pattern match


def _match_questions(index: TraceIndex, step: Step) -> list[Question]:
    """For each rule on layers: at its first match, and at the near miss that got furthest."""
    found: list[tuple[int, str]] = []
    for rule in index.trace.rules:
        if rule.kind == "parameter":
            continue
        match = next((m for m in step.matches if m.rule == rule.name), None)
        misses = [r.refusal for r in step.refusals if r.refusal.pattern == rule.pattern and not r.place]
        misses = [refusal for refusal in misses if refusal.kind is not RefusalKind.DECLINED]
        if match is not None:
            found.append((match.root, rule.pattern))
        if misses:
            furthest = max(misses, key=lambda refusal: refusal.entry)
            found.append((furthest.root, rule.pattern))
    ordered = sorted(found)  # by layer, so that the order does not tell which are matches
    return [
        Question(
            "matches",
            f"Does the pattern {pattern} ({_entries(index, pattern)}) match at layer {node}?",
            step.index,
            (node,),
            ("yes", "no"),
            pattern,
            picture_step=_over(step),
            group_by=_grouping(index, step),
        )
        for node, pattern in ordered
    ]


def _check_match(index: TraceIndex, question: Question, answer: bool) -> Verdict:
    (node,) = question.nodes
    found = index.trace.why_not(question.pattern, node, question.step)
    match = next(
        (m for m in index.step(question.step).matches if m.rule == question.pattern and m.root == node and not m.place),
        None,
    )
    right = answer == found.matched
    reason = found.reason[0].upper() + found.reason[1:]
    nodes = (node,) if match is None else match.nodes
    at = f" ({list_text(nodes)})" if match is not None else ""
    return Verdict(right, f"{'Right' if right else 'No'}. {reason}{at}.", nodes)


def _entries(index: TraceIndex, pattern: str) -> str:
    rule = next(rule for rule in index.trace.rules if rule.pattern == pattern)
    return " over ".join(map(_title, rule.entries))


# ---------------------------------------------------------------------- how many layers are left


def _layers_question(index: TraceIndex, step: Step) -> Question:
    text = f"There are {plural(_layers(index, step))} now. How many are left after this step ({path_text(step.path)})?"
    return Question("layers-left", text, step.index, picture_step=_over(step), group_by=_grouping(index, step))


def _check_layers(index: TraceIndex, question: Question, answer: int) -> Verdict:
    step = index.step(question.step)
    left = int(np.count_nonzero(index.state(step.index).present))
    right = answer == left
    said = f"Right: {plural(left)}." if right else f"No: {plural(left)} are left."
    return Verdict(right, f"{said} {_why_so_many(step)}")


def _why_so_many(step: Step) -> str:
    """What was done to how many layers."""
    if step.folds:
        return f"On this level, {step.summary}."
    done: dict[tuple[str, int, int], int] = {}
    for rewrite in step.rewrites:
        if not rewrite.place:
            key = (rewrite.rule, len(rewrite.removed), len(rewrite.added))
            done[key] = done.get(key, 0) + 1
    if not done:
        inside = " Rules on parameters change no layer into another." if step.rewrites else ""
        return f"Nothing was replaced.{inside}"
    parts = [f"{rule} {plural(count, 'time')} made {new} of {plural(old)}" for (rule, old, new), count in done.items()]
    return "; ".join(parts) + "."


def _title(name: str) -> str:
    return name.removeprefix("Torch").removesuffix("Layer")
