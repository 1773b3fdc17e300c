"""Predict, then reveal: questions about a step, and what is right, wrong or missing in an answer.

A question does not hold its answer, and is asked over the picture of the state that the step found, one box for each
layer: grouped boxes, hulls and the colours of changes would tell it. The answers, and the reasons, are the trace's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, get_args

import numpy as np

from explorer.errors import CircuitError, DataTypeError, UnknownNameError, unknown_name
from explorer.graph import first_difference
from explorer.trace import FoldGroup, RefusalKind, Step
from explorer.views.costs import FIGURES
from explorer.views.index import TraceIndex
from explorer.views.words import list_text, path_text, plural
from widgets.schema import GroupBy, Mode

QuestionKind = Literal["fold-with", "winner", "matches", "layers-left", "figure"]
KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
TAKES = {"fold-with": ("node",), "winner": ("node",), "matches": ("node", "pattern"), "figure": ("figure",)}
"""What may be said beside the step, by kind of question."""
Answer = Sequence[int] | str | bool | int
"""Ids of layers for `fold-with`, a choice for `winner` and `figure`, yes or no for `matches`, else a number."""
MORE, SAME, FEWER = "more", "the same", "fewer"

MOST_LAYERS = 1_000
"""Where there are more layers than can be drawn one by one, there is nothing to click on."""
MOST_FOLD_QUESTIONS = 3
LONGEST_ENTRIES = 80
"""Entries of a pattern are spelled out up to so many letters; rules of the tensor level name dozens of operators."""


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
    figure: str = ""


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
    first_conflict = islice(_winner_questions(index, entry), 1)
    asked = [*_fold_questions(index, entry), *first_conflict, *_match_questions(index, entry)]
    if entry.changed or entry.refusals:
        asked.append(_layers_question(index, entry))
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

    Raises: UnknownNameError for a kind, step, node, pattern or figure that is not there; CircuitError for a question
    that the step does not raise, or that does not take what was given.
    """
    if kind not in KINDS:
        raise unknown_name("kind of question", kind, KINDS)
    for name, value in (("node", node), ("pattern", pattern), ("figure", figure)):
        if value is not None and name not in TAKES.get(kind, ()):
            raise CircuitError(f"a question of kind {kind!r} takes no {name}; leave out {name}={value!r}")
    entry = None if step is None else _askable(index, step)
    if node is not None:
        index.trace.lineage(node)  # raises for a node that never was
    if kind == "fold-with":
        return _question_about_fold(index, entry, node)
    if kind == "matches":
        return _question_about_match(index, entry, node, pattern)
    if kind == "winner":
        steps = index.trace.steps if entry is None else (entry,)
        found = (question for one in steps for question in _winner_questions(index, one))
        question = next((one for one in found if node is None or node in one.nodes), None)
        if question is None:
            at = "" if node is None else f" that node {node} is part of"
            raise CircuitError(f"there is no conflict between two matches{at} in {_where(entry)}")
        return question
    if entry is None:
        entry = next((one for one in index.trace.steps[1:] if one.changed and one.error is None), None)
        if entry is None:
            raise CircuitError("no step of the trace changes anything, so there is nothing to predict")
    return _layers_question(index, entry) if kind == "layers-left" else _figure_question(index, entry, figure)


def _askable(index: TraceIndex, step: "int | str") -> Step:
    """A step that can be asked about. Raises: UnknownNameError; CircuitError for the first, or one that failed."""
    entry = index.step(step)
    if entry.index == 0:
        raise CircuitError(f"step 0 ({entry.path}) is where the trace begins; ask about a later step")
    if entry.error is not None:
        raise CircuitError(f"step {entry.index} ({entry.path}) failed; ask about another step")
    return entry


def _where(entry: Step | None) -> str:
    return "the trace" if entry is None else f"step {entry.index} ({entry.path})"


def noun_of(index: TraceIndex) -> str:
    """What is counted and asked about: a layer, or at the tensor level an operator."""
    return "operator" if index.trace.is_tensor else "layer"


