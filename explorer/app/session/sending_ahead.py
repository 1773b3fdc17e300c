"""Pictures before a reader looks at them: the first views, and neighbouring steps, so that a key press is answered."""

import base64
from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.trace import Listener
from explorer.views import Picture
from explorer_widgets.encode import picture_traits

Cancel = Callable[[], None]
Later = Callable[[float, Callable[[], None]], Cancel]
"""Calls a function after some seconds, in the thread of the host, when nothing else is due there."""
Send = Callable[[Mapping[str, Any]], None]

IDLE_SECONDS, PAUSE_SECONDS = 0.25, 0.03
"""Rest of the reader before the first picture, and time between two: for what the reader does meanwhile."""
MAX_PICTURES = 8
MAX_CHARACTERS = 12_000_000
"""The pictures that a page keeps."""
REDRAWN = frozenset({"trace", "look", "times", "trial"})
"""The events after which the pictures of all steps may be different, or must not be known yet."""


class SendingAhead:
    """Sends pictures of steps near the current one while the reader rests; what the reader does cancels it.

    It starts when the page is there: a notebook that is out of sight sends nothing. The host always answers a change of
    the step, so a picture that was sent ahead is only shown earlier.
    """

    def __init__(self, session: Session, send: Send, later: Later) -> None:
        self.session = session
        self._send = send
        self._later = later
        self._cancel: Cancel = lambda: None
        self._sizes: dict[int, int] = {}
        """The characters of the pictures on the page, by step."""
        self._drawn: dict[int, int] = {}
        """The characters of all drawn pictures; one without room on the page is not drawn again at each rest."""
        self._has_started = False
        self._stop_listening = session.listen(self._on_change)

    def start(self) -> None:
        """The page is there."""
        self._has_started = True
        self._wait(IDLE_SECONDS)

    def close(self) -> None:
        """Send nothing more."""
        self._cancel()
        self._stop_listening()

    def _on_change(self, names: frozenset[str]) -> None:
        if names & REDRAWN:
            self._drawn = {}
            if self._sizes:
                self._sizes = {}
                self._send({"keep": []})
        if self._has_started and names & (REDRAWN | {"step", "selection"}):
            self._wait(IDLE_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._cancel()
        self._cancel = self._later(seconds, self._send_next)

    def _send_next(self) -> None:
        """Send the nearest picture that is missing; without one, the selections that the others would have."""
        self._cancel = lambda: None
        wanted = list(self._wanted())
        self._sizes = {step: self._sizes[step] for step in wanted if step in self._sizes}
        step = next((step for step in wanted if step not in self._sizes), None)
        found = None if step is None or not self._fits(self._drawn.get(step, 0)) else self._draw(step)
        if step is None or found is None or not self._fits(self._drawn[step]):
            self._send(self._message())
            return
        self._sizes[step] = self._drawn[step]
        self._send({**self._message(), "step": step, **found})
        self._wait(PAUSE_SECONDS)

    def _fits(self, characters: int) -> bool:
        return sum(self._sizes.values()) + characters <= MAX_CHARACTERS

    def _draw(self, step: int) -> dict[str, Any]:
        found = self._encode(self.session.picture_at(step))
        self._drawn[step] = len(found["picture"])
        return found

    def _encode(self, shown: Picture) -> dict[str, Any]:
        traits = picture_traits(shown.view, shown.coordinates.astype("<f4").tobytes())
        return {**traits, "coordinates": base64.b64encode(traits["coordinates"]).decode()}

    def _message(self) -> dict[str, Any]:
        """Return the parts that stay on the page, the display, and the selection that each step would have."""
        session, look = self.session, self.session.look
        return {
            "keep": list(self._sizes),
            "view": {"mode": look.mode, "colour_by": look.colour_by, "group_by": look.group_by},
            "from": list(session.selection),
            "selections": {str(step): list(session.selection_at(step)) for step in self._sizes},
        }

    def _wanted(self) -> Iterator[int]:
        """The current step and those near it, nearest first: at first those that changed something."""
        session = self.session
        steps, here = session.opened.trace.steps, session.step
        changing = [step.index for step in steps if step.index == 0 or step.changed or step.error is not None]
        near = [here, *_around(here, changing), here + 1, here - 1]
        possible = [step for step in dict.fromkeys(near) if 0 <= step < len(steps)]
        yield from possible[:MAX_PICTURES]


def _around(here: int, steps: list[int]) -> Iterator[int]:
    """Return steps by turns after and before one."""
    after, before = [step for step in steps if step > here], [step for step in reversed(steps) if step < here]
    for pair in zip_longest(after, before):
        yield from (step for step in pair if step is not None)


# ---------------------------------------------------------------------- the first views


def open_drawn(library: Library, state: ViewState, listener: Listener) -> Opened:
    """Open what a link names, as `open_state` does, and draw what its page shows first.

    Call it in the background: the views of a large trace take seconds, in which no page of the server would be
    answered. Afterwards the index of the trace has them.
    """

    def draw(opened: Opened) -> None:
        session = Session(opened, state)
        session.picture()
        session.steps()
        session.details()

    return open_state(library, state, listener, draw)
