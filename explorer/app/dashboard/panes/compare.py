"""Two traces side by side: different options or circuits, with one selection that follows the lineage."""

from dataclasses import fields, replace
from html import escape

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, line
from explorer.app.dashboard.panes.tables import html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.options import STRATEGIES
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.options import PRESETS, CompilerOptions
from explorer.views import compare_table, first_difference_of_traces, list_text

SAME = "the same options"
WORDS = {
    "optimize": "optimization",
    "fold": "folding",
    "order_slices": "ordered slices",
    "max_rounds": "at most this many rounds:",
}
"""The words of options that are not their names."""


def variants(options: CompilerOptions, rules: tuple[str, ...]) -> dict[str, CompilerOptions]:
    """Variants of the options that differ in one thing each, for comparison at a click."""
    found = {f"preset {name}": options.with_preset(name) for name in PRESETS if name != options.preset}
    found["without optimization" if options.optimize else "with optimization"] = replace(
        options, optimize=not options.optimize
    )
    found["without folding" if options.fold else "with folding"] = replace(options, fold=not options.fold)
    if options.fold:
        found["without ordered slices" if options.order_slices else "with ordered slices"] = replace(
            options, order_slices=not options.order_slices
        )
    for rule in rules:
        found[f"without rule {rule}"] = replace(options, disable=(*options.disable, rule))
    for strategy in STRATEGIES:
        if strategy != options.strategy:
            found[f"strategy {strategy}"] = replace(options, strategy=strategy)
    return found


def side_names(session: Session, other: Session) -> tuple[str, str]:
    """Names of two compared traces that say how they differ: `with SumCollapse` and `without SumCollapse`."""
    mine, theirs = session.opened.options, other.opened.options
    pairs: list[tuple[str, str]] = []
    if session.opened.name != other.opened.name:
        pairs.append((session.opened.name, other.opened.name))
    for rule in dict.fromkeys((*mine.disable, *theirs.disable)):
        if (rule in mine.disable) != (rule in theirs.disable):
            here, there = ("without" if rule in options.disable else "with" for options in (mine, theirs))
            pairs.append((f"{here} {rule}", f"{there} {rule}"))
    for field in fields(CompilerOptions):
        here, there = getattr(mine, field.name), getattr(theirs, field.name)
        if field.name != "disable" and here != there:
            pairs.append((_option_text(field.name, here), _option_text(field.name, there)))
    if not pairs:
        return "left", "right, with the same options"
    return ", ".join(here for here, _ in pairs), ", ".join(there for _, there in pairs)


def _option_text(name: str, value: object) -> str:
    """An option in words: `with fold`, `preset handbook`, `skip SumCollapse@9`."""
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {WORDS.get(name, name)}"
    text = list_text(value) if isinstance(value, tuple) else str(value)
    return f"{WORDS.get(name, name)} {text or 'none'}"


class ComparedNames:
    """The headings above two compared graphs."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.left, self.right = html_pane(), html_pane()
        self.view = pn.Row(self.left, self.right, sizing_mode="stretch_width", margin=0, visible=False)

    def show(self) -> None:
        """Name both sides, or nothing if there is one."""
        other = self.workspace.other
        self.view.visible = other is not None
        if other is not None:
            names = side_names(self.workspace.session, other)
            for pane, name in zip((self.left, self.right), names, strict=True):
                pane.object = f"<h3>{escape(name[:1].upper() + name[1:])}</h3>"


class CompareTool(Tool):
    """Choose a trace to compare with; its graph appears next to the first."""

    name = "compare"
    title = "Compare"
    help = "Two traces side by side: different options, rules or circuits. The selection is shown in both."

    def __init__(self, workspace: Workspace) -> None:
        self.variant = pmui.Select(label="Compare with", options=[], size="small", width=260)
        self.circuit = pmui.Select(label="Circuit", options=[], size="small", width=200)
        self.start = button(workspace, "Start comparing", self._start)
        self.stop = button(workspace, "Stop comparing", lambda: workspace.show_other(None), "outlined")
        self.use = button(workspace, "Continue with the other", self._use, "text")
        self.words = html_pane()
        self.table = html_pane()
        super().__init__(workspace)

    def build(self) -> Viewable:
        controls = line(self.variant, self.circuit, self.start, self.stop, self.use)
        return column(controls, self.words, self.table)

    def on_change(self, names: frozenset[str]) -> None:
        session, other = self.workspace.session, self.workspace.other
        if "trace" in names:
            self._variants = variants(session.opened.options, tuple(rule.name for rule in session.opened.trace.rules))
            self.variant.param.update(options=[SAME, *self._variants], value=self._variant_name())
            self.circuit.param.update(options=list(self.workspace.library.names()), value=session.state.circuit)
        self.stop.disabled = self.use.disabled = other is None
        if other is not None and "other" in names:
            self._show_compared(other)
        if not names & {"trace", "other", "step"}:
            return
        if other is None:
            self.words.object = "<p>Nothing is compared yet.</p>"
            self.table.object = ""
            return
        difference = first_difference_of_traces(session.index, other.index)
        self.words.object = lines_html(["No step differs." if difference is None else difference.text])
        self.table.object = table_html(
            compare_table(session.index, other.index), " / ".join(side_names(session, other))
        )

    def _show_compared(self, other: Session) -> None:
        """Set the controls to the trace that is compared with."""
        session = self.workspace.session
        variants = {SAME: session.opened.options, **self._variants}
        name = next((name for name, options in variants.items() if options == other.opened.options), None)
        name = name or side_names(session, other)[1]
        self._variants.setdefault(name, other.opened.options)
        self.variant.param.update(options=list(dict.fromkeys((SAME, *self._variants))), value=name)
        self.circuit.value = other.state.circuit

    def _variant_name(self) -> str:
        """The variant most likely to differ: without the most-applied rule, otherwise the first one."""
        stats = [found for found in self.workspace.session.opened.trace.rule_stats() if found.applied]
        best = max(stats, key=lambda found: found.applied, default=None)
        name = "" if best is None else f"without rule {best.rule}"
        return name if name in self._variants else next(iter(self._variants))

    def _start(self) -> None:
        session = self.workspace.session
        options = self._variants.get(self.variant.value, session.opened.options)
        same = self.circuit.value == session.state.circuit
        state = session.state if same else ViewState(circuit=self.circuit.value, look=session.look)
        self.workspace.open_other(replace(state, options=options, again=True))

    def _use(self) -> None:
        other = self.workspace.other
        if other is not None:
            self.workspace.show_other(None)
            self.workspace.session.open(other.opened, other.state)
