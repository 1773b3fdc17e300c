"""Runs the steps of a trace: on a fixed batch for the equivalence badge, on inputs of the close-up; predicts them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from html import escape

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.tables import html_pane
from explorer.app.dashboard.panes.tool import CLOSED, OPENED, Tool, button, column, line, number, number_input
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.close_up import run_values
from explorer.app.session.opening import Opened
from explorer.app.session.view_state import DisplayOptions
from explorer.bench import random_inputs
from explorer.trace import COMPILED, StepCheck
from explorer.views import CLICKED, Question, TraceIndex, Verdict, check, no_values, questions
from explorer_widgets.schema import ValuesView

ROWS = 16
ANOTHER = "Another circuit was opened while the inputs were run."
AT_ONCE = 1_500
"""Up to this many layers the values are checked without a request."""


def check_values(workspace: Workspace, ask_first: bool = False) -> None:
    """Check the values of every step in the background; with `ask_first` only if that is quick."""
    opened = workspace.session.opened
    if not opened.is_live or (ask_first and len(opened.trace.start_graph) > AT_ONCE):
        return

    def show(checks: dict[int, StepCheck]) -> None:
        if workspace.session.opened is opened:
            workspace.session.add_findings(checks=checks)

    background = workspace.quiet_background if ask_first else workspace.background
    background.start("Checking values", lambda job: _check(opened, job), show, workspace.show_error)


def _check(opened: Opened, job: Job) -> dict[int, StepCheck]:
    import torch

    steps = len(opened.trace.steps)
    with torch.no_grad():
        x = random_inputs(opened.trace.circuit_at(opened.trace.start), ROWS) if opened.trace.level.has_batches else None
        return {check.step: check for check in opened.trace.check(x, lambda s: job.report(s.path, s.index / steps))}


def run_inputs(workspace: Workspace, painted: Sequence[float], picked: Callable[[], None] | None = None) -> None:
    """Run the inputs of the close-up in the background, with an index of its own: an index serves one thread.

    The page waits for an answer, whatever becomes of the run. With `picked` it shows the values of `painted`, and
    `picked` is called once these are there.
    """
    opened = workspace.session.opened

    def run() -> ValuesView:
        found = run_values(TraceIndex(opened.trace), painted, paints=True)
        return {**found, "picked": len(found["runs"]) - 1} if picked is not None and found["runs"] else found

    def show(values: ValuesView) -> None:
        session = workspace.session
        if session.opened is opened:
            session.show_values(values)
            if picked is not None:
                picked()
        elif session.values is None:
            session.show_values(no_values(ANOTHER, can_run=True))

    def fail(error: Exception) -> None:
        workspace.show_error(error)
        show(no_values(f"The inputs could not be run: {error}", can_run=True))

    workspace.inputs_background.start(
        "Running inputs",
        lambda job: run(),
        show,
        fail,
        on_cancel=lambda: show(no_values("The run was cancelled.", can_run=True)),
    )


# ---------------------------------------------------------------------- predicting


class PredictTool(Tool):
    """Asks before showing: the picture goes to the matches of the step, the answer is checked, the step is shown."""

    name = "predict"
    title = "Predict"
    help = "Predict what the step will do before you see it; the answer is checked against the trace."
    supported_levels = (COMPILED,)
    elsewhere = "its questions are about layers"

    def __init__(self, workspace: Workspace) -> None:
        self.choice = pmui.Select(label="Question", options=[], size="small", width=520)
        self.begin = button(workspace, "Ask me", self._begin)
        self.text = html_pane()
        self.options = pmui.RadioBoxGroup(label="Answer", options=[], visible=False)
        self.number = number_input("Layers", 0, 0, None, 140, visible=False)
        self.check = button(workspace, "Check", self._check, visible=False)
        self.reveal = button(workspace, "Show the step", self._reveal, "outlined", visible=False)
        self.verdict = html_pane()
        self._asked: Question | None = None
        self._look: DisplayOptions | None = None
        super().__init__(workspace)

    def build(self) -> Viewable:
        answer = line(self.options, self.number, self.check, self.reveal)
        return column(line(self.choice, self.begin), self.text, answer, self.verdict)

    def on_change(self, names: frozenset[str]) -> None:
        if CLOSED in names:
            self._leave()
        elif "trace" in names and OPENED not in names:
            self._end()
        elif self._asked is not None and self.workspace.session.step != self._asked.after_step:
            look = self._look  # the reader moved on: the question is over
            self._end()
            if look is not None:
                self.workspace.session.change_look(**asdict(look))
        if self._asked is None and names & {"trace", "step"}:
            self._list()
        if self._asked is not None and self._asked.kind in CLICKED and "selection" in names:
            self._say_selection()

    def _list(self) -> None:
        session = self.workspace.session
        self._questions = {question.text: question for question in questions(session.index, session.step)}
        texts = list(self._questions)
        self.choice.param.update(options=texts, value=texts[0] if texts else None)
        self.begin.disabled = not texts
        self.text.object = "" if texts else "<p>Nothing to predict here: choose a step that changes something.</p>"

    def _begin(self) -> None:
        session = self.workspace.session
        question = self._questions[self.choice.value]
        if self._look is None:
            self._look = session.look
        self._asked = None  # a question that was asked before is over
        session.hide_after(question.after_step)
        session.change_look(mode="plain", group_by=question.group_by, colour_by="kind", near_misses=None)
        session.go(question.after_step)
        self._asked = question
        session.select_nodes(question.nodes)
        options = list(question.choices)
        self.options.param.update(options=options, value=options[0] if options else None, visible=bool(options))
        self.number.param.update(visible=question.kind == "layers-left", value=0)
        self.check.visible = True
        self.reveal.visible = False
        self.verdict.object = ""
        self.text.object = f"<h3>{escape(question.text)}</h3>"
        if question.kind in CLICKED:
            self._say_selection()

    def _say_selection(self) -> None:
        count = len(self._in_boxes())
        self.text.object = (
            f"<h3>{escape(self._asked.text if self._asked else '')}</h3>"
            f"<p>Click the boxes (Shift adds to the selection), then Check. {count:,} selected.</p>"
        )

    def _in_boxes(self) -> tuple[int, ...]:
        """Return the nodes of the selected boxes: the question is about boxes, also where a cell was clicked."""
        session = self.workspace.session
        return tuple(node for box in session.selection for node in session.boxes[box])

    def _answer(self, question: Question) -> object:
        if question.kind in CLICKED:
            return self._in_boxes()
        if question.choices:
            return self.options.value
        return number(self.number, 0)

    def _check(self) -> None:
        question = self._asked
        if question is None:
            return
        verdict: Verdict = check(self.workspace.session.index, question, self._answer(question))  # type: ignore[arg-type]
        sign = "good" if verdict.right else "bad"
        self.verdict.object = f'<p class="{sign}" role="status">{escape(verdict.text)}</p>'
        if verdict.nodes:
            self.workspace.session.select_nodes(verdict.nodes)
        self.reveal.visible = True

    def _reveal(self) -> None:
        self._leave()
        self._list()

    def _leave(self) -> None:
        """Return to the step of the question, as it was displayed before."""
        question, look = self._asked, self._look
        self._end()
        if question is not None and look is not None:
            self.workspace.session.change_look(**asdict(look))
            self.workspace.session.go(question.step)

    def _end(self) -> None:
        self._asked = self._look = None
        self.workspace.session.hide_after(None)
        self.options.visible = self.number.visible = self.check.visible = self.reveal.visible = False
