"""The pipeline: its rules, strategy, rounds, and what is disabled."""

from dataclasses import fields, replace
from typing import Any

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, line, number_input
from explorer.app.dashboard.panes.passes import PassesForm
from explorer.app.dashboard.panes.tables import html_pane, lines_html
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import forms_of
from explorer.app.session.view_state import STRATEGIES
from explorer.fold import SCHEDULERS
from explorer.optimize import preset_rules
from explorer.options import PRESETS, CompilerOptions


class PipelineTool(Tool):
    """Edits the options of the compilation, applies them, or compares their result with the open trace."""

    name = "pipeline"
    title = "Pipeline"
    help = "Which rules apply, in how many rounds. Disable a rule, a match, a step or folding, and compile again."
    help_without_circuit = "Which passes run, in what order. Move, disable or repeat them, and run them again."

    def __init__(self, workspace: Workspace) -> None:
        self.preset = pmui.Select(label="Preset", options=list(PRESETS), size="small", width=130)
        self.strategy = pmui.Select(label="Strategy", options=list(STRATEGIES), size="small", width=160)
        self.levels = pmui.Select(label="Levels of folding", options=sorted(SCHEDULERS), size="small", width=180)
        self.max_rounds = number_input("Max rounds", 0, 0, 1000, 120)
        self.seed = number_input("Seed", 0, 0, None, 110)
        self.optimize = pmui.Checkbox(label="Optimize")
        self.fold = pmui.Checkbox(label="Fold")
        self.order_slices = pmui.Checkbox(label="Order slices")
        self.rules = pmui.CheckBoxGroup(label="Rules", options=[], inline=True)
        self.skip = pmui.MultiChoice(label="Disabled steps and matches", options=[], width=420)
        self.skip_step = button(workspace, "Disable this step", self._skip_step, "outlined")
        self.skip_match = button(workspace, "Disable the selected match", self._skip_match, "outlined")
        self.apply = button(workspace, "Compile again", self._apply)
        self.compare = button(workspace, "Compare with this", self._compare, "outlined")
        self.reset = button(workspace, "Reset", self._reset, "text")
        self.words = html_pane()
        self.preset.param.watch(workspace.guard(lambda _: self._on_preset()), "value")
        self.passes = PassesForm(workspace)
        super().__init__(workspace)

    def build(self) -> Viewable:
        choices = line(self.preset, self.strategy, self.max_rounds, self.levels, self.seed)
        switches = line(self.optimize, self.fold, self.order_slices)
        off = line(self.skip, self.skip_step, self.skip_match)
        buttons = line(self.apply, self.compare, self.reset)
        self.of_rules = column(choices, buttons, self.rules, line(switches, off), self.words)
        self.of_passes = column(self.passes.build())
        return column(self.of_rules, self.of_passes)

    def on_change(self, names: frozenset[str]) -> None:
        if "trace" not in names:
            return
        has_circuit = self.workspace.session.opened.trace.level.has_circuit
        self.of_rules.visible, self.of_passes.visible = has_circuit, not has_circuit
        if has_circuit:
            self._fill(self.workspace.session.opened.options)
        else:
            self.passes.fill()

    # ------------------------------------------------------------------ form -> options

    @property
    def options(self) -> CompilerOptions:
        """The options that the form shows; those without a control are the ones that are open."""
        default = CompilerOptions(preset=self.preset.value)
        disable = [name for name in preset_rules(default.preset).names if name not in self.rules.value]
        values = {name: control.value for name, control in self._controls.items()}
        for name in (name for name, value in values.items() if value is None):  # an emptied field
            values[name] = getattr(default, name)
        return replace(self.workspace.session.opened.options, **values, disable=disable)

    @property
    def _controls(self) -> dict[str, Any]:
        """The control of each option that has its own control, by the name of its field."""
        return {f.name: vars(self)[f.name] for f in fields(CompilerOptions) if f.name in vars(self)}

    def _fill(self, options: CompilerOptions) -> None:
        self.skip.options = list(options.skip)
        for name, value in options.to_json().items():
            if name in self._controls:
                self._controls[name].value = value
        self._fill_rules(options)
        applied = [f"The pattern {form.name} is applied first." for form, _ in forms_of(self.workspace.session.state)]
        self.words.object = lines_html([_describe(options), *applied])

    def _fill_rules(self, options: CompilerOptions) -> None:
        names = list(preset_rules(options.preset).names)
        self.rules.param.update(options=names, value=[name for name in names if name not in options.disable])

    def _on_preset(self) -> None:
        options = CompilerOptions(preset=self.preset.value)
        if list(preset_rules(options.preset).names) != list(self.rules.options):
            self._fill_rules(options)
            self.max_rounds.value, self.levels.value = options.max_rounds, options.levels

    # ------------------------------------------------------------------ buttons

    def _skip_step(self) -> None:
        path = self.workspace.session.index.step(self.workspace.session.step).path
        if "/" not in path:
            self.workspace.note(f"“{path}” cannot be disabled: without it there is no circuit.")
            return
        self._add_skip(path)

    def _skip_match(self) -> None:
        session = self.workspace.session
        nodes = set(session.selected_nodes)
        found = [
            m
            for m in session.index.step(session.step).matches
            if not m.parameter_path and not nodes.isdisjoint(m.nodes)
        ]
        if not found:
            self.workspace.note("Select a box that is part of a match of this step, then disable the match.")
            return
        for match in found:
            self._add_skip(f"{match.rule}@{match.root}")

    def _add_skip(self, entry: str) -> None:
        entries = list(dict.fromkeys([*self.skip.value, entry]))
        self.skip.param.update(options=entries, value=entries)
        self.words.object = lines_html([f"{entry} will be disabled: compile again, or compare."])

    def _apply(self) -> None:
        self.workspace.recompile(self.options)

    def _compare(self) -> None:
        session = self.workspace.session
        self.workspace.open_other(replace(session.state, options=self.options, again=True))
        self.workspace.open_tool("compare")

    def _reset(self) -> None:
        self._fill(self.workspace.session.opened.options)


def _describe(options: CompilerOptions) -> str:
    changed = options.non_defaults()
    if not changed:
        return "This trace was compiled with the default options."
    return "This trace was compiled with " + ", ".join(f"{name}={value!r}" for name, value in changed.items()) + "."
