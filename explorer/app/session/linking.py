"""Synchronizes a session and a drawing: actions in the drawing change the session, and its changes are drawn."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from explorer.app.session.close_up import add_parameters, run_values
from explorer.app.session.living import living_view, no_life
from explorer.app.session.session import Session
from explorer.app.session.view_state import check_closer, check_look
from explorer.views import SHOW_ALL, SHOW_MISSES, WHAT_IF, no_values
from explorer_widgets.schema import DetailsView, LivingView, PictureView, StepView, ValuesView

UserChangeCallback = Callable[[Mapping[str, Any]], None]
Guard = Callable[[UserChangeCallback], UserChangeCallback]


PARAMETERS = "parameters"
"""The part of the close-up with values that are sent when it is shown."""
LOOK = ("mode", "colour_by", "group_by", "slides")
"""The keys of a drawing's view that belong to the display of a session."""
CLOSER = ("hull", "closeup")
"""The keys of a close look, in addition to the match number and to whether beliefs are shown."""

OBSERVED = "observed"
"""The request that says which values the reader has observed: an entry for each variable, as a JSON list."""


class GraphHost(Protocol):
    """The common interface of `explorer_widgets.jupyter.GraphWidget` and `explorer_widgets.dashboard.GraphPane`."""

    def show_picture(self, picture: PictureView, coordinates: bytes) -> None: ...
    def show_steps(self, steps: Sequence[StepView], step: int) -> None: ...
    def show_details(self, details: DetailsView | None) -> None: ...
    def show_values(self, values: ValuesView | None) -> None: ...
    def show_living(self, living: LivingView | None) -> None: ...
    def show_state(self, step: int, selection: Sequence[str], view: Mapping[str, Any]) -> None: ...
    def on_user_change(self, callback: UserChangeCallback) -> None: ...


class GraphLink:
    """Keeps a drawing and a session synchronized. `requests` maps the names of buttons to their handlers.

    `guard` wraps the handlers of the reader's actions, so that a host can show their errors.
    """

    def __init__(
        self,
        session: Session,
        host: GraphHost,
        requests: Mapping[str, Callable[[], None]] | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.session = session
        self.host = host
        self.requests = dict(requests or {})
        self.painted: tuple[float, ...] = ()
        """The input that the reader has painted or written."""
        self._clicked: tuple[int, ...] = ()
        """The layers of the last view: a browser may send it before the selection that they are in."""
        self.slice = 0
        """The slice whose parameters the close-up shows."""
        self.close = session.listen(self._on_session)
        host.on_user_change(self._on_user_change if guard is None else guard(self._on_user_change))
        self._draw(frozenset(("trace", "step", "selection", "look")))

    # ------------------------------------------------------------------ reader -> session

    def _on_user_change(self, changes: Mapping[str, Any]) -> None:
        """Handle a change of `step`, `selection`, `view` or `request`; an echo of the session changes nothing."""
        if "view" in changes or "step" in changes:
            self._move(changes)
        if "selection" in changes or "view" in changes:
            boxes = changes.get("selection", self.session.selection)
            if "view" in changes:
                self._clicked = tuple(int(layer) for layer in changes["view"].get("layers") or ())
            self.session.select([str(box) for box in boxes], self._clicked)
        if "request" in changes:
            self._answer(str(dict(changes["request"]).get("name", "")))

    def _move(self, changes: Mapping[str, Any]) -> None:
        """Change the display and the step; both together if both change, so that nothing is drawn in between."""
        session = self.session
        view = changes.get("view", {})
        if "view" in changes:
            self.painted = tuple(map(float, view.get("painted") or ()))
        found = {name: view[name] for name in LOOK if isinstance(view.get(name), str)}
        look = replace(session.look, **found)
        closer = session.state.closer
        if "view" in changes:
            named = {name: view[name] for name in CLOSER if isinstance(view.get(name), str)}
            beliefs = view.get("beliefs") is True
            closer = replace(closer, **named, match=int(view.get("match") or 0), beliefs=beliefs)
            check_closer(closer)
        part, turned = session.state.closer.closeup, self.slice != int(view.get("slice") or 0)
        self.slice = int(view.get("slice") or 0) if "view" in changes else self.slice
        step = max(0, min(int(changes.get("step", session.step)), len(session.opened.trace.steps) - 1))
        if look != session.look and step != session.step:
            check_look(look)
            session.show(replace(session.state, step=step, look=look, closer=closer))
        else:
            session.change_look(closer, **found)
            session.go(step)
        if "view" in changes and turned and part == session.state.closer.closeup == PARAMETERS:
            self.host.show_details(self._details())

    def _details(self) -> DetailsView | None:
        session = self.session
        found = session.details()
        if found is None:
            return session.step_details()
        if session.state.closer.closeup != PARAMETERS:
            return found
        nodes, before = session.boxes[found["id"]], session.look.mode == "before"
        return add_parameters(session.index, session.step, nodes, self.slice, found, before=before)

    def _answer(self, name: str) -> None:
        if name in self.requests:
            self.requests[name]()
        elif name.startswith(SHOW_MISSES):
            self.session.change_look(near_misses=name.removeprefix(SHOW_MISSES))
        elif name.startswith(WHAT_IF):
            self.session.answer_what_if(name.removeprefix(WHAT_IF))
        elif name == SHOW_ALL:
            self.session.change_look(group_by="none", everything=True)
        elif name == "values":
            self._run_values()
        elif name.startswith(f"{OBSERVED} "):
            self.session.observe(json.loads(name.removeprefix(OBSERVED)))
        elif name == "living":
            self._send_weights()

    def _send_weights(self) -> None:
        try:
            opened = self.session.opened
            found = living_view(self.session.index, epochs=True, kept=opened.epochs, name=opened.name)
            self.host.show_living(found)
        except Exception as error:
            self.host.show_living(no_life(f"The weights cannot be sent: {error}"))  # the page waits for an answer
            raise

    def _run_values(self) -> None:
        try:
            self.session.show_values(run_values(self.session.index, self.painted, paints=True))
        except Exception as error:
            missing = f"The inputs could not be run: {error}"
            self.session.show_values(no_values(missing, can_run=True))  # the page waits for an answer
            raise

    # ------------------------------------------------------------------ session -> drawing

    def _on_session(self, names: frozenset[str]) -> None:
        """Draw what has changed; the camera was one for the trace before."""
        self._draw(names, {"zoom": None} if "trace" in names else {})

    def _draw(self, names: frozenset[str], more: Mapping[str, Any] = MappingProxyType({})) -> None:
        session, host = self.session, self.host
        if names & {"trace", "checks", "times"}:
            host.show_steps(session.steps(), session.step)
        if names & {"trace", "step", "look", "times", "trial", "answer"}:
            found = session.picture()
            host.show_picture(found.view, found.coordinates.astype("<f4").tobytes())
        if names & {"trace", "step", "look", "selection", "closer"}:
            look, closer = session.look, session.state.closer
            view: dict[str, Any] = {name: getattr(look, name) for name in LOOK}
            view |= {name: getattr(closer, name) for name in (*CLOSER, "match", "beliefs")}
            view |= more
            self._clicked, view["layers"] = session.layers, list(session.layers)
            host.show_state(session.step, session.selection, view)
        if names & {"trace", "step", "look", "selection", "times", "checks", "closer"}:
            host.show_details(self._details())
        if names & {"trace", "values"}:
            host.show_values(session.values)
        if "trace" in names:
            host.show_living(None)
