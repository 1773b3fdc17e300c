"""Questions about a round of another compiler: the calls that become one with a given call."""

from explorer.errors import CircuitError
from explorer.trace import Step, pairs_of
from explorer.views.index import TraceIndex
from explorer.views.predicting.question import Question, Together, where
from explorer.views.words import plural


def fusion_questions(index: TraceIndex, step: Step) -> list[Question]:
    """Return the question about the largest call that a round makes of several; none for other steps."""
    merges = [one.removed for one in step.applied if len(one.removed) > 1] if step.pairs else []
    return [_question(index, step, max(max(merges, key=len)))] if merges else []


def question_about_fusion(index: TraceIndex, step: Step | None, node: int | None) -> Question:
    """Return the question about a call, by default of a largest one, in a step or the first that fuses.

    Raises: CircuitError if no pairs are fused, or the node is not a call before the round.
    """
    steps = index.trace.steps if step is None else (step,)
    found = next((question for one in steps for question in fusion_questions(index, one)), None)
    if found is None:
        raise CircuitError(f"no pairs of calls are fused in {where(step)}; ask about another trace or step")
    if node is None:
        return found
    record = index.trace.graph_at(found.after_step).nodes.get(node)
    if record is None or record.kind == "input":
        raise CircuitError(f"node {node} is not a call when {where(index.step(found.step))} begins")
    return _question(index, index.step(found.step), node)


def _question(index: TraceIndex, step: Step, node: int) -> Question:
    title = index.trace.graph_at(step.index - 1).nodes[node].title
    text = f"Which calls become one with call {node} ({title}) in this step ({step.at.words})? Click all of them."
    return Question("fused-with", text, step.index, (node,), group_by="plates")


def fused_together(index: TraceIndex, question: Question) -> Together:
    """Return the answer to a question of kind `fused-with`."""
    (node,) = question.nodes
    step = index.step(question.step)
    members = next((tuple(sorted(one.removed)) for one in step.applied if node in one.removed), (node,))
    if len(members) == 1:
        why = f"Call {node} is fused with no other in this step."
        return Together(node, members, f"Right. {why}", why)
    fused = [(one.one, one.other) for one in pairs_of(step) if one.score and {one.one, one.other} <= {*members}]
    pairs = ", ".join(f"{one} and {other}" for one, other in fused)
    why = f"The compiler fused pairs, the best score first{f': {pairs}' if pairs else ''}."
    return Together(node, members, f"Right: {plural(len(members) - 1, 'other call')}. {why}", why)


def why_not_fused(index: TraceIndex, question: Question, other: int) -> str:
    """Say what the compiler said of a call in the step of the question, or why it was not asked."""
    (node,) = question.nodes
    step = index.step(question.step)
    said = next((one for one in pairs_of(step) if {one.one, one.other} == {node, other}), None)
    if said is not None:
        return f"{said.verdict.value}{f': {said.reason}' if said.reason else ''}."
    nodes = index.trace.graph_at(question.after_step).nodes
    if other not in nodes:
        return "it does not exist when this step begins."
    if nodes[other].kind == "input":
        return "it is an input."
    library = nodes[other].config.get("library") or nodes[node].config.get("library")
    return f"never tried: {library} is a library call." if library else "never tried."
