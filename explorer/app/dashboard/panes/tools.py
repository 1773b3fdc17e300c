"""The tools: their buttons, and the open one at the right of the graph; each is created when it is first opened."""

from collections.abc import Callable
from html import escape

import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from explorer.app.dashboard.panes.compare import CompareTool, OperatorsTool
from explorer.app.dashboard.panes.files import FilesTool
from explorer.app.dashboard.panes.measure import MeasureTool
from explorer.app.dashboard.panes.patterns import PatternTool
from explorer.app.dashboard.panes.pipeline import PipelineTool
from explorer.app.dashboard.panes.query import QueryTool
from explorer.app.dashboard.panes.tables import html_pane
from explorer.app.dashboard.panes.tool import CLOSED, HEADER_HEIGHT, OPENED, Tool, button
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.session import EVENTS
from explorer_widgets.dashboard import UNBOUNDED

TOOLS: tuple[type[Tool], ...] = (
    PatternTool,
    QueryTool,
    MeasureTool,
    CompareTool,
    PipelineTool,
    OperatorsTool,
    FilesTool,
)

WIDTH = "var(--explorer-side-width, 380px)"
"""The width of an open tool, for CSS. The bar beside the graph sets the variable (`parts/frame.js`)."""

WRAPPED = {"@media (max-width: 700px)": {"flexWrap": "wrap", "& .MuiToggleButton-root": {"width": "auto"}}}
"""The style of the buttons, which take two lines on a phone."""


class Tools:
    """The tools of the dashboard. `on_open` receives whether one is open, so that the graph can make room."""

    def __init__(self, workspace: Workspace, on_open: Callable[[bool], None]) -> None:
        self.workspace = workspace
        self.on_open = on_open
        self.open_name, self._shown = "", ("", "")
        self._tools: dict[str, Tool] = {}
        self.buttons = pmui.CheckButtonGroup(options=self._supported(), size="small", margin=(2, 8), sx=WRAPPED)
        self.buttons.param.watch(workspace.guard(self._on_press), "value")
        self.title = html_pane(styles={"flex": "1 1 auto", "align-self": "center"})
        self.close = button(workspace, "Close", lambda: self.open(""), "outlined")
        self.content = pn.Column(sizing_mode="stretch_width", margin=0, styles=UNBOUNDED)
        self.body = pn.Column(
            pn.Row(self.title, self.close, sizing_mode="stretch_width", margin=0),
            self.content,
            styles={**UNBOUNDED, "flex": f"1 0 {WIDTH}", "height": f"calc(100vh - {HEADER_HEIGHT}px)"},
            scroll="y-auto",
            visible=False,
            margin=(0, 4),
        )

    def open(self, name: str) -> None:
        """Open a tool by name; an empty name, or a tool that does not support the trace, closes the open one."""
        name = name if name in self._supported().values() else ""
        closed = self._tools.get(self.open_name)
        if closed is not None and name != self.open_name:
            self.workspace.guard(closed.on_change)(frozenset({CLOSED}))
        self.open_name = name
        self.buttons.value = [name] if name in self.buttons.options.values() else []
        if name:
            if name not in self._tools:
                self._tools[name] = next(tool for tool in TOOLS if tool.name == name)(self.workspace)
            self._shown = ("", "")
            self.on_change(EVENTS | {OPENED})
        self.body.visible = bool(name)
        self.on_open(bool(name))

    def on_change(self, names: frozenset[str]) -> None:
        """Offer the tools that support the trace, and notify the open tool of changes."""
        if self.open_name not in ("", *self._supported().values()):
            self.open("")
        if self.buttons.options != self._supported():
            self.buttons.options = self._supported()
        tool = self._tools.get(self.open_name)
        if tool is None:
            return
        opened = self.workspace.session.opened
        if self._shown == (tool.name, opened.tensor.level):
            self.workspace.guard(tool.on_change)(names)
            return
        self._shown = tool.name, opened.tensor.level
        # filled before it is shown: a column that changes while the browser builds it would stay as it was
        self.workspace.guard(tool.on_change)(EVENTS | {OPENED})
        has_circuit = opened.trace.level.has_circuit
        words = html_pane(f"<p>{escape((not has_circuit and tool.help_without_circuit) or tool.help)}</p>")
        self.title.object = f"<h2>{escape(tool.title)}</h2>"
        self.content[:] = [words, tool.view, *([html_pane(self._missing)] if self._missing else [])]

    def _supported(self) -> dict[str, str]:
        """The titles and names of the tools that support the open trace."""
        opened = self.workspace.session.opened
        level = opened.tensor.level
        return {tool.title: tool.name for tool in TOOLS if level in tool.supported_levels and tool.supports(opened)}

    @property
    def _missing(self) -> str:
        """Say which tools are not offered at this level, and why; empty if all are."""
        level = self.workspace.session.opened.tensor.level
        others = [tool for tool in TOOLS if level not in tool.supported_levels]
        missing = [f"{tool.title} ({tool.elsewhere})" for tool in others]
        return f"<p>Not at level {level}: {escape(', '.join(missing))}.</p>" if missing else ""

    def _on_press(self, event: Event) -> None:
        """Open the tool of a button, or close it if it is open."""
        pressed = [name for name in event.new if name != self.open_name]
        if pressed or (not event.new and self.open_name in self.buttons.options.values()):
            self.open(pressed[-1] if pressed else "")
