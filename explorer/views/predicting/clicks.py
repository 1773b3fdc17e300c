"""Questions that are answered by clicks: the boxes that belong together, and feedback on those that were clicked."""

from collections.abc import Sequence

from explorer.views.index import TraceIndex
from explorer.views.predicting.fold_questions import fold_together, why_not_folded
from explorer.views.predicting.fusion_questions import fused_together, why_not_fused
from explorer.views.predicting.question import Question, Together, Verdict, noun_of
from explorer.views.words import list_text


def together(index: TraceIndex, question: Question) -> Together:
    """Return the answer to a question that is answered by clicks."""
    return (fold_together if question.kind == "fold-with" else fused_together)(index, question)


def why_apart(index: TraceIndex, question: Question, other: int) -> str:
    """Describe why a node does not belong to the answer."""
    return (why_not_folded if question.kind == "fold-with" else why_not_fused)(index, question, other)


def check_clicks(index: TraceIndex, question: Question, answer: Sequence[int]) -> Verdict:
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
