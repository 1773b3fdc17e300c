"""The views as Panel components for `panel serve`: the same static files, unchanged."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import param
from panel.custom import AnyWidgetComponent

from explorer_widgets.encode import picture_traits, to_json
from explorer_widgets.schema import (
    BarsView,
    DerivationView,
    DetailsView,
    LivingView,
    PictureView,
    QueryView,
    StepView,
    ValuesView,
)
from explorer_widgets.static import BARS, DERIVATION, GRAPH, HOST, QUERY

SET_BY_USER = ("step", "selection", "view", "request")

UNBOUNDED = {"max-height": "none"}
"""The style of what may be higher than the window; otherwise Panel cuts it, and what follows covers it."""


class BundledComponent(AnyWidgetComponent):
    """A component whose module imports nothing.

    Panel's own map names React of another version than that of panel-material-ui, and each page would warn about it.
    """

    __abstract = True

    @classmethod
    def _process_importmap(cls) -> dict[str, dict[str, str]]:
        return {"imports": {}, "scopes": {}}


class GraphPane(BundledComponent):
    """The graph of a step with its stepper. User actions change `step`, `selection`, `view` and `request`."""

    # A bundle, not `_esm`: Panel keys inline modules by class name and text length, and would rewrite them first.
    _bundle = GRAPH

    picture = param.String("")
    coordinates = param.Bytes(b"")
    steps = param.String("[]")
    step = param.Integer(0)
    selection = param.List([], item_type=str)
    view = param.Dict({})
    details = param.String("")
    values = param.String("")
    living = param.String("")
    options = param.Dict({})
    request = param.Dict({})
    progress = param.Dict({})
    ahead = param.Dict({})
    ready = param.Boolean(False, doc="Whether the view is on the page.")

    def __init__(self, **params: Any) -> None:
        params = {"sizing_mode": "stretch_width", "styles": UNBOUNDED, **params}
        super().__init__(**params)

    def show_picture(self, picture: PictureView, coordinates: bytes, **others: Any) -> None:
        """Draw another picture; both parts, and other params, are sent in one message."""
        self.param.update(**picture_traits(picture, coordinates), **others)

    def show_steps(self, steps: Sequence[StepView], step: int) -> None:
        """Set the steps of the stepper."""
        self.param.update(steps=to_json(list(steps)), step=step)

    def show_details(self, details: DetailsView | None) -> None:
        """Set the content of the inspector."""
        self.details = "" if details is None else to_json(details)

    def show_values(self, values: ValuesView | None) -> None:
        """Set the values of the close-up."""
        self.values = "" if values is None else to_json(values)

    def show_living(self, living: LivingView | None) -> None:
        """Set the circuit that the page evaluates."""
        self.living = "" if living is None else to_json(living)

    def show_state(self, step: int, selection: Sequence[str], view: Mapping[str, Any]) -> None:
        """Set the traits that users change too; other keys of `view` are preserved."""
        self.param.update(step=step, selection=list(selection), view={**self.view, **view})

    def send_ahead(self, message: Mapping[str, Any]) -> None:
        """Send a picture that the reader may want next, and which ones the page is to keep."""
        self.ahead = dict(message)

    def on_user_change(self, callback: Callable[[Mapping[str, Any]], None]) -> None:
        """Call back with the changes of `step`, `selection`, `view`, `request`; simultaneous ones together."""
        self.param.watch(lambda *events: callback({e.name: e.new for e in events}), list(SET_BY_USER))


class BarsPane(BundledComponent):
    """Bars with whiskers; setting `bars` again redraws them while a measurement runs."""

    _bundle = BARS

    bars = param.String("")
    options = param.Dict({})

    def __init__(self, bars: BarsView | None = None, options: Mapping[str, Any] | None = None, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(bars="" if bars is None else to_json(bars), options=dict(options or {}), **params)

    def show_bars(self, bars: BarsView) -> None:
        """Draw other bars."""
        self.bars = to_json(bars)


class DerivationPane(BundledComponent):
    """The circuits that operators combined, and what they made of them; a click lights up where a layer comes from."""

    _bundle = DERIVATION

    derivation = param.String("")
    options = param.Dict({})

    def __init__(self, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(styles=UNBOUNDED, **params)

    def show_derivation(self, derivation: DerivationView | None) -> None:
        """Draw the circuits; nothing without a derivation."""
        self.derivation = "" if derivation is None else to_json(derivation)


class QueryPane(BundledComponent):
    """The observed pixels of an image, painted on a pad, and what a circuit answered; a stroke changes `evidence`."""

    _bundle = QUERY

    query = param.String("")
    evidence = param.Dict({}, doc="What the user painted: x, observed, n.")
    chosen = param.Integer(0, doc="The position of the answer that the user clicked.")
    options = param.Dict({})

    def __init__(self, **params: Any) -> None:
        params.setdefault("sizing_mode", "stretch_width")
        super().__init__(styles=UNBOUNDED, **params)

    def show_query(self, query: QueryView | None) -> None:
        """Draw the pad and the answers; nothing without a query."""
        self.query = "" if query is None else to_json(query)


class BrowserHost(BundledComponent):
    """Browser features: the theme, which `flip_theme` toggles, the clipboard, the address with its history, drops."""

    _bundle = HOST

    hello = param.Integer(0)
    answer = param.Integer(0)
    ready = param.Boolean(False, doc="Whether the page has loaded; messages sent earlier may be lost.")
    width = param.Integer(0, doc="The width of the window in pixels; 0 until the page has loaded.")
    flips = param.Integer(0)
    copy = param.Dict({})
    copied = param.Dict({})
    address = param.String("", doc="The query of the address. Back and Forward set it.")
    drops = param.Integer(0, doc="Number of drops of files, which wait for the field of the Files tool.")
    replaces = param.Boolean(False, doc="Whether the address replaces the entry of the history; otherwise it adds one.")

    def __init__(self, **params: Any) -> None:
        super().__init__(width=0, height=0, margin=0, **params)
        self.param.watch(lambda event: self.param.update(answer=event.new), "hello")

    def flip_theme(self) -> None:
        """Toggle between light and dark; the initial theme is the system's."""
        self.flips += 1

    def show_address(self, query: str, *, replaces: bool = False) -> None:
        """Change the address: add an entry to the history, or replace the current one."""
        self.replaces = replaces  # first: the browser hears of one after the other
        self.address = query

    def put_on_clipboard(self, text: str) -> None:
        """Copy `text` to the clipboard; `copied` says whether the browser allowed it."""
        self.copy = {"text": text, "n": int(self.copy.get("n", 0)) + 1}
