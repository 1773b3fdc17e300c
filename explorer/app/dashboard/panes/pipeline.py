"""The pipeline: rules, strategy, rounds and disabled rules of a compilation, or the passes of a level below it."""

from dataclasses import fields, replace
from io import BytesIO
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.background import Job
from explorer.app.dashboard.panes.files import Upload
from explorer.app.dashboard.panes.tables import html_pane, lines_html
from explorer.app.dashboard.panes.tool import Tool, button, column, columns, line, number_input
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import forms_of
from explorer.app.session.pipeline_draft import PipelineDraft, pipeline_or_default
from explorer.app.session.view_state import OPERATORS, STRATEGIES
from explorer.backend import SEMIRINGS
from explorer.fold import SCHEDULERS
from explorer.optimize import preset_rules
from explorer.options import PRESETS, CompilerOptions
from explorer.recording import lowered_level
from explorer.rewrite import (
    MAX_YAML_BYTES,
    CompilationMode,
    ConvergenceMode,
    FunctionPassPipeline,
    pipeline_from_yaml,
    pipeline_to_yaml,
)
from explorer.trace import LEVELS, WATCHED


class PipelineTool(Tool):
    """Edits the options of the compilation, applies them, or compares their result with the open trace."""

    name = "pipeline"
    title = "Pipeline"
    help = "Which rules apply, in how many rounds. Disable a rule, a match, a step or folding, and compile again."
    help_without_circuit = "Which passes run, in what order. Move, disable or repeat them, and run them again."
    supported_levels = tuple(name for name in LEVELS if name != WATCHED)
    elsewhere = "torch.compile runs its own passes"

    def __init__(self, workspace: Workspace) -> None:
        self.preset = pmui.Select(label="Preset", options=list(PRESETS), size="small", width=130)
        semirings = [semiring.name for semiring in SEMIRINGS]
        self.semiring = pmui.Select(label="Semiring", options=semirings, size="small", width=130)
        self.strategy = pmui.Select(label="Strategy", options=list(STRATEGIES), size="small", width=160)
        self.levels = pmui.Select(label="Levels of folding", options=sorted(SCHEDULERS), size="small", width=180)
        self.max_rounds = number_input("Max rounds", 0, 0, 1000, 120)
        self.seed = number_input("Seed", 0, 0, None, 110)
        self.optimize = pmui.Checkbox(label="Optimize")
        self.fold = pmui.Checkbox(label="Fold")
        self.order_slices = pmui.Checkbox(label="Order slices")
        self.rules = pmui.CheckBoxGroup(label="Rules", options=[], inline=True)
        self.skip = pmui.MultiChoice(label="Disabled steps and matches", options=[], width=340)
        self.skip_step = button(workspace, "Disable this step", self._skip_step, "outlined")
        self.skip_match = button(workspace, "Disable the selected match", self._skip_match, "outlined")
        self.apply = button(workspace, "Compile again", lambda: workspace.recompile(self.options))
        self.compare = button(workspace, "Compare with this", lambda: workspace.compare(self.options), "outlined")
        self.reset = button(workspace, "Reset", lambda: self._fill(workspace.session.opened.options), "text")
        self.words = html_pane()
        self.preset.param.watch(workspace.guard(lambda _: self._on_preset()), "value")
        self.passes = PassesForm(workspace)
        super().__init__(workspace)

    def build(self) -> Viewable:
        choices = line(self.strategy, self.max_rounds, self.levels, self.seed)
        switches = line(self.optimize, self.fold, self.order_slices)
        off = line(self.skip, self.skip_step, self.skip_match)
        self.of_compiler = column(line(self.preset, self.semiring), line(self.apply, self.compare, self.reset))
        self.of_rules = column(choices, self.rules, line(switches, off), self.words)
        self.of_passes = column(self.passes.build())
        return column(self.of_compiler, self.of_rules, self.of_passes)

    def on_change(self, names: frozenset[str]) -> None:
        if "trace" not in names:
            return
        has_circuit = self.workspace.session.opened.trace.level.has_circuit
        self.of_rules.visible, self.of_passes.visible = has_circuit, not has_circuit
        self.of_compiler.visible = self.workspace.session.opened.has_compiler
        self._fill(self.workspace.session.opened.options)
        if not has_circuit:
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


def _describe(options: CompilerOptions) -> str:
    changed = options.non_defaults()
    if not changed:
        return "This trace was compiled with the default options."
    return "This trace was compiled with " + ", ".join(f"{name}={value!r}" for name, value in changed.items()) + "."


# ---------------------------------------------------------------------- passes of a level


SMALL: dict[str, Any] = {"size": "small", "margin": (3, 5)}
CHOICES: dict[str, dict[Any, Any]] = {
    "convergence": {"once": ConvergenceMode.ONE_PASS, "until nothing changes": ConvergenceMode.UNTIL_FIXED_POINT},
    "modes": {
        "infer and train": frozenset(CompilationMode),
        "infer only": frozenset({CompilationMode.INFER}),
        "train only": frozenset({CompilationMode.TRAIN}),
    },
}
"""The values of the fields of an entry, by the titles in its controls."""


