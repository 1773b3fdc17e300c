"""The views as Jupyter widgets: traits set in Python are drawn, and user actions change the same traits."""

import base64
import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets
from IPython.display import publish_display_data

from explorer_widgets.encode import Fallback as Fallback, picture_traits, to_json
from explorer_widgets.schema import BarsView, DetailsView, LivingView, PictureView, StepView, ValuesView
from explorer_widgets.static import ASK, BARS, GRAPH

SET_BY_USER = ("step", "selection", "view", "request")


MakeFallback = Callable[[], Fallback]
"""Creates the fallback for the current state; called when a widget is displayed, not earlier."""

MimeBundle = tuple[dict[str, Any], dict[str, Any]]


def bundle_with(bundle: Any, text: str, make_fallback: MakeFallback | None) -> MimeBundle | None:
    """Return what a notebook saves for a widget: the widget, a PNG and plain text.

    No HTML: an untrusted notebook, nbviewer and GitHub would prefer it to the PNG, and they do not show SVG.
    """
    if bundle is None:
        return None
    data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    if make_fallback is None:
        return {**data, "text/plain": text}, metadata
    fallback = make_fallback()
    png = fallback.draw()
    size = {"width": png.width, "height": png.height, "alt": fallback.alt}
    image = base64.b64encode(png.data).decode()
    return {**data, "text/plain": fallback.text, "image/png": image}, {**metadata, "image/png": size}


# JupyterLab shows an error in place of a widget whose kernel is gone, although the output has an image as well. So a
# second output holds the image. Its style shows it there while the first output has no live view, and hides the error.
# Other hosts never show it.
LIVE = ":has(.ce-root,.ceb-root,.ceq-root)"
SAVED_STYLE = f"""
.jp-OutputArea-child:not({LIVE}):has(+ .jp-OutputArea-child .ce-saved){{display:none}}
.jp-OutputArea-child{LIVE} + .jp-OutputArea-child:has(.ce-saved){{display:none}}
.jp-OutputArea-child .ce-saved{{display:block!important;max-width:100%;height:auto}}
"""


def saved_html(bundle: MimeBundle) -> str:
    """Return the second output of a widget that has an image, for a saved notebook in JupyterLab; else nothing."""
    data, metadata = bundle
    if "image/png" not in data:
        return ""
    size = metadata["image/png"]
    attributes = f'width="{size["width"]}" height="{size["height"]}" alt="{html.escape(size["alt"])}"'
    source = f"data:image/png;base64,{data['image/png']}"
    return f'<style>{SAVED_STYLE}</style><img class="ce-saved" style="display:none" {attributes} src="{source}">'


class SavedPicture:
    """A mixin for widgets whose picture stays in a saved notebook: they are displayed as two outputs."""

    def _repr_mimebundle_(self, **kwargs: Any) -> MimeBundle | None:
        """Return the widget with its fallback."""
        raise NotImplementedError

    def _ipython_display_(self) -> None:
        """Display the widget and, hidden, its picture."""
        bundle = self._repr_mimebundle_()
        data, metadata = bundle or ({"text/plain": repr(self)}, {})
        publish_display_data(data, metadata)
        saved = saved_html((data, metadata))
        if saved:
            publish_display_data({"text/html": saved})


