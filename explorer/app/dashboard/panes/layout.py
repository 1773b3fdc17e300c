"""How controls stand beside each other: from the left, wrapping where there is no room."""

from typing import Any

from panel import Column, FlexBox
from panel.viewable import Viewable

TYPED_NUMBER = {"& .MuiInputAdornment-root": {"display": "none"}, "& .MuiInputBase-input": {"paddingLeft": "12px"}}
"""For the `sx` of a number: without its two small buttons, which have no name; the arrow keys do what they do."""


def line(*parts: Viewable, indent: int = 0) -> FlexBox:
    """Controls in a line."""
    return FlexBox(
        *parts,
        align_items="center",
        justify_content="flex-start",
        sizing_mode="stretch_width",
        margin=(0, 0, 0, indent),
    )


def column(*parts: Viewable) -> Column:
    """One below the other, as wide as there is room."""
    return Column(*parts, sizing_mode="stretch_width", margin=0)


def columns(*parts: Viewable) -> FlexBox:
    """Side by side in equal widths; one below the other on a narrow page."""
    for part in parts:
        part.styles = {**part.styles, "flex": "1 1 380px", "min-width": "0"}
    return FlexBox(
        *parts, align_items="flex-start", flex_wrap="wrap", gap="16px", sizing_mode="stretch_width", margin=0
    )


def number(control: Any, otherwise: int) -> int:
    """The number in a field; one that was cleared or lies outside of its bounds is put right, in the field too."""
    value = otherwise if control.value is None else int(control.value)
    least, most = control.start, control.end
    value = max(value, value if least is None else int(least))
    value = min(value, value if most is None else int(most))
    if control.value != value:
        control.value = value
    return value
