"""Questions about whether a pattern matches at a node."""

from explorer.errors import CircuitError, unknown_name
from explorer.trace import Refusal, RefusalKind, Step, type_title
from explorer.views.index import TraceIndex
from explorer.views.predicting.question import Question, Verdict, askable, grouping_of, noun_of, where
from explorer.views.words import list_text

MAX_ENTRIES_CHARS = 80
"""Maximum length of a pattern's entries in a question; tensor-level rules have dozens of operators."""


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
