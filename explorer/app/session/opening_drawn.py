"""Opens what a link names, and draws the views that its page shows first."""

from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.session import Session
from explorer.app.session.view_state import ViewState
from explorer.trace import Listener


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
