"""The address of the page: it names the view state, and Back and Forward return to earlier ones."""

from collections.abc import Callable
from dataclasses import replace

from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.view_state import ViewState, trace_of, view_state_of_query
from explorer.errors import CircuitError
from explorer_widgets.dashboard import BrowserHost


class Address:
    """The address of a reader's page. `deliver` runs an action after the present one; `show` shows view states.

    `show` receives the view state of the session, and that of the second session if it is to be shown too.
    """

    def __init__(
        self,
        workspace: Workspace,
        browser: BrowserHost,
        deliver: Callable[[Callable[[], None]], None],
        show: Callable[[ViewState, ViewState | None], None],
    ) -> None:
        self._workspace, self._browser, self._deliver, self._show = workspace, browser, deliver, show
        self._is_due = self._is_writing = False
        self._written, self._shown = "", workspace.session.state
        browser.param.watch(workspace.guard(lambda event: self._is_writing or self._on_address(event.new)), "address")

    def write(self) -> None:
        """Write the address, once for all changes of an action."""
        if not self._is_due:
            self._is_due = True
            self._deliver(self._write)

    def _write(self) -> None:
        """Add an entry to the history; replace one to which the browser went, if it could not be opened as it is.

        Until it is known whether the trace to compare with can be opened, nothing is written.
        """
        self._is_due = False
        state = self._workspace.session.state
        if state.other is not None and self._workspace.other is None:
            return
        replaces = self._browser.address != self._written or self._is_turning(state)
        self._written = f"?{state.query()}"
        self._shown = state
        self._is_writing = True
        self._browser.show_address(self._written, replaces=replaces)
        self._is_writing = False

    def _is_turning(self, state: ViewState) -> bool:
        """Whether only another match is shown in the lens, or another part of the close-up: Back goes past them."""
        before, after = self._shown.closer, state.closer
        return replace(self._shown, closer=after) == state and bool(before.hull) == bool(after.hull)

    def _on_address(self, address: str) -> None:
        """Open the view state of the address after Back or Forward."""
        workspace = self._workspace
        session, other = workspace.session, workspace.other
        if address == f"?{session.state.query()}":
            workspace.stop_opening()
            return
        try:
            state = view_state_of_query(address)
        except CircuitError:
            self.write()
            raise
        if trace_of(replace(state, other=None)) != trace_of(replace(session.state, other=None)):
            workspace.open(state)
            return
        workspace.stop_opening()
        shown = state.other
        keeps_other = other is not None and shown is not None and trace_of(shown) == trace_of(other.state)
        self._show(state, shown if keeps_other else None)
        if shown is None:
            workspace.show_other(None)
        elif not keeps_other:
            workspace.open_other(shown)