def check(index: TraceIndex, question: Question, answer: Answer) -> Verdict:
    """Hold an answer against the trace.

    Raises: DataTypeError for an answer that is not of the kind asked for; UnknownNameError for one that is none of the
    choices.
    """
    if question.kind == "fold-with":
        if isinstance(answer, str | int):
            raise DataTypeError(f"the answer is a list of layers; found {answer!r}")
        return _check_fold(index, question, answer)
    if question.kind in ("winner", "figure"):
        if answer not in question.choices:
            raise UnknownNameError(f"no choice {answer!r}; there are: {'; '.join(question.choices)}")
        return (_check_winner if question.kind == "winner" else _check_figure)(index, question, str(answer))
    if question.kind == "matches":
        if not isinstance(answer, bool):
            raise DataTypeError(f"the answer is yes or no (True or False); found {answer!r}")
        return _check_match(index, question, answer)
    if not isinstance(answer, int) or isinstance(answer, bool):
        raise DataTypeError(f"the answer is a number of {noun_of(index)}s; found {answer!r}")
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
        found.append(_fold_question(step, node, group.type))
    return found


def _fold_question(step: Step, node: int, type_name: str) -> Question:
    text = f"Which layers will be folded together with layer {node} ({_title(type_name)})? Click all of them."
    return Question("fold-with", text, step.index, (node,), picture_step=_over(step))


def _question_about_fold(index: TraceIndex, step: Step | None, node: int | None) -> Question:
    folding = [one for one in index.trace.steps if one.folds and one.error is None]
    if not folding:
        raise CircuitError("the trace folds nothing, so nothing is folded together; record with fold=True")
    if node is None:
        asked = [question for one in folding if step in (None, one) for question in _fold_questions(index, one)]
        if not asked:
            raise CircuitError(_no_folds(index, step or folding[0]))
        return next((one for one in asked if len(fold_together(index, one).wanted) > 0), asked[0])
    group, found = next(((g, one) for one in folding for g in one.folds if node in g.members), (None, None))
    if group is None or found is None:
        raise CircuitError(f"layer {node} is not there when folding begins, so nothing is folded together with it")
    if step not in (None, found):
        raise CircuitError(f"layer {node} is folded in {_where(found)}, not in {_where(step)}")
    if _layers(index, found) > MOST_LAYERS:
        raise CircuitError(_no_folds(index, found))
    return _fold_question(found, node, group.type)


def _no_folds(index: TraceIndex, step: Step) -> str:
    count = _layers(index, step)
    if count > MOST_LAYERS:
        return f"{_where(step)} finds {plural(count)}; at most {MOST_LAYERS:,} can be drawn one by one to be clicked on"
    return f"{_where(step)} folds no layers together"


@dataclass(frozen=True, slots=True)
class Together:
    """The layers that belong to the one that was asked about, what to say if they were found, and why it is these."""

    wanted: tuple[int, ...]
    right: str
    why: str


def fold_together(index: TraceIndex, question: Question) -> Together:
    """The answer to a question of kind `fold-with`."""
    (node,) = question.nodes
    group = _group_of(index, node)
    wanted = tuple(member for member in group.members if member != node)
    if not wanted:
        why = f"Layer {node} stays alone. {_nearly(index, group)}".rstrip()
        return Together(wanted, f"Right. {why}", why)
    key = ", ".join(f"{name}={value}" for name, value in group.key.items())
    why = f"They agree on level {group.level} and on {_title(group.type)} with {key}."
    return Together(wanted, f"Right: {plural(len(wanted), 'other layer')}. {why}", why)


def _group_of(index: TraceIndex, node: int) -> FoldGroup:
    return next(g for g in index.groups if node in g.members)


def _check_fold(index: TraceIndex, question: Question, answer: Sequence[int]) -> Verdict:
    (node,) = question.nodes
    members, known = _group_of(index, node).members, fold_together(index, question)
    given = [one for one in dict.fromkeys(answer) if one != node]
    wrong = [one for one in given if one not in known.wanted]
    missing = [one for one in known.wanted if one not in given]
    if not wrong and not missing:
        return Verdict(True, known.right, members)
    parts: list[str] = []
    if wrong:
        parts.append(f"Not these: {list_text(wrong, 6)}. Layer {wrong[0]}: {why_apart(index, node, wrong[0])}")
    if missing:
        parts.append(f"Missing: {list_text(missing, 6)}.")
    return Verdict(False, " ".join([*parts, known.why]), members)


def why_apart(index: TraceIndex, node: int, other: int) -> str:
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


def _winner_questions(index: TraceIndex, step: Step) -> Iterator[Question]:
    """About each conflict between two matches on layers."""
    for lost in step.lost if step.error is None else ():
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        if lost.place or (loser.rule, loser.nodes) == (winner.rule, winner.nodes):
            continue
        choices = sorted((match.nodes, _match_text(match.rule, match.nodes)) for match in (loser, winner))
        text = f"Both of these matches want {noun_of(index)} {lost.node}. Which one is applied?"
        nodes = tuple(dict.fromkeys((*loser.nodes, *winner.nodes)))
        names = tuple(choice for _, choice in choices)
        yield Question("winner", text, step.index, nodes, names, "", _over(step), "after", _grouping(index, step))


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
    return [_match_question(index, step, node, pattern) for node, pattern in ordered]


