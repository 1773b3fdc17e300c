"""Questions about how many layers a step leaves, and whether a statistic is more, the same or fewer."""

from explorer.errors import CircuitError, check_name
from explorer.trace import Step
from explorer.views.costs import STATS
from explorer.views.index import TraceIndex
from explorer.views.predicting.question import Question, Verdict, first_that_changes, grouping_of, noun_of, where
from explorer.views.words import plural

MORE, SAME, FEWER = "more", "the same", "fewer"


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
