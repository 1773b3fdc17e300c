"""Questions about layers: how many a step leaves, whether a statistic is more or fewer, which are folded together."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.errors import CircuitError, check_name
from explorer.graph import key_differences
from explorer.trace import FoldGroup, Step, type_title
from explorer.views.costs import STATS
from explorer.views.index import TraceIndex
from explorer.views.predicting.question import (
    MAX_LAYERS,
    Question,
    Verdict,
    first_that_changes,
    grouping_of,
    layers_found,
    noun_of,
    where,
)
from explorer.views.words import list_text, plural

MORE, SAME, FEWER = "more", "the same", "fewer"

MAX_FOLD_QUESTIONS = 3


def layers_question(index: TraceIndex, step: Step) -> Question:
    """Ask how many layers, or operators, are left after the step."""
    count = plural(_count(index, step.index - 1), noun_of(index))
    text = f"There are {count} now. How many are left after this step ({step.at.words})?"
    return Question("layers-left", text, step.index, group_by=grouping_of(index, step))


def check_layers(index: TraceIndex, question: Question, answer: int) -> Verdict:
    """Check a number of layers, and say what the step did."""
    left = layers_left(index, question)
    right = answer == left
    count = plural(left, noun_of(index))
    verdict = f"Right: {count}." if right else f"No: {count} {'is' if left == 1 else 'are'} left."
    return Verdict(right, f"{verdict} {_why_so_many(index, index.step(question.step))}")


def layers_left(index: TraceIndex, question: Question) -> int:
    """Return the answer to a question of kind `layers-left`."""
    return _count(index, question.step)


def _count(index: TraceIndex, step: int) -> int:
    """Return the number of layers after a step; at the tensor level, of operators (not inputs and constants)."""
    return index.trace.stats(step)[index.trace.level.count_stat]


def _why_so_many(index: TraceIndex, step: Step) -> str:
    """Describe what was done to how many layers."""
    noun = noun_of(index)
    if step.folds:
        return f"On this level, {step.summary}."
    done: dict[tuple[str, int, int], int] = {}
    for rewrite in step.rewrites:
        if not rewrite.parameter_path:
            key = (rewrite.rule, len(rewrite.removed), len(rewrite.added))
            done[key] = done.get(key, 0) + 1
    if not done:
        inside = " Rules on parameters do not replace layers." if step.rewrites else ""
        return f"Nothing was replaced.{inside}"
    parts = [
        f"{rule} {plural(count, 'time')} {_change_text(old, new, noun)}" for (rule, old, new), count in done.items()
    ]
    return "; ".join(parts) + "."


def _change_text(old: int, new: int, noun: str) -> str:
    """Describe the replacement of `old` layers or operators by `new` ones."""
    if old == new == 0:
        return f"changed no {noun}, only its inputs"
    if not new:
        return f"removed {plural(old, noun)}"
    if not old:
        return f"added {plural(new, noun)}"
    return f"replaced {plural(old, noun)} by {new}"


def stat_question(index: TraceIndex, step: Step | None, stat: str | None) -> Question:
    """Ask how a step changes a statistic, by default the first that changes.

    Raises: UnknownNameError for an unknown statistic; CircuitError if none is given and none changes.
    """
    steps = [one for one in index.trace.steps[index.trace.start + 1 :] if one.error is None] if step is None else [step]
    if stat is None:
        found = next(((one, name) for one in steps for name in _stats(index, one) if _changes(index, one, name)), None)
        if found is None:
            raise CircuitError(f"no statistic changes in {where(step)}; choose one of: {', '.join(STATS)}")
        step, stat = found
    elif step is None:
        step = next((one for one in steps if stat in _stats(index, one) and _changes(index, one, stat)), None)
    step = step or first_that_changes(index)
    known = _stats(index, step)
    check_name(f"statistic of {where(step)}", stat, known)
    title, _, text = STATS[stat]
    question = (
        f"{title[0].upper()}{title[1:]}: {text(index.trace.stats(step.index - 1)[stat])} now. "
        f"More, the same, or fewer after this step ({step.at.words})?"
    )
    choices, grouping = (MORE, SAME, FEWER), grouping_of(index, step)
    return Question("stat", question, step.index, choices=choices, group_by=grouping, stat=stat)


def _stats(index: TraceIndex, step: Step) -> list[str]:
    before, after = (index.trace.stats(at) for at in (step.index - 1, step.index))
    return [name for name in STATS if name in before and name in after]


def _changes(index: TraceIndex, step: Step, stat: str) -> bool:
    return index.trace.stats(step.index - 1)[stat] != index.trace.stats(step.index)[stat]


def check_stat(index: TraceIndex, question: Question, answer: str) -> Verdict:
    """Check a choice against the statistic before and after."""
    title, _, text = STATS[question.stat]
    step = index.step(question.step)
    before, after = (index.trace.stats(at)[question.stat] for at in (step.index - 1, step.index))
    true = MORE if after > before else FEWER if after < before else SAME
    verdict = "Right" if answer == true else f"No, {true}"
    change = f"{text(before)} before, {text(after)} after" if after != before else f"{text(after)} before and after"
    return Verdict(answer == true, f"{verdict}: {title}, {change}. {_why_so_many(index, step)}")


def fold_questions(index: TraceIndex, step: Step) -> list[Question]:
    """Return questions about the largest groups of a level, and about one layer that is not folded."""
    if not step.folds or layers_found(index, step) > MAX_LAYERS:
        return []
    together = sorted((g for g in step.folds if len(g.members) > 1), key=lambda g: (-len(g.members), g.members))
    alone = [g for g in step.folds if len(g.members) == 1]
    chosen = [*together[:MAX_FOLD_QUESTIONS], *alone[:1]]
    found: list[Question] = []
    for group in sorted(chosen, key=lambda g: g.members):
        node = group.members[len(group.members) // 2]
        found.append(_fold_question(step, node, group.type))
    return found


def _fold_question(step: Step, node: int, type_name: str) -> Question:
    text = f"Which layers will be folded together with layer {node} ({type_title(type_name)})? Click all of them."
    return Question("fold-with", text, step.index, (node,))


def question_about_fold(index: TraceIndex, step: Step | None, node: int | None) -> Question:
    """Return the question about a layer, by default the first that is folded with others.

    Raises: CircuitError if the trace or the step folds nothing, or not this layer.
    """
    folding = [one for one in index.trace.steps if one.folds and one.error is None]
    if not folding:
        raise CircuitError(f"the trace folds nothing; {index.trace.level.no_folds}")
    if node is None:
        questions = [question for one in folding if step in (None, one) for question in fold_questions(index, one)]
        if not questions:
            raise CircuitError(_no_folds(index, step or folding[0]))
        return next((one for one in questions if len(fold_together(index, one).wanted) > 0), questions[0])
    group, found = next(((g, one) for one in folding for g in one.folds if node in g.members), (None, None))
    if group is None or found is None:
        raise CircuitError(f"layer {node} does not exist when folding begins, so it is not folded")
    if step not in (None, found):
        raise CircuitError(f"layer {node} is folded in {where(found)}, not in {where(step)}")
    if layers_found(index, found) > MAX_LAYERS:
        raise CircuitError(_no_folds(index, found))
    return _fold_question(found, node, group.type)


def _no_folds(index: TraceIndex, step: Step) -> str:
    count = layers_found(index, step)
    if count > MAX_LAYERS:
        return f"{where(step)} has {plural(count)}; at most {MAX_LAYERS:,} can be drawn one by one to be clicked"
    return f"{where(step)} folds no layers together"


@dataclass(frozen=True, slots=True)
class Together:
    """The layers folded with the given one, the feedback if they were found, and the reason."""

    wanted: tuple[int, ...]
    right: str
    why: str


def fold_together(index: TraceIndex, question: Question) -> Together:
    """Return the answer to a question of kind `fold-with`."""
    (node,) = question.nodes
    group = _group_of(index, node)
    wanted = tuple(member for member in group.members if member != node)
    if not wanted:
        why = f"Layer {node} is not folded with any other. {_nearly(index, group)}".rstrip()
        return Together(wanted, f"Right. {why}", why)
    key = ", ".join(f"{name}={value}" for name, value in group.key.items())
    why = f"They agree on level {group.level} and on {type_title(group.type)} with {key}."
    return Together(wanted, f"Right: {plural(len(wanted), 'other layer')}. {why}", why)


def _group_of(index: TraceIndex, node: int) -> FoldGroup:
    return next(g for g in index.groups if node in g.members)


def check_fold(index: TraceIndex, question: Question, answer: Sequence[int]) -> Verdict:
    """Check chosen layers against the group: which do not belong to it and why, and which are missing."""
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
    """Describe why two layers are not folded together; `other` may be a folded layer, or removed."""
    folded = next((g for g in index.groups if g.node == other and g.members != (other,)), None)
    if folded is not None:
        return f"it is already a folded layer, of {plural(len(folded.members))} of level {folded.level}."
    try:
        return f"{index.trace.why_not_folded(node, other).why}."
    except CircuitError:
        return "it no longer exists when folding begins."


def _nearly(index: TraceIndex, group: FoldGroup) -> str:
    """Describe the closest candidate for a layer that is not folded."""
    for miss in index.missed_folds:
        if group.node in miss.nodes:
            other = miss.nodes[1 - miss.nodes.index(group.node)]
            return f"The closest was layer {other}: {miss.reason}."
    same = [g for g in index.groups if g.type == group.type and g.node != group.node]
    if not same:
        return f"There is no other {type_title(group.type)}."
    found = key_differences((group.type, tuple(group.key.items())), (same[0].type, tuple(same[0].key.items())))
    if not found:
        levels = list_text([g.level for g in same], 6)
        return f"The others with its key are on different levels: {levels}; it is on {group.level}."
    fields = "; ".join(f"{name} {theirs} and not {mine}" for name, mine, theirs in found)
    return f"Another {type_title(group.type)} has {fields}."
