"""The views as Panel components for `panel serve`: the same static files, served as they are."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import param
from panel.custom import AnyWidgetComponent

from widgets.encode import picture_traits, to_json
from widgets.schema import BarsView, DetailsView, PictureView, StepView
from widgets.static import BARS, GRAPH, HOST, STEPS

WRITTEN_BY_READER = ("step", "selection", "view", "request")


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

    def show_state(self, step: int, selection: Sequence[str], view: Mapping[str, Any]) -> None:
        """Sets what the reader sets too; other keys of `view` are kept."""
        self.param.update(step=step, selection=list(selection), view={**self.view, **view})

    def on_reader(self, callback: Callable[[Mapping[str, Any]], None]) -> None:
        """Call with what changed of `step`, `selection`, `view` and `request`, together where they changed together."""
        self.param.watch(lambda *events: callback({e.name: e.new for e in events}), list(WRITTEN_BY_READER))


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


class StepsPane(AnyWidgetComponent):
    """The steps of a trace as a tree; `step` changes when the reader chooses one."""

    _bundle = STEPS

    steps = param.String("[]")
    step = param.Integer(0)
    options = param.Dict({})

    def __init__(self, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(**params)

    def show_steps(self, steps: Sequence[StepView], step: int) -> None:
        """Fills the tree."""
        self.param.update(steps=to_json(list(steps)), step=step)


class BrowserHost(AnyWidgetComponent):
    """What only the browser knows or can do: the theme, which `flip_theme` changes, and the clipboard."""

    _bundle = HOST

    hello = param.Integer(0)
    answer = param.Integer(0)
    ready = param.Boolean(False, doc="Whether the page is there: before, what is sent may get lost.")
    flips = param.Integer(0)
    copy = param.Dict({})
    copied = param.Dict({})

    def __init__(self, **params: Any) -> None:
        super().__init__(width=0, height=0, margin=0, **params)
        self.param.watch(lambda event: self.param.update(answer=event.new), "hello")

    def flip_theme(self) -> None:
        """From light to dark, or back; at first the page is as the system is."""
        self.flips += 1

    def put_on_clipboard(self, text: str) -> None:
        """Ask the browser; `copied` says whether it allowed that."""
        self.copy = {"text": text, "n": int(self.copy.get("n", 0)) + 1}
