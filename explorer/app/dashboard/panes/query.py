"""Queries on the circuit of the selected step: a small form, the pixels that are observed, and the answer."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import panel_material_ui as pmui
import torch
from panel.viewable import Viewable

from explorer.app.circuits import is_checkpoint
from explorer.app.dashboard.panes.tables import code_html, html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import OPENED, Tool, button, column, columns, line, number, number_input
from explorer.app.dashboard.panes.values import run_inputs
from explorer.app.dashboard.workspace import Workspace
from explorer.app.queries.answers import Answer, answer as answer_of, code_of, rows_table, scale_words
from explorer.app.queries.learned_words import words_on_values
from explorer.app.queries.named_variables import MAX_SHOWN, UNKNOWN, UNREAD, Evidence, Variables, describe_variables
from explorer.app.queries.query_kinds import KINDS, Query
from explorer.app.session.close_up import LOADED
from explorer.app.session.opening import Opened
from explorer.backend import TorchCircuit
from explorer.errors import CircuitError
from explorer.symbolic import Circuit
from explorer.trace import COMPILED
from explorer.views import query_view
from explorer_widgets.dashboard import QueryPane

TITLES = {kind.title: kind.name for kind in KINDS.values() if not kind.has_other}
MAX_SAMPLES = 64
OUTLINED = "The outline surrounds the observed pixels."
CHOICE = "Click one to choose it."
SAMPLES = 6
"""The number of samples at first: their images have room in one row."""
VALUES = "values"
"""The part of the close-up that colours cells."""
REPAINTED = ("marginal", "moments", "most-probable", "sample")
"""The queries that are asked again after each stroke, as they complete what was painted."""


class QueryTool(Tool):
    """Asks the circuit of the step; on images, the observed pixels are painted, and the rest is completed."""

    name = "query"
    title = "Query"
    help = "Ask the circuit of this step: probabilities, samples, and completions of what is observed."
    supported_levels = (COMPILED,)
    elsewhere = "queries are asked of the layers of a circuit"

    def __init__(self, workspace: Workspace) -> None:
        self.kind = pmui.Select(label="Query", options=TITLES, value="sample", size="small", width=190)
        self.row = RowForm(workspace.guard(lambda: self._start()))
        self.given = pmui.TextInput(label="Given variables", placeholder="0, 2, 5-9", size="small", width=170)
        self.output = number_input("Output", 0, 0, 0, 90)
        self.class_ = number_input("Class", 0, 0, 0, 90)
        self.count = number_input("Samples", SAMPLES, 1, MAX_SAMPLES, 90)
        self.seed = number_input("Seed", 0, 0, None, 90)
        self.meaning, self.warning = html_pane(), html_pane()
        self.meaning.styles = {"flex": "1 1 260px", "min-width": "0"}
        self.pad = QueryPane(visible=False, margin=(4, 8))
        self.answer = html_pane()
        self.code = html_pane()
        self.copy = button(workspace, "Copy as Python", self._copy, "outlined", visible=False)
        self.colour = button(workspace, "Colour the plates", self._colour, "outlined", visible=False)
        self.evidence = Evidence.nothing(0)
        self.variables = Variables(0)
        self._number = 0
        self._answer: Answer | None = None
        self._python = ""
        """Code that opens the trace and asks the same."""
        self._form_step = self._answered_step = -1
        self._observed: tuple[str, ...] = ()
        """What was observed in the picture when it was last taken into the form."""
        self.kind.param.watch(workspace.guard(lambda _: self._on_kind()), "value")
        self.pad.param.watch(workspace.guard(lambda event: self._on_paint(event.new)), "evidence")
        self.pad.param.watch(workspace.guard(lambda _: self._show_pad(self._answer)), "chosen")
        super().__init__(workspace)

    def build(self) -> Viewable:
        press = button(self.workspace, "Ask", self._start)
        fields = (self.kind, self.given, self.output, self.class_, self.count, self.seed)
        form = line(*fields, press, self.copy, self.colour, self.meaning)
        return column(form, self.warning, self.row.view, self.pad, columns(self.answer, self.code))

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        if self._is_new_trace():
            self._begin(session.opened)
        elif names & {"step", OPENED} and session.opened.is_live:
            had_answer = self._answer is not None
            if self._form_step != self._step_of_form():
                self._clear()
                self._fill()
            self._on_kind()
            if had_answer and self._answered_step != session.step:
                self._start()
        if "observed" in names and session.opened.is_live:
            self._observe(session.observed)

    # ------------------------------------------------------------------ the form

    def _begin(self, opened: Opened) -> None:
        """Begin with nothing observed of another trace."""
        self._clear()
        self._observed = ()
        self.evidence, self.variables = Evidence.nothing(0), Variables(0)
        self.row.fill(self.variables)
        self.output.value = self.class_.value = 0
        self.given.value = ""
        if opened.is_live:
            self._fill()
        else:
            self.answer.object, self.answer.visible = lines_html([LOADED]), True
            self.pad.visible = False
        self._on_kind()

    def _step_of_form(self) -> int:
        """The step of a circuit with the variables and outputs of the selected one: a compilation keeps them."""
        session = self.workspace.session
        return session.step if session.step < session.opened.trace.start else -1

    def _fill(self) -> None:
        """Ask for the variables and outputs of the circuit of the step; what was entered stays where it still fits."""
        opened, self._form_step = self.workspace.session.opened, self._step_of_form()
        try:
            circuit: TorchCircuit = opened.trace.circuit_at(self._form_step)
        except CircuitError as error:  # the outputs of the operands differ in units
            self._show_error(error)
            return
        columns = opened.columns[: circuit.num_variables]
        self.variables = describe_variables(circuit, columns if len(columns) == circuit.num_variables else ())
        self.evidence = self.variables.keep(self.evidence)
        for field, size in zip((self.output, self.class_), circuit.output_shape, strict=True):
            field.value = 0 if field.value is None or field.value >= size else field.value
            field.end = size - 1
        self.given.placeholder = ", ".join(self.variables.names[:2]) if self.variables.columns else "0, 2, 5-9"
        self.given.value = self.variables.keep_chosen(str(self.given.value))
        self._show_pad()
        if self.pad.visible:
            self.variables = replace(self.variables, noun="pixel")
        self.row.follow(self.variables)

    def _clear(self) -> None:
        """Show no answer."""
        self._answer = None
        self.answer.object = self.code.object = ""
        self.copy.visible = self.colour.visible = False

    def _on_kind(self) -> None:
        kind = KINDS[self.kind.value]
        opened = self.workspace.session.opened
        self.meaning.object = lines_html([kind.meaning])
        subject = opened.trace.subject
        words = words_on_values(subject, opened.name) if isinstance(subject, Circuit) else ""
        self.warning.visible = bool(words)
        self.warning.object = lines_html([words]) if words else ""
        self.output.visible = kind.has_root and bool(self.output.end)
        self.class_.visible = kind.has_root and bool(self.class_.end)
        self.given.visible = kind.has_given
        self.count.visible = self.seed.visible = kind.is_sampled
        self.row.view.visible = opened.is_live and kind.has_evidence and not self.pad.visible

    def _on_paint(self, painted: Any) -> None:
        """Take what was painted, and ask again what completes it."""
        if not painted:
            return
        self._number = int(painted["n"])
        x, observed = painted["x"], painted["observed"]
        self.evidence = Evidence(torch.tensor([x], dtype=torch.float64), torch.tensor([observed], dtype=torch.bool))
        if self.kind.value in REPAINTED:
            self._start()

    def _observe(self, entries: tuple[str, ...]) -> None:
        """Observe what is observed in the picture, once: what is typed here afterwards stays."""
        if entries == self._observed or len(entries) != self.variables.count:
            return
        self._observed = entries
        kept = [entry if entry and self.variables.fits(v, entry) else "" for v, entry in enumerate(entries)]
        self.evidence = self.variables.read(kept)
        self.row.enter(kept)
        self._show_pad()
        if self._answer is not None:
            self._start()

    def _query(self) -> Query:
        """Return the query of the form. Raises: FormError."""
        if self.row.view.visible:
            self.evidence = self.row.read()
        given = torch.zeros(self.variables.count, dtype=torch.bool) if self.given.visible else None
        if given is not None:
            given[list(self.variables.chosen(self.given.value))] = True
        root = number(self.output, 0), number(self.class_, 0)
        return Query(self.kind.value, self.evidence, given, number(self.count, SAMPLES), number(self.seed, 0), root)

    # ------------------------------------------------------------------ asking

    def _start(self) -> None:
        session = self.workspace.session
        session.opened.require_live()
        opened, step = session.opened, session.step
        try:
            query, circuit = self._query(), opened.trace.circuit_at(step)
        except CircuitError as error:
            self._show_error(error)
            return

        def show(answer: Answer) -> None:
            if session.opened is not opened:
                return
            if session.step == step:
                self._show(answer, step)
            elif self._form_step == self._step_of_form():  # of a tool that was closed, it is asked again when opened
                self._start()

        def fail(error: Exception) -> None:
            if isinstance(error, CircuitError):
                self._show_error(error)
            else:
                self.workspace.show_error(error)

        variables = self.variables
        self.workspace.inputs_background.start("Asking", lambda job: answer_of(circuit, query, variables), show, fail)

    def _show(self, answer: Answer, step: int) -> None:
        """Show an answer; rows as images if the variables are pixels."""
        self._answer, self._answered_step = answer, step
        self.pad.chosen = 0
        self._show_pad(answer)
        words = self._words(answer)
        self.answer.object, self.answer.visible = words, bool(words)
        file = self.workspace.library.file_name(self.workspace.session.opened.name)
        checkpoint = file if isinstance(file, str) and is_checkpoint(file) else None
        self._python = f"{self.workspace.python(step=None)}\n{code_of(answer, step, checkpoint)}\n"
        self.code.object = f"<h3>The same in Python</h3>{code_html(self._python)}"
        self.copy.visible = True
        # the operands of an operator have other values than what it made: they are not those that are coloured
        self.colour.visible = bool(answer.rows) and step >= self.workspace.session.opened.trace.start - 1

    def _words(self, answer: Answer) -> str:
        """The answer in words and tables; what the pad shows as images is not repeated."""
        is_sample = answer.query.kind == "sample"
        parts = [table_html(answer.table)] if answer.table["rows"] and not (is_sample and self.pad.visible) else []
        if self.pad.visible:
            return "".join(parts)
        scale = "" if answer.query.kind == "entropy" else scale_words(answer.log_scale)
        parts.append(lines_html([words for words in (scale, answer.note) if words]))
        if answer.expected is not None:
            parts.append(table_html(answer.expected))
        elif answer.rows and not is_sample:
            parts.append(table_html(rows_table(answer.rows, answer.variables, answer.query.evidence)))
        if answer.rows and self.variables.count > MAX_SHOWN:
            parts.append(lines_html([f"These are the first {MAX_SHOWN} of {self.variables.count:,} variables."]))
        return "".join(parts)

    def _show_error(self, error: CircuitError) -> None:
        """Say why there is no answer, where the answer would be."""
        self._clear()
        self.answer.object, self.answer.visible = f'<p class="bad">{escape(str(error))}</p>', True
        self._show_pad()

    def _show_pad(self, answer: Answer | None = None) -> None:
        """Draw the pad with what is observed, and the rows of an answer as images."""
        session = self.workspace.session
        evidence = self.evidence if answer is None else answer.query.evidence
        x, observed = (part[0].tolist() for part in evidence)
        most = float(min(self.variables.sizes.values(), default=2) - 1)
        is_discrete = self.variables.real is not None and not self.variables.real
        found = query_view(
            session.index,
            x,
            observed,
            most=most,
            step=1.0 if is_discrete else most / 100,
            number=self._number,
            answers=() if answer is None else answer.rows,
            note="" if answer is None else _note_of(answer),
            chosen=self.pad.chosen,
        )
        self.pad.visible = found is not None
        self.pad.show_query(found)
        if answer is not None and answer.rows:
            self.colour.label = f"Colour the plates by {self._chosen(answer)[0]}"

    def _colour(self) -> None:
        """Colour each cell by its value for the chosen row of the answer: the close-up of a plate has the scale."""
        session = self.workspace.session
        if self._answer is None or not self._answer.rows:
            return

        def show() -> None:
            if not session.selection:
                session.select([list(session.boxes)[-1]])
            session.look_closer(replace(session.state.closer, closeup=VALUES))

        run_inputs(self.workspace, session, self._chosen(self._answer)[1], picked=show)

    def _chosen(self, answer: Answer) -> tuple[str, tuple[float, ...]]:
        """The row of the clicked image in an answer; the first one where there are no images."""
        return answer.rows[self.pad.chosen if self.pad.chosen < len(answer.rows) else 0]

    def _copy(self) -> None:
        self.workspace.browser.put_on_clipboard(self._python)


def _note_of(answer: Answer) -> str:
    """Describe the images of an answer, and what a click on one does."""
    parts = [
        (answer.note, True),
        (OUTLINED, bool(answer.rows) and bool(answer.query.evidence.observed.any())),
        (CHOICE, len(answer.rows) > 1),
    ]
    return " ".join(words for words, is_said in parts if is_said and words)


# ---------------------------------------------------------------------- the form of a row


FREE = "not observed"
"""The choice of a categorical variable that is not observed."""
WIDTH = 150


class RowForm:
    """The fields of a row, by name of the variable; an empty one is not observed."""

    def __init__(self, on_enter: Callable[[], object]) -> None:
        self._on_enter = on_enter
        self._variables = Variables(0)
        self.fields: list[pmui.TextInput | pmui.Select] = []
        self.text = pmui.TextInput(
            label=f"Row: a value or {UNKNOWN} for each variable", size="small", sizing_mode="stretch_width"
        )
        self.view = column()

    def fill(self, variables: Variables) -> None:
        """Ask for values of these variables, none observed."""
        self._variables = variables
        self.fields = [self._field(v) for v in range(variables.count)] if variables.count <= MAX_SHOWN else []
        self.text.value = ", ".join([UNKNOWN] * variables.count)
        self.view[:] = [line(*self.fields) if self.fields else self.text]

    def follow(self, variables: Variables) -> None:
        """Ask for values of other variables; an entry stays if it is one of the variable of that name."""
        if variables == self._variables:
            return
        typed = dict(zip(self._variables.names, self._entries(), strict=False))
        self.fill(variables)
        kept = [typed.get(name, "") for name in variables.names]
        kept = [entry if variables.fits(v, entry) else "" for v, entry in enumerate(kept)]
        self.enter(kept)

    def enter(self, entries: Sequence[str]) -> None:
        """Write an entry for each variable; an empty one is not observed."""
        for field, entry in zip(self.fields, entries, strict=False):
            field.value = entry
        self.text.value = ", ".join(entry or UNKNOWN for entry in entries)

    def read(self) -> Evidence:
        """Return the observed values. Raises: FormError, and the errors of `Variables.read`."""
        return self._variables.read(self._entries()) if self.fields else self._variables.parse(str(self.text.value))

    def _entries(self) -> list[str]:
        """Return the text of the field of each variable."""
        if not self.fields:
            return [entry.strip() for entry in str(self.text.value).replace(";", ",").split(",")]
        return [str(field.value or "").strip() for field in self.fields]

    def _field(self, variable: int) -> pmui.TextInput | pmui.Select:
        name, labels = self._variables.names[variable], self._variables.labels(variable)
        sizes = {"size": "small", "width": WIDTH, "label": name}
        if variable in self._variables.unread:
            return pmui.TextInput(placeholder=UNREAD, disabled=True, **sizes)
        if labels:
            return pmui.Select(options={FREE: "", **{label: label for label in labels}}, value="", **sizes)
        hint = self._variables.hint(variable)
        field = pmui.TextInput(placeholder=f"{hint}, or empty" if hint else "empty: not observed", **sizes)
        field.param.watch(lambda _: self._on_enter(), "enter_pressed")
        return field
