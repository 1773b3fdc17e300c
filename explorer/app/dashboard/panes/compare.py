"""Two traces side by side: different options or circuits, with one selection that follows the lineage."""

from dataclasses import replace
from html import escape

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, line
from explorer.app.dashboard.panes.tables import html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.session import Session
from explorer.app.session.variants import SAME, Variant, likely_variant, side_names, variants
from explorer.app.session.view_state import ViewState
from explorer.views import compare_table, first_difference_of_traces


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
            names = side_names(self.workspace.session.opened, other.opened)
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
            self._variants = variants(session.opened)
            likely = likely_variant(session.opened, self._variants)
            self.variant.param.update(options=[SAME, *self._variants], value=likely)
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
            compare_table(session.index, other.index), " / ".join(side_names(session.opened, other.opened))
        )

    def _show_compared(self, other: Session) -> None:
        """Set the controls to the trace that is compared with."""
        session = self.workspace.session
        known = {SAME: Variant.of(session.opened), **self._variants}
        shown = Variant.of(other.opened)
        name = next((name for name, variant in known.items() if variant == shown), None)
        name = name or side_names(session.opened, other.opened)[1]
        self._variants.setdefault(name, shown)
        self.variant.param.update(options=list(dict.fromkeys((SAME, *self._variants))), value=name)
        self.circuit.value = other.state.circuit

    def _start(self) -> None:
        session = self.workspace.session
        chosen = self._variants.get(self.variant.value, Variant.of(session.opened))
        same = self.circuit.value == session.state.circuit
        state = session.state if same else ViewState(circuit=self.circuit.value, look=session.look)
        self.workspace.open_other(replace(state, options=chosen.options, tensor=chosen.tensor, again=True))

    def _use(self) -> None:
        other = self.workspace.other
        if other is not None:
            self.workspace.show_other(None)
            self.workspace.session.open(other.opened, other.state)
