"""Questions about which layers are folded together with a given one."""

from explorer.errors import CircuitError
from explorer.graph import key_differences
from explorer.trace import FoldGroup, Step, type_title
from explorer.views.index import TraceIndex
from explorer.views.predicting.question import MAX_LAYERS, Question, Together, layers_found, where
from explorer.views.words import list_text, plural

MAX_FOLD_QUESTIONS = 3


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


def fold_together(index: TraceIndex, question: Question) -> Together:
    """Return the answer to a question of kind `fold-with`."""
    (node,) = question.nodes
    group = _group_of(index, node)
    if len(group.members) == 1:
        why = f"Layer {node} is not folded with any other. {_nearly(index, group)}".rstrip()
        return Together(node, group.members, f"Right. {why}", why)
    key = ", ".join(f"{name}={value}" for name, value in group.key.items())
    why = f"They agree on level {group.level} and on {type_title(group.type)} with {key}."
    return Together(node, group.members, f"Right: {plural(len(group.members) - 1, 'other layer')}. {why}", why)


def _group_of(index: TraceIndex, node: int) -> FoldGroup:
    return next(g for g in index.groups if node in g.members)


def why_not_folded(index: TraceIndex, question: Question, other: int) -> str:
    """Describe why a layer is not folded with the one in question; `other` may be a folded layer, or removed."""
    (node,) = question.nodes
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
