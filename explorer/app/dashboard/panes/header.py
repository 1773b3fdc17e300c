"""The line at the top: circuit and level."""

from dataclasses import replace

import panel_material_ui as pmui

from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.view_state import LEVEL_NAMES, ViewState

CIRCUIT_WIDTH = 180


class Header:
    """Selects the circuit and the level to open; follows the session."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.circuit = pmui.Select(label="Circuit", options=[], size="small", width=CIRCUIT_WIDTH, searchable=False)
        self.level = pmui.Select(label="Level", options=list(LEVEL_NAMES), size="small", width=110)
        self._open_values: dict[pmui.Select, str | None] = {}
        """The value of each control for the open trace."""
        for control in (self.circuit, self.level):
            control.param.watch(workspace.guard(lambda event: self._on_select(event.obj)), "value")
        self.items = [self.circuit, self.level]

    def on_change(self, names: frozenset[str]) -> None:
        """Show the open circuit and its level."""
        if "trace" not in names:
            return
        opened = self.workspace.session.opened
        known = list(self.workspace.library.names())
        self._open_values = {
            self.circuit: opened.name if opened.name in known else None,
            self.level: opened.tensor.level,
        }
        for control, value in self._open_values.items():
            control.param.update(value=value, **({"options": known} if control is self.circuit else {}))
        self.level.disabled = not opened.has_compiler

    def _on_select(self, control: pmui.Select) -> None:
        """Open what the reader selected; the open trace is kept, although another one was being opened."""
        if control.value == self._open_values.get(control):
            self.workspace.stop_opening()
            return
        if control is self.circuit:
            self.workspace.open_another(ViewState.of_circuit(self.circuit.value))
            return
        state = self.workspace.session.state
        tensor = replace(state.tensor, level=self.level.value, passes=())
        kept = ViewState(state.circuit, state.again, state.form, state.replacement, state.options, tensor)
        self.workspace.open_another(kept)
