"""Predict, then reveal: questions about a step, and what is right, wrong or missing in an answer.

A question does not contain its answer. Its picture shows the state before the step, with one box per layer, because
grouped boxes, hulls and the colours of changes would reveal it. Answers and reasons come from the trace.
"""

from explorer.views.predicting.asking import check, question_about, questions
from explorer.views.predicting.counts import layers_left
from explorer.views.predicting.folds import fold_together, why_apart
from explorer.views.predicting.question import Answer, Question, QuestionKind, Verdict, noun_of

__all__ = [
    "Answer",
    "Question",
    "QuestionKind",
    "Verdict",
    "check",
    "fold_together",
    "layers_left",
    "noun_of",
    "question_about",
    "questions",
    "why_apart",
]
