"""Two traces side by side: different options or circuits, with one selection that follows the lineage; operators."""

from dataclasses import replace
from html import escape

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.tables import html_pane, lines_html, table_html
from explorer.app.dashboard.panes.tool import OPENED, Tool, button, column, line
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened, circuit_of
from explorer.app.session.session import Session
from explorer.app.session.variants import SAME, Variant, likely_variant, side_names, variants
from explorer.app.session.view_state import ViewState
from explorer.compiler import record
from explorer.learning.curves import HeldOutCurve, held_out_svg
from explorer.symbolic import Circuit, derivation_text
from explorer.trace import COMPILED
from explorer.views import TraceIndex, compare_table, derivation_view, first_difference_of_traces, layers_of_circuits
from explorer_widgets.dashboard import DerivationPane
from explorer_widgets.schema import DerivationView


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
        self.curves = html_pane()
        super().__init__(workspace)

    def build(self) -> Viewable:
        controls = line(self.variant, self.circuit, self.start, self.stop, self.use)
        return column(controls, self.words, self.curves, self.table)

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
            self.table.object = self.curves.object = ""
            return
        difference = first_difference_of_traces(session.index, other.index)
        self.words.object = lines_html(["No step differs." if difference is None else difference.text])
        self.table.object = table_html(
            compare_table(session.index, other.index), " / ".join(side_names(session.opened, other.opened))
        )

        self.curves.object = self._curves(session, other)

    def _curves(self, *sessions: Session) -> str:
        """The held-out bits of both trainings on one axis, if both are known and of the same data."""
        trainings = [self.workspace.library.training(one.state.circuit) for one in sessions]
        if not all(one.epochs for one in trainings) or sessions[0].state.circuit == sessions[1].state.circuit:
            return ""
        if len({one.data for one in trainings}) > 1:
            return lines_html([f"They learned from different data: {' and '.join(one.data for one in trainings)}."])
        curves: list[HeldOutCurve] = []
        for one, training in zip(sessions, trainings, strict=True):
            method = f" ({training.method})" if training.method else ""
            curves.append(HeldOutCurve(f"{one.state.circuit}{method}", training.epochs))
        return held_out_svg(curves)

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
        self.workspace.open_other(replace(state, options=chosen.options, tensor=chosen.tensor, again=True, step=0))

    def _use(self) -> None:
        other = self.workspace.other
        if other is not None:
            self.workspace.show_other(None)
            self.workspace.session.open(other.opened, other.state)


# ---------------------------------------------------------------------- operators


class OperatorsTool(Tool):
    """Draws the operands of operators and the result; layers of the selected box are lit with where they come from."""

    name = "operators"
    title = "Operators"
    help = "The circuits that operators combined into this one, before it was compiled, and what they made of them."
    supported_levels = (COMPILED,)
    elsewhere = "operators combine circuits before they are compiled"

    def __init__(self, workspace: Workspace) -> None:
        self.words = html_pane()
        self.drawing = DerivationPane(visible=False, margin=(4, 8))
        self.view_of_circuit: DerivationView | None = None
        super().__init__(workspace)

    @classmethod
    def supports(cls, opened: Opened) -> bool:
        return opened.trace.start > 0

    def build(self) -> Viewable:
        return column(self.words, self.drawing)

    def on_change(self, names: frozenset[str]) -> None:
        if self._is_new_trace():
            self._fill(self.workspace.session.opened)
        elif names & {OPENED, "selection", "step"}:
            self._light()

    def _fill(self, opened: Opened) -> None:
        """Compile the circuits in the background, and draw them."""
        self.view_of_circuit = None
        self.drawing.visible, self.words.visible = False, True
        if not self.supports(opened):
            self.words.object = ""
            return
        circuit = circuit_of(opened.trace)
        self.words.object = lines_html([derivation_text(circuit)])

        def show(found: DerivationView | None) -> None:
            if self.workspace.session.opened is opened:
                self.view_of_circuit = found
                self._light()

        self.workspace.drawing_background.start(
            "Drawing operands", lambda job: derivation_view(circuit, _index_of), show, self.workspace.show_error
        )

    def _light(self) -> None:
        """Light up the layers of the selected boxes."""
        view = self.view_of_circuit
        if view is None:
            return
        session = self.workspace.session
        trace, step, nodes = session.opened.trace, session.step, session.selected_nodes
        chosen = layers_of_circuits(circuit_of(trace), trace, step, nodes)
        self.drawing.visible = True
        self.words.visible = not view["circuits"]  # the drawing says the same
        self.drawing.show_derivation({**view, "chosen": chosen})


def _index_of(circuit: Circuit) -> TraceIndex:
    """The circuit as it is written."""
    return TraceIndex(record(circuit, optimize=False, fold=False))