def _match_question(index: TraceIndex, step: Step, node: int, pattern: str) -> Question:
    entries = _entries(index, pattern)
    spelled = f" ({entries})" if len(entries) <= LONGEST_ENTRIES else ""
    return Question(
        "matches",
        f"Does the pattern {pattern}{spelled} match at {noun_of(index)} {node}?",
        step.index,
        (node,),
        ("yes", "no"),
        pattern,
        picture_step=_over(step),
        group_by=_grouping(index, step),
    )


def _question_about_match(index: TraceIndex, step: Step | None, node: int | None, pattern: str | None) -> Question:
    patterns = [rule.pattern for rule in index.trace.rules]
    if pattern is not None and pattern not in patterns:
        raise unknown_name("pattern", pattern, patterns)
    if pattern is not None and node is not None:
        at = index.trace.why_not(pattern, node, None if step is None else step.index).step
        return _match_question(index, _askable(index, at), node, pattern)
    steps = [one for one in index.trace.steps[1:] if one.error is None] if step is None else [step]
    asked = (question for one in steps for question in _match_questions(index, one))
    found = next((one for one in asked if node in (None, *one.nodes) and pattern in (None, one.pattern)), None)
    if found is None:
        what = "no pattern" if pattern is None else f"the pattern {pattern} neither"
        at = "" if node is None else f" at node {node}"
        raise CircuitError(f"{what} matched nor nearly matched{at} in {_where(step)}; give node= and pattern=")
    return found


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
    count = plural(_count(index, step.index - 1), noun_of(index))
    text = f"There are {count} now. How many are left after this step ({path_text(step.path)})?"
    return Question("layers-left", text, step.index, picture_step=_over(step), group_by=_grouping(index, step))


def _check_layers(index: TraceIndex, question: Question, answer: int) -> Verdict:
    left = layers_left(index, question)
    right = answer == left
    count = plural(left, noun_of(index))
    said = f"Right: {count}." if right else f"No: {count} {'is' if left == 1 else 'are'} left."
    return Verdict(right, f"{said} {_why_so_many(index, index.step(question.step))}")


def layers_left(index: TraceIndex, question: Question) -> int:
    """The answer to a question of kind `layers-left`."""
    return _count(index, question.step)


def _count(index: TraceIndex, step: int) -> int:
    """How many layers there are after a step; at the tensor level operators, which inputs and constants are not."""
    if index.trace.is_tensor:
        return index.trace.figures(step)["operators"]
    return int(np.count_nonzero(index.state(step).present))


def _why_so_many(index: TraceIndex, step: Step) -> str:
    """What was done to how many layers."""
    noun = noun_of(index)
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
    parts = [
        f"{rule} {plural(count, 'time')} made {new} of {plural(old, noun)}" for (rule, old, new), count in done.items()
    ]
    return "; ".join(parts) + "."


# ---------------------------------------------------------------------- what becomes of a figure


def _figure_question(index: TraceIndex, step: Step, figure: str | None) -> Question:
    known = [name for name in FIGURES if name in index.trace.figures(step) and name in index.trace.figures(_over(step))]
    if figure not in known:
        raise unknown_name(f"figure of {_where(step)}", figure, known)
    title, _, text = FIGURES[figure]
    asked = (
        f"{title[0].upper()}{title[1:]}: {text(index.trace.figures(_over(step))[figure])} now. "
        f"More, the same, or fewer after this step ({path_text(step.path)})?"
    )
    over, grouping = _over(step), _grouping(index, step)
    return Question("figure", asked, step.index, (), (MORE, SAME, FEWER), "", over, "after", grouping, figure)


def _check_figure(index: TraceIndex, question: Question, answer: str) -> Verdict:
    title, _, text = FIGURES[question.figure]
    step = index.step(question.step)
    before, after = (index.trace.figures(at)[question.figure] for at in (_over(step), step.index))
    true = MORE if after > before else FEWER if after < before else SAME
    said = "Right" if answer == true else f"No, {true}"
    change = f"{text(before)} before, {text(after)} after" if after != before else f"{text(after)} before and after"
    return Verdict(answer == true, f"{said}: {title}, {change}. {_why_so_many(index, step)}")


def _title(name: str) -> str:
    return name.removeprefix("Torch").removesuffix("Layer")
