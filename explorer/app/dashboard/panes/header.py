"""The line at the top: circuit, semiring, preset, device."""

from dataclasses import replace

import panel_material_ui as pmui

from explorer.app.dashboard.panes.tool import button
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.view_state import LEVEL_NAMES, ViewState
from explorer.backend import SEMIRINGS
from explorer.bench import why_no_cuda
from explorer.options import PRESETS
from explorer.timings import CPU, CUDA

DEVICES = {"CPU": (CPU,), "CUDA": (CUDA,), "CPU and CUDA": (CPU, CUDA)}

CIRCUIT_WIDTH = 180


class Header:
    """Selects the circuit and options to open; follows the session."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.circuit = pmui.Select(label="Circuit", options=[], size="small", width=CIRCUIT_WIDTH, searchable=False)
        self.semiring = pmui.Select(
            label="Semiring", options=[semiring.name for semiring in SEMIRINGS], size="small", width=150
        )
        self.level = pmui.Select(label="Level", options=list(LEVEL_NAMES), size="small", width=110)
        self.preset = pmui.Select(label="Pipeline", options=list(PRESETS), size="small", width=130)
        self.edit = button(workspace, "Edit", lambda: workspace.open_tool("pipeline"), "outlined")
        reason = why_no_cuda()
        missing = [] if reason is None else [devices for devices in DEVICES.values() if CUDA in devices]
        self.device = pmui.Select(
            label="Device",
            options={f"{name}: {reason}" if devices in missing else name: devices for name, devices in DEVICES.items()},
            value=(CPU,),
            disabled_options=missing,
            size="small",
            width=150,
        )
        self.device.param.watch(
            workspace.guard(lambda event: setattr(workspace.measuring, "devices", event.new)), "value"
        )
        self._open_values: dict[pmui.Select, str | None] = {}
        """The value of each control for the open trace."""
        for control in (self.circuit, self.level, self.semiring, self.preset):
            control.param.watch(workspace.guard(lambda event: self._on_select(event.obj)), "value")
        self.items = [self.circuit, self.level, self.semiring, self.preset, self.edit, self.device]

    def on_change(self, names: frozenset[str]) -> None:
        """Show the open circuit and its options."""
        if "trace" not in names:
            return
        opened = self.workspace.session.opened
        known = list(self.workspace.library.names())
        self._open_values = {
            self.circuit: opened.name if opened.name in known else None,
            self.level: opened.tensor.level,
            self.semiring: opened.options.semiring,
            self.preset: opened.options.preset,
        }
        for control, value in self._open_values.items():
            control.param.update(value=value, **({"options": known} if control is self.circuit else {}))
        self.level.disabled = not opened.has_compiler
        self.semiring.visible = self.preset.visible = opened.has_compiler

    def _on_select(self, control: pmui.Select) -> None:
        """Open what the reader selected; the open trace is kept, although another one was being opened."""
        if control.value == self._open_values.get(control):
            self.workspace.stop_opening()
            return
        if control is self.circuit:
            self.workspace.open(ViewState.of_circuit(self.circuit.value))
            return
        if control is self.level:
            state = self.workspace.session.state
            tensor = replace(state.tensor, level=self.level.value, passes=())
            self.workspace.open(ViewState(circuit=state.circuit, options=state.options, tensor=tensor))
            return
        options = self.workspace.session.opened.options
        if control is self.preset:
            options = options.with_preset(self.preset.value)
        else:
            options = replace(options, semiring=self.semiring.value)
        self.workspace.recompile(options)
