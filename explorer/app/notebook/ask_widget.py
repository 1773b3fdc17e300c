"""The widget of `explorer.ask`: a picture with a question below it."""

from collections.abc import Sequence
from typing import Any

import traitlets

from explorer.app.notebook.fallback import picture_fallback
from explorer.app.notebook.trace_widget import TraceWidget
from explorer.app.session.session import Session
from explorer.views import Answer, Question, Verdict, check, question_view
from explorer_widgets.encode import to_json
from explorer_widgets.jupyter import Fallback, QuestionWidget
from explorer_widgets.schema import GraphOptions, QuestionView


class AskWidget(TraceWidget, QuestionWidget):
    """A picture with a question below it. `revealed` switches between the question and the step.

    `answer` is the one that was checked last; `asked` contains the feedback to all answers.
    """

    question: Any = traitlets.Instance(Question).tag(sync=True, to_json=lambda _, widget: to_json(widget.asked))

    def __init__(self, session: Session, height: int | None, question: Question) -> None:
        self.asked: QuestionView = question_view(session.index, question)
        self.question = question
        super().__init__(session, height)
        self._own = dict(self.options)
        self._selection: Sequence[str] = self.asked["asking"]["selection"]
        self._show()
        self.observe(lambda change: self._show(), names="revealed")

    @property
    def verdict(self) -> Verdict | None:
        """The feedback to the answer that was checked last; None before the first check."""
        answer: Any = self.answer
        return None if answer is None else self.check(answer)

    def check(self, answer: Answer) -> Verdict:
        """Check an answer against the trace: ids of layers, a choice, True or False, a number.

        Raises: DataTypeError for an answer of the wrong type; UnknownNameError for one that is not among the choices.
        """
        return check(self.session.index, self.question, answer)

    def _show(self) -> None:
        """Go to the picture of the question, with the reader's selection, or of the answer."""
        picture = self.asked["revealing" if self.revealed else "asking"]
        session = self.session
        if self.revealed:
            self._selection = session.selection
        with self.hold_sync():
            self.options = {**self._own, **question_options(self.asked, self.revealed)}
            session.change_look(mode=picture["mode"], colour_by=picture["colour_by"], group_by=picture["group_by"])
            session.go(picture["step"])
            session.select(picture["selection"] if self.revealed else self._selection)

    def _fallback(self) -> Fallback:
        found = picture_fallback(self.session.picture())
        return Fallback(found.draw, f"{self._words()} {found.alt}", f"{self._words()}\n\n{found.text}")

    def _words(self) -> str:
        return " ".join([self.question.text, *[f"[{choice}]" for choice in self.question.choices]])


def question_options(view: QuestionView, revealed: bool) -> GraphOptions:
    """Options of the picture: it hides everything that reveals the answer, and later shows that one step."""
    picture = view["revealing" if revealed else "asking"]
    fixed: GraphOptions = {
        "stepper": False,
        "numbers": True,
        "groups": [picture["group_by"]],
        "colours": [picture["colour_by"]],
    }
    if revealed:
        return {**fixed, "modes": ["diff", "before", "after"], "asking": False, "many": False}
    return {**fixed, "modes": [picture["mode"]], "asking": True, "many": "clicks" in view}