class PassesForm:
    """Edits a draft of the pipeline, which runs only on request."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.draft = PipelineDraft()
        guard = workspace.guard
        self.list = pn.widgets.MultiSelect(label="Passes, in order", options=[], size=12, sizing_mode="stretch_width")
        self.convergence = pmui.Select(label="Repeat", options=list(CHOICES["convergence"]), width=200, **SMALL)
        self.modes = pmui.Select(label="Enabled for", options=list(CHOICES["modes"]), width=150, **SMALL)
        self.on = pmui.Checkbox(label="on", value=True, **SMALL)
        self.new = pmui.Select(label="Pass to add", options=[], width=260, **SMALL)
        self.mode = pmui.Select(
            label="Compile for", options=[mode.value for mode in CompilationMode], width=120, **SMALL
        )
        self.operators = pmui.Select(
            label="Operators", options={title: name for name, title in OPERATORS.items()}, width=130, **SMALL
        )
        self.one_by_one = pmui.Checkbox(label="a step for every rewrite", value=False, **SMALL)
        self.run = button(workspace, "Run this pipeline", self._run)
        self.words = html_pane()
        self.upload = Upload(
            "Open YAML", (".yaml", ".yml"), guard(self._on_upload), workspace.show_error, MAX_YAML_BYTES
        )
        self.download = pmui.FileDownload(
            label="Save as YAML", filename="pipeline.yaml", callback=self._yaml, variant="outlined", size="small"
        )
        self.list.param.watch(guard(lambda _: self._fill_entry()), "value")
        for name in ("convergence", "modes", "on"):
            vars(self)[name].param.watch(guard(lambda event, name=name: self._change(name, event.new)), "value")

    def build(self) -> Viewable:
        """The list of entries on the left, the actions on an entry on the right."""
        entry = line(
            self.convergence,
            self.modes,
            self.on,
            self._button("Up", lambda: self._edit(self.draft.move(self._at, -1), self._at - 1)),
            self._button("Down", lambda: self._edit(self.draft.move(self._at, 1), self._at + 1)),
            self._button("Remove", lambda: self._edit(self.draft.remove(self._at), self._at)),
        )
        add = line(
            self.new, self._button("Add above", lambda: self._add(0)), self._button("Add below", lambda: self._add(1))
        )
        self._first_line = line(self.run, self.download, self.upload)
        return columns(column(self.list), column(self._first_line, entry, add, self.words))

    def fill(self) -> None:
        """Show the pipeline that the trace was recorded with."""
        opened = self.workspace.session.opened
        level = lowered_level(opened.tensor.level)
        known = list(level.passes.names)
        self.new.param.update(options=known, value=self.new.value if self.new.value in known else known[0])
        self.mode.value = opened.tensor.compile_for
        self.operators.value = opened.tensor.operators
        self.one_by_one.value = opened.tensor.one_by_one
        offered = {"mode": self.mode, "operators": self.operators, "one_by_one": self.one_by_one}
        controls = [control for name, control in offered.items() if name in level.options]
        # not hidden: a control that is hidden while the browser builds the form would stay
        self._first_line[:] = [self.run, *controls, self.download, self.upload]
        self.run.disabled = not opened.has_compiler
        self.draft = PipelineDraft.of(pipeline_or_default(opened.tensor)) if opened.has_compiler else PipelineDraft()
        names = [] if opened.has_compiler else list(opened.trace.options["pipeline"])
        note = "This trace is not recorded here; its pipeline can be viewed but not run: " + "; ".join(names)
        self._edit(self.draft, 0)
        self.words.object = lines_html([] if opened.has_compiler else [note])

    @property
    def _at(self) -> int:
        """The selected entry."""
        chosen = self.list.value
        labels = list(self.draft.labels)
        return labels.index(chosen[-1]) if chosen and chosen[-1] in labels else 0

    def _edit(self, draft: PipelineDraft, at: int) -> None:
        self.draft = draft
        labels = list(draft.labels)
        at = max(0, min(len(labels) - 1, at))
        self.list.param.update(options=labels, value=labels[at : at + 1])
        self.words.object = lines_html([f"{len(draft.pipeline)} passes will run; the trace shows the last run."])
        self._fill_entry()

    def _fill_entry(self) -> None:
        for name, value in self._entry_values().items():
            vars(self)[name].value = value

    def _entry_values(self) -> dict[str, Any]:
        """Return the values of the controls for the chosen entry."""
        if not self.draft.entries:
            return {}
        entry = self.draft.entries[self._at]
        titles = {
            name: next((title for title, one in known.items() if one == getattr(entry.config, name)), next(iter(known)))
            for name, known in CHOICES.items()
        }
        return {**titles, "on": entry.on}

    def _change(self, name: str, value: Any) -> None:
        """Change the chosen entry, if a control does not have its value already."""
        if value == self._entry_values().get(name, value):
            return
        if name == "on":
            self._edit(self.draft.switch(self._at, value), self._at)
        else:
            self._edit(self.draft.change(self._at, **{name: CHOICES[name][value]}), self._at)

    def _add(self, below: int) -> None:
        at = self._at + below if self.draft.entries else 0
        self._edit(self.draft.insert(at, self.new.value, self.new.options), at)

    def _run(self) -> None:
        state = self.workspace.session.state
        tensor = replace(
            state.tensor,
            passes=self.draft.texts,
            compile_for=self.mode.value,
            one_by_one=self.one_by_one.value,
            operators=self.operators.value,
        )
        self.workspace.open(replace(state, tensor=tensor, other=None))

    def _yaml(self) -> BytesIO:
        return BytesIO(pipeline_to_yaml(self.draft.pipeline).encode())

    def _on_upload(self, name: str, raw: bytes) -> None:
        """Read a pipeline in the background: even a small file may take the parser a second."""
        known = tuple(self.new.options)

        def work(job: Job) -> FunctionPassPipeline:
            return pipeline_from_yaml(raw.decode(errors="replace"), known, name)

        self.workspace.background.start(
            f"Reading {name}",
            work,
            lambda found: self._edit(PipelineDraft.of(found), 0),
            self.workspace.show_error,
        )

    def _button(self, label: str, press: Any) -> pmui.Button:
        return button(self.workspace, label, press, "text")
