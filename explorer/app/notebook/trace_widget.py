"""A trace in a notebook: the graph of a step with a stepper, and optionally a fold level below it."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import ipywidgets
import traitlets

from explorer.app.notebook.embedding import focus_match, graph_options
from explorer.app.notebook.fallback import fold_html, picture_fallback
from explorer.app.session.linking import GraphHost, GraphLink
from explorer.app.session.sending_ahead import SendingAhead
from explorer.app.session.session import Session
from explorer.trace import Trace
from explorer.views import fold_level
from explorer_widgets.encode import Fallback
from explorer_widgets.jupyter import GraphWidget, SavedPicture, bundle_with
from explorer_widgets.schema import FoldLevelView


class TraceWidget(GraphWidget):
    """A trace to step through. `step`, `selection` and `view` are traits: set, `observe` or link them.

    `selection` contains boxes, `selected_nodes` the nodes that they represent, `session` the rest.
    """

    def __init__(self, session: Session, height: int | None = None, note: str = "", *, film: bool = True) -> None:
        self._closing = ExitStack()
        super().__init__(options=graph_options(height, film), make_fallback=self._fallback)
        self.session = session
        self.note = note
        self.link = GraphLink(session, cast(GraphHost, self))
        ahead = SendingAhead(session, self.send_ahead, _call_later)
        self.observe(lambda _: ahead.start(), names="ready")
        self._closing.callback(self.link.close)
        self._closing.callback(ahead.close)

    def close(self) -> None:
        """Close the widget; the session no longer draws it, nor sends it pictures."""
        self._closing.close()
        super().close()

    @property
    def trace(self) -> Trace:
        """The displayed trace."""
        return self.session.opened.trace

    @property
    def selected_nodes(self) -> tuple[int, ...]:
        """The compiler's ids of the nodes that the selected boxes represent."""
        return self.session.selected_nodes

    def focus_match(self, step: "int | str", match: int) -> None:
        """Go to a match: select its boxes, focus its hull, describe it in the inspector.

        Raises: UnknownNameError for an unknown step or match.
        """
        self.show_details(focus_match(self.session, step, match))

    def _fallback(self) -> Fallback:
        return picture_fallback(self.session.picture())

    def _words(self) -> str:
        last = len(self.trace.steps) - 1
        chosen = ", ".join(self.selection) if self.selection else "nothing"
        return f"step={self.step} of {last}, selection={chosen}" + (f"; {self.note}" if self.note else "")


def _call_later(seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Run a function in the kernel after some time; return what cancels it. Nothing runs outside of a kernel."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda: None
    return loop.call_later(seconds, action).cancel


class FoldLevelWidget(SavedPicture, ipywidgets.VBox):
    """A trace to step through, with the fold level of the step below it: groups, keys, (F, H) index tables.

    `step`, `selection` and `view` belong to `graph`, the drawing.
    """

    step = traitlets.Int(0).tag(sync=True)
    selection = traitlets.List(traitlets.Unicode()).tag(sync=True)
    view = traitlets.Dict().tag(sync=True)

    def __init__(self, graph: TraceWidget) -> None:
        self.graph = graph
        self.table = ipywidgets.HTML()
        super().__init__([graph, self.table])
        for name in ("step", "selection", "view"):
            traitlets.link((graph, name), (self, name))
        graph.observe(lambda change: self._fill(), names="step")
        self._fill()

    @property
    def session(self) -> Session:
        """The session of the drawing."""
        return self.graph.session

    @property
    def trace(self) -> Trace:
        """The displayed trace."""
        return self.graph.trace

    @property
    def selected_nodes(self) -> tuple[int, ...]:
        """The compiler's ids of the nodes that the selected boxes represent."""
        return self.graph.selected_nodes

    @property
    def fold_level(self) -> FoldLevelView | None:
        """The level that the current step folds; None if it folds nothing."""
        folds = self.session.index.step(self.step).folds
        return fold_level(self.session.index, folds[0].level) if folds else None

    def _fill(self) -> None:
        self.table.value = fold_html(self.fold_level, self.trace)

    def close(self) -> None:
        """Close the widget and its parts, which Jupyter would keep otherwise."""
        for part in self.children:
            part.close()
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with a PNG and text as fallback."""
        widget = ipywidgets.VBox._repr_mimebundle_(self, **kwargs)
        return bundle_with(widget, repr(self), self._fallback)

    def _display_(self) -> TraceWidget:
        """Return the drawing, with its index table in the close-up, for marimo, which shows no boxes of widgets."""
        level = self.fold_level
        if level is not None and not self.session.selection:
            self.session.select_nodes([level["groups"][0]["node"]])
            self.session.look_closer(replace(self.session.state.closer, closeup="table"))
        return self.graph

    def _fallback(self) -> Fallback:
        return picture_fallback(self.session.picture(), self.fold_level)

    def __repr__(self) -> str:
        return f"FoldLevelWidget({self.graph._words()})"

    def __str__(self) -> str:
        return self._fallback().text
