"""Queries on the circuit of the selected step: a small form, the pixels that are observed, and the answer."""

from dataclasses import replace
from html import escape
from typing import Any
from weakref import ref

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, columns, line, number, number_input
from explorer.app.dashboard.panes.tables import code_html, html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import OPENED, Tool
from explorer.app.dashboard.panes.values import run_inputs
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened
from explorer.app.session.querying import (
    KINDS,
    MAX_SAMPLES,
    Answer,
    Evidence,
    Query,
    ask,
    code_of,
    is_untrained,
    parse_variables,
    rows_table,
)
from explorer.app.session.running import LOADED, range_of
from explorer.app.session.session import require_live
from explorer.errors import CircuitError
from explorer.views import query_view
from widgets.dashboard import QueryPane

TITLES = {kind.title: kind.name for kind in KINDS.values()}
UNTRAINED = (
    "This circuit is not trained: its values are random. Train it (circuit-explorer train), and open its checkpoint "
    "(circuit-explorer serve runs/NAME.pt)."
)
VALUES = "values"
"""The part of the close-up that colours cells."""
REPAINTED = ("marginal", "most-probable", "sample")
"""The queries that are asked again after each stroke, as they complete what was painted."""


class QueryTool(Tool):
    """Asks the circuit of the step; on images, the observed pixels are painted, and the rest is completed."""

    name = "query"
    title = "Query"
    help = "Ask the circuit of this step: probabilities, samples, and completions of what is observed."
    supported_levels = ("compiled",)
    elsewhere = "queries are asked of the layers of a circuit"

    def __init__(self, workspace: Workspace) -> None:
        self.kind = pmui.Select(label="Query", options=TITLES, value="sample", size="small", width=190)
        self.row = pmui.TextInput(
            label="Row: a number or ? for each variable", size="small", sizing_mode="stretch_width"
        )
        self.given = pmui.TextInput(label="Given variables", placeholder="0, 2, 5-9", size="small", width=170)
        self.count = number_input("Samples", 8, 1, MAX_SAMPLES, 90)
        self.seed = number_input("Seed", 0, 0, None, 90)
        self.meaning = html_pane()
        self.pad = QueryPane(visible=False, margin=(4, 8))
        self.answer = html_pane()
        self.code = html_pane()
        self.copy = button(workspace, "Copy as Python", self._copy, "outlined", visible=False)
        self.colour = button(workspace, "Colour the plates", self._colour, "outlined", visible=False)
        self.evidence = Evidence((), ())
        self._number = 0
        self._answer: Answer | None = None
        self._opened: Any = lambda: None
        self.kind.param.watch(workspace.guard(lambda _: self._on_kind()), "value")
        self.pad.param.watch(workspace.guard(lambda event: self._on_paint(event.new)), "evidence")
        super().__init__(workspace)

    def build(self) -> Viewable:
        press = button(self.workspace, "Ask", self._start)
        form = line(self.kind, self.given, self.count, self.seed, press, self.copy, self.colour)
        return column(form, self.meaning, self.row, self.pad, columns(self.answer, self.code))

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        if OPENED in names or self._opened() is not session.opened:
            if self._opened() is not session.opened:
                self._fill(session.opened)
            self._on_kind()
        elif "step" in names and self._answer is not None:
            self._start()

    # ------------------------------------------------------------------ the form

    def _fill(self, opened: Opened) -> None:
        """Begin with nothing observed of another trace."""
        self._opened = ref(opened)
        self._answer = None
        self.answer.object = self.code.object = ""
        self.copy.visible = self.colour.visible = False
        if not opened.is_live:
            self.evidence = Evidence((), ())
            self.answer.object = lines_html([LOADED])
            self.row.visible = self.pad.visible = False
            return
        self.evidence = Evidence.nothing(opened.trace.circuit_at(-1).num_variables)
        self._show_pad()
        self.row.visible = not self.pad.visible
        self.row.value = str(self.evidence)

    def _on_kind(self) -> None:
        kind = KINDS[self.kind.value]
        opened = self.workspace.session.opened
        untrained = [UNTRAINED] if is_untrained(opened.trace) else []
        self.meaning.object = lines_html([kind.meaning, *untrained])
        self.given.visible = kind.has_given
        self.count.visible = self.seed.visible = kind.is_sampled

    def _on_paint(self, painted: Any) -> None:
        """Take what was painted, and ask again what completes it."""
        if not painted:
            return
        self._number = int(painted["n"])
        x, observed = painted["x"], painted["observed"]
        self.evidence = Evidence(tuple(map(float, x)), tuple(map(bool, observed)))
        if self.kind.value in REPAINTED:
            self._start()

    def _query(self) -> Query:
        """What the form asks. Raises: FormError."""
        count = len(self.evidence.x)
        if self.row.visible:
            self.evidence = Evidence.parse(self.row.value, count)
        given = parse_variables(self.given.value, count) if self.given.visible else ()
        return Query(self.kind.value, self.evidence, given, number(self.count, 8), number(self.seed, 0))

    # ------------------------------------------------------------------ asking

    def _start(self) -> None:
        session = self.workspace.session
        require_live(session)
        opened, step = session.opened, session.step
        try:
            query = self._query()
        except CircuitError as error:
            self._show_error(error)
            return

        def show(answer: Answer) -> None:
            if session.opened is opened:
                self._show(answer, step)

        def fail(error: Exception) -> None:
            if isinstance(error, CircuitError):
                self._show_error(error)
            else:
                self.workspace.show_error(error)

        circuit = opened.trace.circuit_at(step)
        self.workspace.inputs_background.start("Asking", lambda job: ask(circuit, query), show, fail)

    def _show(self, answer: Answer, step: int) -> None:
        """Show an answer; rows as images if the variables are pixels."""
        self._answer = answer
        circuit = self.workspace.session.opened.trace.circuit_at(step)
        _, is_discrete = range_of(circuit)
        self._show_pad(answer)
        table = table_html(answer.table)
        if answer.rows and not self.pad.visible and answer.query.kind != "sample":
            table += table_html(rows_table(answer.rows))
        hides = self.pad.visible and answer.query.kind == "sample"
        words = ("" if hides else table) + ("" if self.pad.visible else lines_html([answer.note]))
        self.answer.object, self.answer.visible = words, bool(words)
        self.code.object = f"<h3>The same in Python</h3>{code_html(code_of(answer, step, is_discrete))}"
        self.copy.visible = True
        self.colour.visible = bool(answer.rows)
        if answer.rows:
            self.colour.label = f"Colour the plates by {answer.rows[0][0]}"

    def _show_error(self, error: CircuitError) -> None:
        """Say why there is no answer, where the answer would be."""
        self._answer = None
        self.answer.object, self.answer.visible = f'<p class="bad">{escape(str(error))}</p>', True
        self.code.object = ""
        self.copy.visible = self.colour.visible = False
        self._show_pad()

    def _show_pad(self, answer: Answer | None = None) -> None:
        """Draw the pad with what is observed, and the rows of an answer as images."""
        session = self.workspace.session
        most, is_discrete = range_of(session.opened.trace.circuit_at(-1))
        asked = self.evidence if answer is None else answer.query.evidence
        found = query_view(
            session.index,
            asked.x,
            asked.observed,
            most=most,
            step=1.0 if is_discrete else most / 100,
            number=self._number,
            answers=() if answer is None else answer.rows,
            note="" if answer is None else answer.note,
        )
        self.pad.visible = found is not None
        self.pad.show_query(found)

    def _colour(self) -> None:
        """Colour each cell by its value for the first row of the answer: the close-up of a plate has the scale."""
        session = self.workspace.session
        if self._answer is None or not self._answer.rows:
            return

        def show() -> None:
            if not session.selection:
                session.select([list(session.boxes)[-1]])
            session.look_closer(replace(session.state.closer, closeup=VALUES))

        run_inputs(self.workspace, self._answer.rows[0][1], picked=show)

    def _copy(self) -> None:
        """Put code that opens the trace and asks the same on the clipboard."""
        if self._answer is None:
            return
        step = self.workspace.session.step
        _, is_discrete = range_of(self.workspace.session.opened.trace.circuit_at(step))
        self.workspace.copy(f"{self.workspace.python()}\n{code_of(self._answer, step, is_discrete)}\n")
