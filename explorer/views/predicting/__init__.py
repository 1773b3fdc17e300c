"""Predict, then reveal: questions about a step, and what is right, wrong or missing in an answer.

A question does not contain its answer. Its picture shows the state before the step, with one box per layer, because
grouped boxes, hulls and the colours of changes would reveal it. Answers and reasons come from the trace.
"""

from explorer.views.predicting.asking import (
    check as check,
    question_about as question_about,
    questions as questions,
    together as together,
    why_apart as why_apart,
)
from explorer.views.predicting.count_questions import layers_left as layers_left
from explorer.views.predicting.question import (
    CLICKED as CLICKED,
    Answer as Answer,
    Question as Question,
    QuestionKind as QuestionKind,
    Verdict as Verdict,
    hint as hint,
    noun_of as noun_of,
)
