"""The base class of tools, created when first opened and notified of changes, and the layout of parts."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar
from weakref import ref

import panel_material_ui as pmui
from panel import Column, FlexBox
from panel.viewable import Viewable

from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.linking import OBSERVED
from explorer.app.session.opening import Opened
from explorer.app.session.view_state import LEVEL_NAMES

OPENED, CLOSED = "opened", "closed"
"""Names that a tool receives in addition to the events of a session."""


class Tool(ABC):
    """A tool of one reader."""

    name: ClassVar[str]
    """The name in links and code."""
    title: ClassVar[str]
    """The title on its button."""
    help: ClassVar[str]
    """Its purpose in a sentence."""
    help_without_circuit: ClassVar[str] = ""
    """Its purpose at the levels without layers, if it is another one."""
    supported_levels: ClassVar[tuple[str, ...]] = LEVEL_NAMES
    """The levels of the traces that it supports."""
    elsewhere: ClassVar[str] = ""
    """The reason that the other levels have nothing to show here."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._opened: Callable[[], Opened | None] = lambda: None
        self.view = self.build()

    @classmethod
    def supports(cls, opened: Opened) -> bool:
        """Whether it has something to show of an open trace of a supported level."""
        return True

    def _is_new_trace(self) -> bool:
        """Whether another trace was opened since the last call. The trace is not kept for it."""
        known, opened = self._opened(), self.workspace.session.opened
        self._opened = ref(opened)
        return known is not opened

    @abstractmethod
    def build(self) -> Viewable:
        """Build the content, which `on_change` fills."""

    @abstractmethod
    def on_change(self, names: frozenset[str]) -> None:
        """Handle changes while the tool is open, and its opening (`OPENED` and all events) and closing (`CLOSED`)."""


# ---------------------------------------------------------------------- layout


TYPED_NUMBER = {"& .MuiInputAdornment-root": {"display": "none"}, "& .MuiInputBase-input": {"paddingLeft": "12px"}}
"""The `sx` of a number field: without its two small buttons, which have no name; the arrow keys replace them."""


def button(
    workspace: Workspace, label: str, press: Callable[[], object], variant: str = "contained", **more: Any
) -> pmui.Button:
    """A small button; an error of its action is shown in the page."""
    on_click = workspace.guard(lambda _: press())
    return pmui.Button(label=label, size="small", variant=variant, on_click=on_click, **more)


def number_input(
    label: str, value: int, start: int, end: int | None, width: int, *, visible: bool = True
) -> pmui.IntInput:
    """A field for a number."""
    sizes = {"size": "small", "sx": TYPED_NUMBER, "width": width}
    return pmui.IntInput(label=label, value=value, start=start, end=end, visible=visible, **sizes)


def line(*parts: Viewable, indent: int = 0) -> FlexBox:
    """Place controls in a line."""
    return FlexBox(
        *parts,
        align_items="center",
        justify_content="flex-start",
        sizing_mode="stretch_width",
        margin=(0, 0, 0, indent),
    )


def column(*parts: Viewable) -> Column:
    """Stack panes at full width."""
    return Column(*parts, sizing_mode="stretch_width", margin=0)


def columns(*parts: Viewable) -> FlexBox:
    """Place panes side by side in equal widths; stacked on a narrow page."""
    for part in parts:
        part.styles = {**part.styles, "flex": "1 1 380px", "min-width": "0"}
    return FlexBox(
        *parts, align_items="flex-start", flex_wrap="wrap", gap="16px", sizing_mode="stretch_width", margin=0
    )


def number(control: Any, otherwise: int) -> int:
    """Return the number in a field; an empty or out-of-range one is corrected, in the field as well."""
    value = otherwise if control.value is None else int(control.value)
    least, most = control.start, control.end
    value = max(value, value if least is None else int(least))
    value = min(value, value if most is None else int(most))
    if control.value != value:
        control.value = value
    return value


# ---------------------------------------------------------------------- the graph beside the other parts


HEADER_HEIGHT = 74
"""Pixels of the page above the graph and the open tool."""

HEADING_HEIGHT = 36
"""Pixels of the headings above two compared graphs."""


def graph_options(*, main: bool = True, tool: bool = False, narrow: bool = False) -> dict[str, Any]:
    """Return how a graph is shown, beside an open tool or not; `narrow` if it is one of two.

    Buttons that open a tool or start work for the open trace belong to the `main` graph.
    """
    return {
        "height": f"max(320px, calc(100vh - {HEADER_HEIGHT + narrow * HEADING_HEIGHT}px))",
        "tool": tool,
        "compact": narrow,
        "inspector": "drawer" if narrow else "side",
        "main": main,
        "requests": ["timing", "check", "close-tool", OBSERVED] if main else [],
        "living": True,
    }
