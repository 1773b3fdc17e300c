"""The hint to a wrong first answer: how to find the right one, without saying what it is."""

from explorer.views.index import TraceIndex
from explorer.views.predicting.question import Question, QuestionKind, noun_of

_HINTS: dict[QuestionKind, str] = {
    "fold-with": "Layers are folded together if they are on the same level and agree in type, settings and the shapes "
    "of their parameters. The values of parameters and the variables may differ.",
    "winner": "The strategy compares the two matches. largest-match takes the one with more {noun}s; if both have the "
    "same number, the one whose root is nearer to the outputs. lowest-cost takes the one that saves more.",
    "matches": "Go through the pattern entry by entry, from the root: its type, its number of inputs, its users "
    "(below the root only one is allowed), its settings and its parameters.",
    "layers-left": "Find the matches that can be applied together, and count for each of them how many {noun}s it "
    "removes and how many it adds.",
    "stat": "Take one of the {noun}s that the step replaces. Write down what it computes, then what its replacement "
    "computes, and count both.",
}
_FOLDING = "Layers of this level with equal fold keys become one layer. Count the groups; the other levels stay."
_FOLDING_STAT = "Folded layers are computed together. Ask what that changes: the work itself, or the calls and copies?"


def hint(index: TraceIndex, question: Question) -> str:
    """Return the hint that follows a wrong first answer to the question."""
    if index.step(question.step).folds and question.kind in ("layers-left", "stat"):
        return _FOLDING if question.kind == "layers-left" else _FOLDING_STAT
    return _HINTS[question.kind].format(noun=noun_of(index))
