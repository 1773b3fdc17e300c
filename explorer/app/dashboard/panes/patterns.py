"""Live patterns: a form builds a pattern, its matches and near misses are shown at once, and it can be applied.

The form is frozen data; every control creates a new one. Nothing that is typed is evaluated.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.tables import code_html, html_pane, lines_html
from explorer.app.dashboard.panes.tool import CLOSED, Tool, button, column, columns, line
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

Path = Sequence[str | int]
"""A part of a form: names of fields and positions, such as `("entries", 0, "conditions", 1)`."""
START = PatternForm("MyPattern", (LayerForm("TorchSumLayer"), LayerForm("TorchHadamardLayer")))
MARGIN = (3, 5)
SMALL: dict[str, Any] = {"size": "small", "margin": MARGIN}


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
        self.words, self.answer, self.code = html_pane(), html_pane(), html_pane()
        self.replacement = pmui.Select(label="Replacement", options=[], width=220, **SMALL)
        self.apply = button(workspace, "Apply", self._apply, margin=MARGIN)
        self.compare = button(workspace, "Apply and compare", self._compare, "outlined", margin=MARGIN)
        self.copy = button(workspace, "Copy as Python", self._copy, "outlined", margin=MARGIN)
        self.clear = button(workspace, "End the trial", lambda: workspace.open_tool(""), "text", margin=MARGIN)
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

    def _put(self, at: Path, new: object, *, redraws: bool = True) -> None:
        """Change a part of the form, or remove it (None); the rows stay where their controls show the change."""
        self.form = _replace_part(self.form, at, new)
        if redraws:
            self._draw()
        self._try()
        self._ask()

    def _add(self, at: Path, new: object) -> None:
        """Append to the parts at a path."""
        self._put(at, (*_part_at(self.form, at), new))

    def _draw(self) -> None:
        name = self._text("Name", self.form.name, ("name",), 170)
        is_output = pmui.Checkbox(label="the first layer is an output", value=self.form.is_output, **SMALL)
        self._on_value(is_output, "value", lambda value: self._put(("is_output",), value, redraws=False))
        add = self._button("Add a layer below", lambda: self._add(("entries",), self.form.entries[-1]))
        layers = (self._layer_rows(i, layer) for i, layer in enumerate(self.form.entries))
        self.rows[:] = [line(name, is_output, add), *layers]

    def _layer_rows(self, i: int, layer: LayerForm) -> Viewable:
        """A layer: its type, the conditions on its fields, the sub-patterns of its parameters."""
        at, where = ("entries", i), "output side" if i == 0 else f"input {i} below"
        names, buttons = parameters_of_type(layer.type), list[Viewable]()
        if names:
            first = (names[0], ParameterForm((NodeForm(next(iter(parameter_types()))),)))
            buttons.append(self._button("Parameter", lambda: self._add((*at, "parameters"), first)))
        rows = self._part_rows(f"Layer {i + 1} ({where})", layer, at, layer_types(), buttons)
        for j, (name, parameter) in enumerate(layer.parameters):
            rows += self._parameter_rows((*at, "parameters", j), name, parameter, names)
        return column(*rows)

    def _parameter_rows(self, at: Path, name: str, parameter: ParameterForm, names: Sequence[str]) -> list[Viewable]:
        """The sub-pattern of a parameter: a chain of nodes, the last one of the parameter first."""
        which = self._select("Parameter", names, name, lambda value: self._put((*at, 0), value), 150)
        new = NodeForm(next(iter(parameter_types())))
        add = self._button("Node below", lambda: self._add((*at, 1, "entries"), new))
        remove = self._button("Remove", lambda: self._put(at, None))
        rows: list[Viewable] = [line(which, add, remove, indent=30)]
        for k, node in enumerate(parameter.entries):
            rows += self._part_rows(f"Node {k + 1}", node, (*at, 1, "entries", k), parameter_types(), indent=60)
        return rows

    def _part_rows(
        self,
        title: str,
        part: LayerForm | NodeForm,
        at: Path,
        types: Iterable[str],
        more: Sequence[Viewable] = (),
        *,
        indent: int = 0,
    ) -> list[Viewable]:
        """A layer or a node: its type and its buttons, then a row for each condition on its fields."""
        fields, buttons = fields_of(part.type), [*more]
        kind = self._select(title, types, part.type, lambda value: self._put(at, type(part)(value)), 215)
        if fields:
            new = ConditionForm(fields[0].name)
            buttons.insert(0, self._button("Condition", lambda: self._add((*at, "conditions"), new)))
        if len(_part_at(self.form, at[:-1])) > 1:
            buttons.append(self._button("Remove", lambda: self._put(at, None)))
        conditions = (self._condition_row(fields, one, (*at, "conditions", i)) for i, one in enumerate(part.conditions))
        return [line(kind, *buttons, indent=indent), *conditions]

    def _condition_row(self, fields: Sequence[FieldChoice], condition: ConditionForm, at: Path) -> Viewable:
        by_name = {choice.name: choice for choice in fields}
        choice = by_name.get(condition.field, fields[0])

        def choose(name: str) -> None:
            """Change the field; the row is rebuilt only for a different kind of value, so that typed text is kept."""
            if (by_name[name].kind, by_name[name].operators) == (choice.kind, choice.operators):
                self._put((*at, "field"), name, redraws=False)
            else:
                self._put(at, ConditionForm(name))

        def compare(operator: str) -> None:
            self._put((*at, "operator"), operator, redraws=False)

        field = self._select("Field", by_name, condition.field, choose, 190)
        operator = self._select("is", choice.operators, condition.operator, compare, 80)
        value = self._text(choice.kind, str(condition.value), (*at, "value"), 130)
        return line(field, operator, value, self._button("Remove", lambda: self._put(at, None)), indent=30)

    def _on_value(self, control: Any, name: str, put: Callable[[Any], None]) -> None:
        control.param.watch(self.workspace.guard(lambda event: put(event.new)), name)

    def _select(
        self, label: str, options: Iterable[str], value: str, put: Callable[[str], None], width: int
    ) -> pmui.Select:
        known = list(dict.fromkeys(options if value in options else [value, *options]))
        control = pmui.Select(label=label, options=known, value=value, width=width, **SMALL)
        self._on_value(control, "value", put)
        return control

    def _text(self, label: str, value: str, at: Path, width: int) -> pmui.TextInput:
        control = pmui.TextInput(label=label, value=value, width=width, max_length=60, **SMALL)
        self._on_value(control, "value_input", lambda typed: self._put(at, typed, redraws=False))
        return control

    def _button(self, label: str, press: Callable[[], None]) -> pmui.Button:
        return button(self.workspace, label, press, "text", margin=MARGIN)

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

    def _copy(self) -> None:
        self.workspace.browser.put_on_clipboard(self._python())

    # ------------------------------------------------------------------ applying it

    def _start_applying(self, then: Callable[[Opened], None]) -> None:
        before, form, replacement = self.workspace.session.opened, self.form, self.replacement.value

        def work(job: Job) -> Opened:
            made = apply_form(before.trace, form, replacement)
            job.check()
            return replace(before, trace=made)

        self.workspace.background.start(f"Applying {form.name}", work, then, self.workspace.show_error)

    def _apply(self) -> None:
        state = self._state_with_pattern()
        name = self.form.name

        def show(opened: Opened) -> None:
            used = (step.index for step in opened.trace.steps if any(match.rule == name for match in step.matches))
            self.workspace.session.open(opened, replace(state, step=next(used, 0)))

        self._start_applying(show)

    def _compare(self) -> None:
        def show(opened: Opened) -> None:
            self.workspace.show_other(Session(opened, replace(state, step=0)))
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


def _has_gaps(form: PatternForm) -> bool:
    """Whether some condition has no value yet."""
    nodes = [node for entry in form.entries for _, parameter in entry.parameters for node in parameter.entries]
    return any(condition.value == "" for part in (*form.entries, *nodes) for condition in part.conditions)


def _part_at(form: Any, at: Path) -> Any:
    """Return the part of a form at a path."""
    for key in at:
        form = getattr(form, key) if isinstance(key, str) else form[key]
    return form


def _replace_part(form: Any, at: Path, new: object) -> Any:
    """Replace the part of a form at a path; None removes it from its tuple."""
    if not at:
        return new
    key, *rest = at
    if isinstance(key, str):
        return replace(form, **{key: _replace_part(getattr(form, key), rest, new)})
    made = _replace_part(form[key], rest, new)
    return (*form[:key], *([] if made is None else [made]), *form[key + 1 :])
