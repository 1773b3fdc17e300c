"""The operators that made the circuit: their operands next to the result, and where each layer comes from."""

from typing import Any
from weakref import ref

from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import column
from explorer.app.dashboard.panes.tables import html_pane, lines_html
from explorer.app.dashboard.panes.tool import OPENED, Tool
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.opening import Opened, circuit_of
from explorer.compiler import record
from explorer.symbolic import Circuit, derivation_text
from explorer.trace.ladder import COMPILED
from explorer.views import TraceIndex, derivation_view, layers_of_circuits
from explorer_widgets.dashboard import DerivationPane
from explorer_widgets.schema import DerivationView


class OperatorsTool(Tool):
    """Draws the operands of operators and the result; layers of the selected box are lit with where they come from."""

    name = "operators"
    title = "Operators"
    help = "The circuits that operators combined into this one, before it was compiled, and what they made of them."
    supported_levels = (COMPILED.name,)
    elsewhere = "operators combine circuits before they are compiled"

    def __init__(self, workspace: Workspace) -> None:
        self.words = html_pane()
        self.drawing = DerivationPane(visible=False, margin=(4, 8))
        self.view_of_circuit: DerivationView | None = None
        self._opened: Any = lambda: None
        super().__init__(workspace)

    @classmethod
    def supports(cls, opened: Opened) -> bool:
        return opened.trace.start > 0

    def build(self) -> Viewable:
        return column(self.words, self.drawing)

    def on_change(self, names: frozenset[str]) -> None:
        opened = self.workspace.session.opened
        if self._opened() is not opened:
            self._opened = ref(opened)
            self._fill(opened)
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
