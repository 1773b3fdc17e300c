"""The views as Panel components for `panel serve`: the same static files, served as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import param
from panel.custom import AnyWidgetComponent

from widgets.encode import picture_traits, to_json
from widgets.schema import BarsView, DetailsView, PictureView, StepView
from widgets.static import BARS, GRAPH


class GraphPane(AnyWidgetComponent):
    """The graph of a step with its stepper. `step`, `selection`, `view` and `request` change when the reader acts."""

    # A bundle, not `_esm`: Panel keys inline modules by class name and text length, and would rewrite them first.
    _bundle = GRAPH

    picture = param.String("")
    coordinates = param.Bytes(b"")
    steps = param.String("[]")
    step = param.Integer(0)
    selection = param.List([], item_type=str)
    view = param.Dict({})
    details = param.String("")
    options = param.Dict({})
    request = param.Dict({})

    def __init__(self, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(**params)

    def show_picture(self, picture: PictureView, coordinates: bytes, **others: Any) -> None:
        """Draws another picture; both parts, and other params, travel in one message."""
        self.param.update(**picture_traits(picture, coordinates), **others)

    def show_steps(self, steps: Sequence[StepView], step: int) -> None:
        """Fills the stepper."""
        self.param.update(steps=to_json(list(steps)), step=step)

    def show_details(self, details: DetailsView | None) -> None:
        """Fills the inspector."""
        self.details = "" if details is None else to_json(details)


class BarsPane(AnyWidgetComponent):
    """Bars with whiskers; setting `bars` anew redraws them while a measurement runs."""

    _bundle = BARS

    bars = param.String("")
    options = param.Dict({})

    def __init__(self, bars: BarsView | None = None, options: Mapping[str, Any] | None = None, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(bars="" if bars is None else to_json(bars), options=dict(options or {}), **params)

    def show_bars(self, bars: BarsView) -> None:
        """Draws other bars."""
        self.bars = to_json(bars)
