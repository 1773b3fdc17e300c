"""Records, in the kernel of a lesson, the data that its page needs of each displayed widget.

The site (`docs/building/lessons.py`) runs `recorder = PictureRecorder(); recorder.begin()` before the first cell and
`recorder.end()` after the last one; the lesson itself does not change.
"""

from collections.abc import Callable
from typing import Any, cast

from IPython.core.getipython import get_ipython
from IPython.display import publish_display_data

from explorer.app.notebook.ask_widget import AskWidget, question_options
from explorer.app.notebook.embedding import embedded_graph, fold_tables
from explorer.app.notebook.trace_widget import FoldLevelWidget, TraceWidget
from explorer.app.session.living import living_view
from explorer.app.session.session import Session
from explorer.errors import CircuitError
from explorer.views import PictureKey, add_looks, empty_recording
from explorer_widgets.jupyter import BarsWidget
from explorer_widgets.page import RECORDED_MODES
from explorer_widgets.schema import EmbeddedView, GraphOptions, RecordingView

VIEW_MIME = "application/vnd.circuit-explorer.view+json"
"""An `EmbeddedView`, in place of the widget."""
RECORDINGS_MIME = "application/vnd.circuit-explorer.recordings+json"
"""The recordings of all displayed traces, in the order of their numbers."""


def _leave_to_bundle(widget: object) -> None:
    """Do not display a widget; IPython continues with its bundle."""
    raise NotImplementedError


class PictureRecorder:
    """Collects the displayed pictures of each trace and draws them at the end, once per trace."""

    def __init__(self) -> None:
        self._keys: list[tuple[Any, ...]] = []
        self._sessions: list[Session] = []
        """The first session of each trace, from which its pictures are drawn."""
        self._looks: list[dict[PictureKey, None]] = []
        self._believing: set[int] = set()
        """The numbers of the recordings with what layers believe."""

    def begin(self) -> None:
        """Display every widget as its text and an `EmbeddedView` from now on."""
        shell = get_ipython()
        if shell is None:
            raise CircuitError("pictures are recorded in a Jupyter kernel: begin() was called outside of one")
        display: Any = shell.display_formatter
        views: dict[type, Callable[[Any], EmbeddedView]] = {
            TraceWidget: self.graph,
            FoldLevelWidget: self.fold_level,
            AskWidget: self.question,
            BarsWidget: lambda widget: {"kind": "bars", "bars": widget.view},
        }
        for kind, view in views.items():
            display.ipython_display_formatter.for_type(kind, _leave_to_bundle)
            display.mimebundle_formatter.for_type(kind, self._with_view(view))

    def end(self) -> None:
        """Display the recordings."""
        publish_display_data({RECORDINGS_MIME: self.recordings()})

    def _with_view(self, view: Callable[[Any], EmbeddedView]) -> Callable[..., Any]:
        return lambda widget, include=None, exclude=None: ({"text/plain": str(widget), VIEW_MIME: view(widget)}, {})

    # ------------------------------------------------------------------ views

    def graph(self, widget: TraceWidget) -> EmbeddedView:
        """Return a graph with a stepper, in every mode, with its current colouring and grouping."""
        session, look = widget.session, widget.session.look
        steps = [step.index for step in widget.trace.steps]
        number = self._number(session, [(i, m, look.colour_by, look.group_by) for i in steps for m in RECORDED_MODES])
        believes = session.state.closer.beliefs
        if believes:
            self._believing.add(number)
        options: GraphOptions = {**_options_of(widget), "living": believes}
        return embedded_graph(session, options, str(widget.details), number)

    def fold_level(self, widget: FoldLevelWidget) -> EmbeddedView:
        """Return a graph with the fold level of each step below it."""
        return {**self.graph(widget.graph), "tables": fold_tables(widget.session)}

    def question(self, widget: AskWidget) -> EmbeddedView:
        """Return a question on its picture, and the one step that answers it."""
        asking, revealing = widget.asked["asking"], widget.asked["revealing"]
        looks: list[PictureKey] = [(asking["step"], asking["mode"], asking["colour_by"], asking["group_by"])]
        for mode in RECORDED_MODES:
            looks.append((revealing["step"], mode, revealing["colour_by"], revealing["group_by"]))
        own: GraphOptions = {**_options_of(widget), "actions": False, "living": False}
        return {
            "kind": "question",
            "options": {**own, **question_options(widget.asked, False)},
            "revealed_options": {**own, **question_options(widget.asked, True)},
            "recording": self._number(widget.session, looks),
            "start": asking,
            "question": widget.asked,
        }

    # ------------------------------------------------------------------ recordings

    def _number(self, session: Session, looks: list[PictureKey]) -> int:
        """Return the number of the recording that contains these pictures of a trace."""
        key = (session.opened.trace, session.look.near_misses, session.findings.layer_times)
        if key not in self._keys:
            self._keys.append(key)
            self._sessions.append(session)
            self._looks.append({})
        number = self._keys.index(key)
        self._looks[number] |= dict.fromkeys(looks)
        return number

    def recordings(self) -> list[RecordingView]:
        """Draw all displayed pictures."""
        recordings: list[RecordingView] = []
        for (_, near_misses, layer_times), session, looks in zip(self._keys, self._sessions, self._looks, strict=True):
            recorded = empty_recording(session.index, session.opened.name, session.steps())
            full = session.full_ms
            add_looks(recorded, session.index, looks, near_misses=near_misses, layer_times=layer_times, full_ms=full)
            if len(recordings) in self._believing:
                recorded["living"] = living_view(session.index, epochs=True)
            recordings.append(recorded)
        return recordings


def _options_of(widget: TraceWidget) -> GraphOptions:
    """The options with their type, which a trait does not have."""
    return cast(GraphOptions, dict(widget.options))
