"""The widget of `explorer.ask`: a picture with a question below it."""

from collections.abc import Sequence
from typing import Any

import traitlets

from explorer.app.notebook.fallback import picture_fallback, picture_text
from explorer.app.notebook.trace_widget import TraceWidget, WidgetStack
from explorer.trace import Trace
from explorer.views import Answer, Question, Verdict, check, question_view
from explorer_widgets.jupyter import Fallback, QuestionWidget
from explorer_widgets.schema import GraphOptions, QuestionView


class AskWidget(WidgetStack):
    """A picture with a question below it. `revealed` switches between the question and the step.

    `graph` is the picture, `panel` the question with its controls; `view` contains the feedback to all answers.
    """

    revealed = traitlets.Bool(False)

    def __init__(self, graph: TraceWidget, question: Question) -> None:
        self.graph = graph
        self.question = question
        self.view: QuestionView = question_view(graph.session.index, question)
        self.panel = QuestionWidget(self.view)
        self._own = dict(graph.options)
        self._selection: Sequence[str] = self.view["asking"]["selection"]
        super().__init__([graph, self.panel])
        self._show()
        traitlets.dlink((graph, "selection"), (self.panel, "selection"))
        traitlets.link((self.panel, "revealed"), (self, "revealed"))
        self.observe(lambda change: self._show(), names="revealed")

    @property
    def trace(self) -> Trace:
        """The trace of the question."""
        return self.graph.trace

    @property
    def verdict(self) -> Verdict | None:
        """The feedback to the answer that was checked last; None before the first check."""
        answer: Any = self.panel.answer
        if answer is None:
            return None
        return self.check(answer)

    def check(self, answer: Answer) -> Verdict:
        """Check an answer against the trace: ids of layers, a choice, True or False, a number.

        Raises: DataTypeError for an answer of the wrong type; UnknownNameError for one that is not among the choices.
        """
        return check(self.graph.session.index, self.question, answer)

    def _show(self) -> None:
        """Go to the picture of the question, with the reader's selection, or to that of the answer."""
        picture = self.view["revealing" if self.revealed else "asking"]
        session = self.graph.session
        if self.revealed:
            self._selection = session.selection
        with self.graph.hold_sync():
            self.graph.options = {**self._own, **question_options(self.view, self.revealed)}
            session.change_look(mode=picture["mode"], colour_by=picture["colour_by"], group_by=picture["group_by"])
            session.go(picture["step"])
            session.select(picture["selection"] if self.revealed else self._selection)

    def _fallback(self) -> Fallback:
        found = picture_fallback(self.graph.session.picture())
        return Fallback(found.draw, f"{self._words()} {found.alt}", str(self))

    def _words(self) -> str:
        return " ".join([self.question.text, *[f"[{choice}]" for choice in self.question.choices]])

    def __repr__(self) -> str:
        return f"AskWidget({self._words()})"

    def __str__(self) -> str:
        return f"{self._words()}\n\n{picture_text(self.graph.session.picture().view)}"


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
