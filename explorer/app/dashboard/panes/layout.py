"""Layout of controls: from the left, wrapping when there is no room."""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui
from panel import Column, FlexBox
from panel.viewable import Viewable

from explorer.app.dashboard.workspace import Workspace

TYPED_NUMBER = {"& .MuiInputAdornment-root": {"display": "none"}, "& .MuiInputBase-input": {"paddingLeft": "12px"}}
"""The `sx` of a number field: without its two small buttons, which have no name; the arrow keys replace them."""


def button(
    workspace: Workspace, label: str, press: Callable[[], object], variant: str = "contained", *, visible: bool = True
) -> pmui.Button:
    """A small button; an error of its action is shown in the page."""
    return pmui.Button(
        label=label, size="small", variant=variant, visible=visible, on_click=workspace.guard(lambda _: press())
    )


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
