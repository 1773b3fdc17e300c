"""`explorer.show(..., static=True)`: a picture as HTML, which needs neither widgets nor Python nor a network."""

import base64
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NoReturn

from explorer.app.notebook.embedding import embedded_graph, fold_tables
from explorer.app.notebook.fallback import bars_fallback, picture_fallback
from explorer.app.session.living import living_view
from explorer.app.session.reproduce import page_bytes, page_recording
from explorer.app.session.session import Session
from explorer.errors import CircuitError, NoKernelError
from explorer.views import fold_level
from explorer_widgets.encode import Fallback, to_json
from explorer_widgets.page import frame_html
from explorer_widgets.schema import BarsView, DetailsView, GraphOptions

HEIGHT, TABLE_HEIGHT, BARS_MARGIN = 600, 360, 40
"""Pixels: of a graph, of the table of a fold level below it, and around bars."""
MAX_BYTES = 10_000_000
"""Maximum estimated size of a page with all steps; notebooks with larger outputs open slowly, and hosts cut them."""

# Environments whose pages show no custom widgets, by a variable that they set; the sentence says what is known.
HOSTS: Mapping[str, str] = {
    "KAGGLE_KERNEL_RUN_TYPE": "Kaggle does not load the code of widgets that are installed in a notebook",
    "DATABRICKS_RUNTIME_VERSION": "Databricks documents only the widgets of ipywidgets",
}
WIDGETS = ("anywidget", "ipywidgets")


def why_static(environment: Mapping[str, str], is_installed: Callable[[str], bool]) -> str:
    """Return why widgets cannot work here, as far as Python can know; empty if they may."""
    for name, reason in HOSTS.items():
        if name in environment:
            return f"{reason}: show(..., static=False) tries the widget."
    missing = [name for name in WIDGETS if not is_installed(name)]
    return f"The widget needs {' and '.join(missing)}: pip install {' '.join(missing)}." if missing else ""


class _WidgetOnly:
    """An attribute that only widgets have. To read or set it raises NoKernelError."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, view: object, owner: type | None = None) -> NoReturn:
        raise NoKernelError(
            f"a static picture has no `{self._name}`, since it has no kernel; show(..., static=False) returns a widget"
        )

    def __set__(self, view: object, value: object) -> NoReturn:
        self.__get__(view)


class StaticView:
    """A picture as HTML: a frame with the page of the trace, and below it, for hosts that remove frames, an image.

    `html` is what a notebook saves. `note` is one line below the picture. Without a height, it is that of the image.
    """

    __slots__ = ("_fallback", "_image", "_size", "html", "note")
    observe, step, selection = _WidgetOnly(), _WidgetOnly(), _WidgetOnly()
    selected_nodes, view = _WidgetOnly(), _WidgetOnly()

    def __init__(self, page: str, height: int | None, fallback: Fallback, note: str = "") -> None:
        self.note = note
        self._fallback = fallback
        png = fallback.draw()
        self._image = base64.b64encode(png.data).decode()
        self._size = {"width": png.width, "height": png.height, "alt": fallback.alt}
        self.html = self._framed(page, png.height + BARS_MARGIN if height is None else height)

    def close(self) -> None:
        """Do nothing: a notebook keeps only the HTML. Widgets have to be closed."""

    def _framed(self, page: str, height: int) -> str:
        alt = escape(self._fallback.alt)
        size = f'width="{self._size["width"]}" height="{self._size["height"]}" style="max-width:100%;height:auto"'
        image = f'<img alt="{alt}" {size} src="data:image/png;base64,{self._image}">'
        # Not of the notebook's origin: the frame can change nothing outside of it.
        rights = 'sandbox="allow-scripts allow-downloads" allow="fullscreen; clipboard-write"'
        document = page.replace("&", "&amp;").replace('"', "&quot;")
        place = "position:absolute;inset:0;width:100%;height:100%;border:0"
        frame = f'<iframe title="{alt}" {rights} style="{place}" srcdoc="{document}"></iframe>'
        note = f"<p><small>{escape(self.note)}</small></p>" if self.note else ""
        return f'<div style="position:relative;height:{height}px;overflow:hidden">{image}{frame}</div>{note}'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict[str, Any], Any]:
        """Return the HTML, and the image and its text for hosts that show no HTML."""
        data = {"text/html": self.html, "image/png": self._image, "text/plain": str(self)}
        return data, {"image/png": self._size}

    def __str__(self) -> str:
        return "\n\n".join(filter(None, (self._fallback.text, self.note)))

    def __repr__(self) -> str:
        return f"StaticView({self._fallback.text.partition(chr(10))[0]!r}, {len(self.html) / 1e6:.1f} MB)"


def static_graph(
    session: Session, options: GraphOptions, details: DetailsView | None, note: str, *, table: bool
) -> StaticView:
    """Return the picture of a session, with all of its steps; of a large trace, with this step only.

    With a `table`, the fold level of each step is below it.

    Raises: CircuitError for beliefs of a circuit that has none.
    """
    look, step = session.look, session.step
    drawn: list[int] | None = None
    if page_bytes(session.opened.trace) > MAX_BYTES:
        drawn, options = [step], {**options, "stepper": False, "film": False}
        note = f"Only this step: a page of all steps would be too large for a notebook. {note}".strip()
    recording = page_recording(
        session.index,
        session.opened.name,
        session.findings,
        colour_by=look.colour_by,
        group_by=look.group_by,
        near_misses=look.near_misses,
        drawn=drawn,
    )
    if session.state.closer.beliefs and "living" not in recording:
        missing = living_view(session.index)["missing"]
        raise CircuitError(f"a page without Python cannot show beliefs of this circuit: {missing}")
    height = options.get("height")
    shown: GraphOptions = {**options, "living": "living" in recording}
    if height is None:
        height = shown["height"] = HEIGHT
        shown["legend"] = True
    if not table:
        shown["height"] = "100vh"  # without space below it, whatever the host does with the frame
    inspected = details or session.details() or session.step_details()
    view = embedded_graph(session, shown, to_json(inspected))
    level = None
    if table:
        view["tables"] = fold_tables(session, drawn)
        folds = session.index.step(step).folds
        level = fold_level(session.index, folds[0].level) if folds else None
    fallback = picture_fallback(session.picture(), level)
    total = int(height) + (TABLE_HEIGHT if table else 0)
    return StaticView(frame_html(view, [recording]), total, fallback, note)


def static_bars(bars: BarsView, note: str) -> StaticView:
    """Return bars in a frame as high as their image, with a margin."""
    return StaticView(frame_html({"kind": "bars", "bars": bars}, []), None, bars_fallback(bars), note)
