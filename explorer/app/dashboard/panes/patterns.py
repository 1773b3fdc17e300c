"""Live patterns: a form builds a pattern, its matches and near misses are shown at once, and it can be applied.

The form is frozen data; every control creates a new one. Nothing that is typed is evaluated.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any, TypeVar

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.tables import code_html, html_pane, lines_html
from explorer.app.dashboard.panes.tool import CLOSED, Tool, column, columns, line
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened
from explorer.app.session.pattern_form import (
    ConditionForm,
    FieldChoice,
    LayerForm,
    NodeForm,
    ParameterForm,
    PatternForm,
    apply_form,
    explain_pattern,
    fields_of,
    layer_types,
    parameter_types,
    parameters_of_type,
    replacements,
    try_pattern,
)
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError
from explorer.trace import COMPILED

Part = TypeVar("Part")
START = PatternForm("MyPattern", (LayerForm("TorchSumLayer"), LayerForm("TorchHadamardLayer")))
SMALL = {"size": "small", "margin": (3, 5)}


class PatternTool(Tool):
    """A pattern of consecutive layers, with conditions on their fields and sub-patterns of their parameters."""

    name = "pattern"
    title = "Pattern"
    help = "Build a pattern; its matches and near misses before this step are shown at once. Then apply it."
    supported_levels = (COMPILED,)
    elsewhere = "its patterns match layers"

    def __init__(self, workspace: Workspace) -> None:
        self.form = START
        self.rows = column()
        self.words = html_pane()
        self.answer = html_pane()
        self.code = html_pane()
        self.replacement = pmui.Select(label="Replacement", options=[], width=220, **SMALL)
        self.apply = pmui.Button(label="Apply", on_click=workspace.guard(self._apply), **SMALL)
        self.compare = pmui.Button(
            label="Apply and compare", variant="outlined", on_click=workspace.guard(self._compare), **SMALL
        )
        self.copy = pmui.Button(
            label="Copy as Python",
            variant="outlined",
            on_click=workspace.guard(lambda _: workspace.browser.put_on_clipboard(self._python())),
            **SMALL,
        )
        self.clear = pmui.Button(label="End the trial", variant="text", on_click=workspace.guard(self._clear), **SMALL)
        super().__init__(workspace)

    def build(self) -> Viewable:
        buttons = line(self.replacement, self.apply, self.compare, self.copy, self.clear)
        left = column(self.rows, buttons)
        right = column(self.words, self.answer, self.code)
        return columns(left, right)

    def on_change(self, names: frozenset[str]) -> None:
        if CLOSED in names:  # the drawing over the graph ends with the form
            self.workspace.session.try_pattern(None)
        if "trace" in names:
            self._draw()
        if names & {"trace", "step"}:
            self._try()
        if names & {"trace", "step", "selection", "trial"}:
            self._ask()

    # ------------------------------------------------------------------ the form

    def _set(self, form: PatternForm, redraw: bool = False) -> None:
        self.form = form
        if redraw:
            self._draw()
        self._try()
        self._ask()

    def _draw(self) -> None:
        form = self.form
        name = _text("Name", form.name, self._guard(lambda value: self._set(replace(self.form, name=value))), 170)
        is_output = pmui.Checkbox(label="the first layer is an output", value=form.is_output, **SMALL)
        is_output.param.watch(
            self.workspace.guard(lambda event: self._set(replace(self.form, is_output=event.new))), "value"
        )
        add = _button("Add a layer below", self._guard(lambda: self._layers((*self.form.entries, form.entries[-1]))))
        self.rows[:] = [
            line(name, is_output, add),
            *(self._layer_rows(i, entry) for i, entry in enumerate(form.entries)),
        ]

    def _layers(self, entries: Sequence[LayerForm]) -> None:
        self._set(replace(self.form, entries=tuple(entries)), redraw=True)

    def _layer(self, i: int, entry: LayerForm | None, redraw: bool = True) -> None:
        entries = _with(self.form.entries, i, entry)
        self._set(replace(self.form, entries=entries), redraw)

    def _layer_rows(self, i: int, entry: LayerForm) -> Viewable:
        """A layer: its type, the conditions on its fields, the sub-patterns of its parameters."""
        where = "output side" if i == 0 else f"input {i} below"
        kind = _select(
            f"Layer {i + 1} ({where})",
            list(layer_types()),
            entry.type,
            self._guard(lambda value: self._layer(i, LayerForm(value))),
            215,
        )
        fields, parameters = fields_of(entry.type), parameters_of_type(entry.type)
        buttons: list[Viewable] = []
        if fields:
            new = ConditionForm(fields[0].name)
            buttons.append(
                _button("Condition", self._guard(lambda: self._layer(i, _conditions(self.form.entries[i], new))))
            )
        if parameters:
            first = (parameters[0], ParameterForm((NodeForm(next(iter(parameter_types()))),)))
            buttons.append(
                _button(
                    "Parameter",
                    self._guard(
                        lambda: self._layer(
                            i, replace(self.form.entries[i], parameters=(*self.form.entries[i].parameters, first))
                        )
                    ),
                )
            )
        if len(self.form.entries) > 1:
            buttons.append(_button("Remove", self._guard(lambda: self._layer(i, None))))
        rows: list[Viewable] = [line(kind, *buttons)]
        for j, condition in enumerate(entry.conditions):
            rows.append(self._condition_row(fields, condition, lambda c, r, j=j: self._layer_condition(i, j, c, r)))
        for j, (name, parameter) in enumerate(entry.parameters):
            rows.append(self._parameter_rows(i, j, name, parameter, parameters))
        return column(*rows)

    def _layer_condition(self, i: int, j: int, condition: ConditionForm | None, redraw: bool) -> None:
        entry = self.form.entries[i]
        self._layer(i, replace(entry, conditions=_with(entry.conditions, j, condition)), redraw)

    def _condition_row(
        self,
        fields: Sequence[FieldChoice],
        condition: ConditionForm,
        put: Callable[[ConditionForm | None, bool], None],
    ) -> Viewable:
        by_name = {choice.name: choice for choice in fields}
        choice = by_name.get(condition.field, fields[0])
        state = {"condition": condition}

        def change(**changes: Any) -> None:
            state["condition"] = replace(state["condition"], **changes)
            put(state["condition"], False)

        def choose(name: str) -> None:
            """Change the field; the row is rebuilt only for a different kind of value, so that typed text is kept."""
            if (by_name[name].kind, by_name[name].operators) == (choice.kind, choice.operators):
                change(field=name)
            else:
                put(ConditionForm(name), True)

        field = _select("Field", list(by_name), condition.field, self._guard(choose), 190)
        operator = _select(
            "is", list(choice.operators), condition.operator, self._guard(lambda v: change(operator=v)), 80
        )
        value = _text(choice.kind, str(condition.value), self._guard(lambda v: change(value=v)), 130)
        return line(field, operator, value, _button("Remove", self._guard(lambda: put(None, True))), indent=30)

    def _parameter_rows(self, i: int, j: int, name: str, parameter: ParameterForm, names: Sequence[str]) -> Viewable:
        """The sub-pattern of a parameter: a chain of nodes, the last one of the parameter first."""

        def put(new: tuple[str, ParameterForm] | None, redraw: bool = True) -> None:
            entry = self.form.entries[i]
            self._layer(i, replace(entry, parameters=_with(entry.parameters, j, new)), redraw)

        def node(k: int, new: NodeForm | None, redraw: bool = True) -> None:
            now_name, now = self.form.entries[i].parameters[j]
            put((now_name, replace(now, entries=_with(now.entries, k, new))), redraw)

        which = _select(
            "Parameter",
            list(names),
            name,
            self._guard(lambda value: put((value, self.form.entries[i].parameters[j][1]))),
            150,
        )
        more = NodeForm(next(iter(parameter_types())))

        def below() -> None:
            now_name, now = self.form.entries[i].parameters[j]
            put((now_name, replace(now, entries=(*now.entries, more))))

        add = _button("Node below", self._guard(below))
        remove = _button("Remove", self._guard(lambda: put(None)))
        rows: list[Viewable] = [line(which, add, remove, indent=30)]
        for k, entry in enumerate(parameter.entries):
            kind = _select(
                f"Node {k + 1}",
                list(parameter_types()),
                entry.type,
                self._guard(lambda value, k=k: node(k, NodeForm(value))),
                215,
            )
            fields = fields_of(entry.type)
            buttons: list[Viewable] = []
            if fields:

                def ask(k: int = k, field: str = fields[0].name) -> None:
                    now = self.form.entries[i].parameters[j][1].entries[k]
                    node(k, replace(now, conditions=(*now.conditions, ConditionForm(field))))

                buttons.append(_button("Condition", self._guard(ask)))
            if len(parameter.entries) > 1:
                buttons.append(_button("Remove", self._guard(lambda k=k: node(k, None))))
            rows.append(line(kind, *buttons, indent=60))
            for m, condition in enumerate(entry.conditions):

                def put_condition(c: ConditionForm | None, redraw: bool, k: int = k, m: int = m) -> None:
                    now = self.form.entries[i].parameters[j][1].entries[k]
                    node(k, replace(now, conditions=_with(now.conditions, m, c)), redraw)

                rows.append(self._condition_row(fields, condition, put_condition))
        return column(*rows)

    def _guard(self, action: Callable[..., None]) -> Callable[..., None]:
        return self.workspace.guard(action)

    # ------------------------------------------------------------------ matches

    def _try(self) -> None:
        session = self.workspace.session
        try:
            trial = try_pattern(session.opened.trace, session.step, self.form)
            options = list(replacements(self.form))
        except CircuitError as error:
            session.try_pattern(None)
            text = "Enter a value for the condition." if _has_gaps(self.form) else str(error)
            self.words.object = f'<p class="{"" if _has_gaps(self.form) else "bad"}" role="status">{escape(text)}</p>'
            self.code.object = ""
            # The buttons stay enabled, and a press shows the error: a React widget of Panel sends back each value it
            # receives, so a property that changes with every key may end with an older value.
            return
        session.try_pattern(trial)
        kept = self.replacement.value if self.replacement.value in options else next(iter(options), None)
        self.replacement.param.update(options=options, value=kept)
        self.apply.disabled = self.compare.disabled = not options
        none = [] if options else ["No known rule replaces these layers; write one in a notebook."]
        self.words.object = f'<div role="status">{lines_html([trial.text, *none])}</div>'
        self.code.object = code_html(self._python())

    def _ask(self) -> None:
        """Show why the pattern does not match at the selected box."""
        session = self.workspace.session
        nodes = session.inspected_nodes
        self.answer.object = ""
        if not nodes or session.trial is None:
            return
        try:
            checks, reason = explain_pattern(session.opened.trace, session.step, self.form, nodes[0])
        except CircuitError as error:
            checks, reason = (), str(error)
        lines = [str(check) for check in checks] + [f"Answer: {reason}"]
        self.answer.object = f"<h3>At node {nodes[0]}</h3>{lines_html(lines)}"

    def _python(self) -> str:
        return self.workspace.python(form=self.form, replacement=self.replacement.value)

    # ------------------------------------------------------------------ applying it

    def _start_applying(self, then: Callable[[Opened], None]) -> None:
        before, form, replacement = self.workspace.session.opened, self.form, self.replacement.value

        def work(job: Job) -> Opened:
            made = apply_form(before.trace, form, replacement)
            job.check()
            return Opened(before.name, made, before.options)

        self.workspace.background.start(f"Applying {form.name}", work, then, self.workspace.show_error)

    def _apply(self, _: object) -> None:
        state = self._state_with_pattern()
        name = self.form.name

        def show(opened: Opened) -> None:
            used = (step.index for step in opened.trace.steps if any(match.rule == name for match in step.matches))
            self.workspace.session.open(opened, replace(state, step=next(used, 0)))

        self._start_applying(show)

    def _compare(self, _: object) -> None:
        def show(opened: Opened) -> None:
            self.workspace.show_other(Session(opened, state))
            self.workspace.open_tool("compare")

        state = self._state_with_pattern()
        self._start_applying(show)

    def _state_with_pattern(self) -> ViewState:
        """The view state of the new trace: the open one, with this pattern applied."""
        state = self.workspace.session.state
        form = json.dumps(self.form.to_json(), separators=(",", ":"))
        return replace(
            state,
            again=True,
            step=0,
            other=None,
            form=(*state.form, form),
            replacement=(*state.replacement, self.replacement.value),
        )

    def _clear(self, _: object) -> None:
        self.workspace.open_tool("")


def _has_gaps(form: PatternForm) -> bool:
    """Whether some condition has no value yet."""
    nodes = [node for entry in form.entries for _, parameter in entry.parameters for node in parameter.entries]
    return any(condition.value == "" for part in (*form.entries, *nodes) for condition in part.conditions)


def _conditions(entry: LayerForm, new: ConditionForm) -> LayerForm:
    return replace(entry, conditions=(*entry.conditions, new))


def _with(parts: tuple[Part, ...], at: int, new: Part | None) -> tuple[Part, ...]:
    """Replace one of the parts, or remove it."""
    return tuple(p for i, part in enumerate(parts) if (p := new if i == at else part) is not None)


def _select(label: str, options: list[str], value: str, put: Callable[[Any], None], width: int) -> pmui.Select:
    known = options if value in options else [value, *options]
    control = pmui.Select(label=label, options=known, value=value, width=width, **SMALL)
    control.param.watch(lambda event: put(event.new), "value")
    return control


def _text(label: str, value: str, put: Callable[[str], None], width: int) -> pmui.TextInput:
    control = pmui.TextInput(label=label, value=value, width=width, max_length=60, **SMALL)
    control.param.watch(lambda event: put(event.new), "value_input")
    return control


def _button(label: str, press: Callable[[], None]) -> pmui.Button:
    return pmui.Button(label=label, variant="text", on_click=lambda _: press(), **SMALL)