class _Widget(SavedPicture, anywidget.AnyWidget):
    """Base class of the widgets: options, a short repr, an image for where widgets are not displayed.

    `_esm` is the text of a module: of a path, anywidget makes a file that refers to every widget for ever.
    """

    options = traitlets.Dict().tag(sync=True)

    def __init__(self, make_fallback: MakeFallback | None = None, **traits: Any) -> None:
        super().__init__(**traits)
        self.make_fallback = make_fallback

    def __str__(self) -> str:
        return repr(self) if self.make_fallback is None else self.make_fallback().text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._words()})"

    def _words(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> MimeBundle | None:
        """Return the widget with a PNG (for GitHub, nbviewer, untrusted notebooks) and plain text."""
        widget = anywidget.AnyWidget._repr_mimebundle_(self, **kwargs)
        return bundle_with(widget, repr(self), self.make_fallback)


class GraphWidget(_Widget):
    """The graph of a step with its stepper. User actions change `step`, `selection` and `view`: `observe` them.

    `request` is `{"name": ..., "n": ...}` after a click on a button whose action needs Python.
    """

    _esm = GRAPH.read_text(encoding="utf-8")

    picture = traitlets.Unicode("").tag(sync=True)
    coordinates = traitlets.Bytes(b"").tag(sync=True)
    steps = traitlets.Unicode("[]").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    view = traitlets.Dict().tag(sync=True)
    details = traitlets.Unicode("").tag(sync=True)
    values = traitlets.Unicode("").tag(sync=True)
    living = traitlets.Unicode("").tag(sync=True)
    request = traitlets.Dict().tag(sync=True)
    ahead = traitlets.Dict().tag(sync=True)
    ready = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        picture: PictureView | None = None,
        coordinates: bytes = b"",
        steps: Sequence[StepView] = (),
        *,
        options: Mapping[str, Any] | None = None,
        make_fallback: MakeFallback | None = None,
        **traits: Any,
    ) -> None:
        chosen = {"compact": True, **(options or {})}
        traits["steps"] = to_json(list(steps))
        if picture is not None:
            traits = {**picture_traits(picture, coordinates), "step": picture["step"], **traits}
        self._callbacks: list[Callable[[Mapping[str, Any]], None]] = []
        super().__init__(make_fallback, options=chosen, **traits)
        self._told = {name: getattr(self, name) for name in SET_BY_USER}
        """The values that the callbacks know."""
        self.observe(self._tell, names=list(SET_BY_USER))

    def show_picture(self, picture: PictureView, coordinates: bytes) -> None:
        """Draw another picture; both parts are sent in one message."""
        with self.hold_sync():
            for name, value in picture_traits(picture, coordinates).items():
                self.set_trait(name, value)

    def show_steps(self, steps: Sequence[StepView], step: int) -> None:
        """Set the steps of the stepper."""
        with self.hold_sync():
            self.set_trait("steps", to_json(list(steps)))
            self.set_trait("step", step)

    def show_details(self, details: DetailsView | None) -> None:
        """Set the content of the inspector."""
        self.set_trait("details", "" if details is None else to_json(details))

    def show_values(self, values: ValuesView | None) -> None:
        """Set the values of the close-up."""
        self.set_trait("values", "" if values is None else to_json(values))

    def show_living(self, living: LivingView | None) -> None:
        """Set the circuit that the page evaluates."""
        self.set_trait("living", "" if living is None else to_json(living))

    def show_state(self, step: int, selection: Sequence[str], view: Mapping[str, Any]) -> None:
        """Set the traits that users change too; other keys of `view` are preserved."""
        with self.hold_sync():
            self.set_trait("step", step)
            self.set_trait("selection", list(selection))
            self.set_trait("view", {**self.view, **view})

    def send_ahead(self, message: Mapping[str, Any]) -> None:
        """Send a picture that the reader may want next, and which ones the page is to keep."""
        self.set_trait("ahead", dict(message))

    def on_user_change(self, callback: Callable[[Mapping[str, Any]], None]) -> None:
        """Call back with the changes of `step`, `selection`, `view`, `request`; those of one update together.

        Other observers are notified later, one trait at a time.
        """
        self._callbacks.append(callback)

    def _tell(self, _: object) -> None:
        """Tell all changes of an update at its first notification: each trait has its new value by then."""
        values = {name: getattr(self, name) for name in SET_BY_USER}
        changes = {name: value for name, value in values.items() if value != self._told[name]}
        self._told = values
        for callback in self._callbacks if changes else ():
            callback(changes)

    def _words(self) -> str:
        chosen = ", ".join(self.selection) if self.selection else "nothing"
        return f"step={self.step}, selection={chosen}"


class BarsWidget(_Widget):
    """Bars with whiskers; setting `bars` again redraws them while a measurement runs."""

    _esm = BARS.read_text(encoding="utf-8")

    bars = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        bars: BarsView | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        make_fallback: MakeFallback | None = None,
        **traits: Any,
    ) -> None:
        shown = "" if bars is None else to_json(bars)
        super().__init__(make_fallback, bars=shown, options=dict(options or {}), **traits)
        self.view = bars

    def show_bars(self, bars: BarsView) -> None:
        """Draw other bars."""
        self.view = bars
        self.set_trait("bars", to_json(bars))

    def _words(self) -> str:
        return "" if self.view is None else self.view["title"]


class QuestionWidget(GraphWidget):
    """A graph with a question about a step below it; the drawing code checks the answers.

    One widget, because some hosts show no widget in another one. The host shows the right answer while `revealed`.
    `answer` is null until an answer is checked; then it is a list of nodes, a choice, or a number.
    """

    _esm = ASK.read_text(encoding="utf-8")

    question: Any = traitlets.Unicode("").tag(sync=True)
    answer = traitlets.Any(None, allow_none=True).tag(sync=True)
    revealed = traitlets.Bool(False).tag(sync=True)
