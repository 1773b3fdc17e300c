"""The dashboard: one page over one session.

Each browser session gets its own page, session and uploads; they share nothing but the code.
"""

from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.util.parameters import edit_readonly

from explorer.app.dashboard.background import Background, Job
from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.dashboard.front_page import TITLE
from explorer.app.dashboard.incoming import limit_messages
from explorer.app.dashboard.panes.messages import Messages
from explorer.app.dashboard.panes.tables import html_pane
from explorer.app.dashboard.scheduling import deliver
from explorer.app.dashboard.theme import HEADER_STYLE, THEMES, page_template
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, read_link
from explorer.app.session.sending_ahead import open_drawn
from explorer.app.session.view_state import ViewState, trace_of
from explorer.errors import CircuitError
from explorer_widgets.dashboard import BrowserHost, GraphPane, StepsPane


def make_page(library: Library, default: ViewState | None = None) -> pmui.Page:
    """Make the page of one browser session, with the view state of its link.

    The default circuit is shown at once; anything else is opened in the background, with progress. An invalid link, or
    one that cannot be opened, is reported above the default circuit.
    """
    limit_messages()
    page = _empty_page()
    default = default or ViewState()
    query = pn.state.location.search if pn.state.location is not None else ""
    state, problem = read_link(query) if query else (default, "")
    if replace(trace_of(state), options=ViewState().options, other=None) == ViewState():
        start = "The link cannot be opened: " if query else ""
        _fill(page, library, (state, problem), (default, ""), (ViewState(), ""), start=start)
    else:
        _open_in_background(page, library, state, default, problem)
    return page


def _empty_page() -> pmui.Page:
    """Return a page that does not follow the busy state of Panel.

    Otherwise every action of a reader is sent to the pages of all readers, twice, and the state keeps closed pages.
    """
    known = _busy_watchers()
    page = pmui.Page(
        title=TITLE,
        site_url="./",  # relative: below the prefix of a server, or the path of a proxy
        theme_toggle=False,
        sidebar_width=270,
        sidebar_resizable=False,  # its handle works with the mouse only
        theme_config=THEMES,
        busy_indicator=None,
        sx=HEADER_STYLE,
        template=page_template((pmui.Page, GraphPane, StepsPane, BrowserHost)),
    )
    with edit_readonly(page):
        page.busy = False
    for watcher in _busy_watchers():
        if not any(watcher is one for one in known):
            pn.state.param.unwatch(watcher)
    return page


def _busy_watchers() -> tuple[Any, ...]:
    return tuple(pn.state.param.watchers.get("busy", {}).get("value", ()))


def _fill(page: pmui.Page, library: Library, *places: tuple[ViewState, str], start: str = "") -> None:
    """Fill a page with the first view state that can be opened; `start` names the problem shown above it."""
    problem = ""
    for state, known in places:
        try:
            dashboard = Dashboard(library, state, problem or known)
        except CircuitError as error:
            problem = problem or f"{start}{error}"
        else:
            _show(page, dashboard)
            return
    page.main = [pmui.Alert(html_pane(f'<p role="alert">{escape(problem)}</p>'), severity="error")]


def _show(page: pmui.Page, dashboard: Dashboard) -> None:
    dashboard.fill(page)
    document = pn.state.curdoc
    if document is None or document.session_context is None:
        dashboard.on_load()
    else:
        dashboard.browser.param.watch(lambda _: dashboard.on_load(), "ready")
        document.on_session_destroyed(lambda _: dashboard.close())


def _open_in_background(page: pmui.Page, library: Library, state: ViewState, default: ViewState, known: str) -> None:
    """Open a view state in the background; meanwhile the page shows its progress, with Cancel.

    `known` says what of the link could not be read.
    """
    fallback = default if default != state else ViewState()
    messages = Messages(cancel=lambda: background.cancel())
    document = pn.state.curdoc
    background = Background(partial(deliver, document), messages.show_job)
    if document is not None and document.session_context is not None:
        document.on_session_destroyed(lambda _: background.close())
    page.main = [pn.Column(messages.view, pmui.Skeleton(height=420, sizing_mode="stretch_width", margin=20))]

    def work(job: Job) -> Opened:
        return open_drawn(library, state, job.on_event)

    def fall_back(problem: str) -> None:
        _fill(page, library, (fallback, problem), (ViewState(), problem))

    def on_error(error: Exception) -> None:
        fall_back(f"The link cannot be opened: {error}")

    def start() -> None:
        background.start(
            f"Opening {state.circuit}",
            work,
            lambda opened: _show(page, Dashboard(library, state, known, opened)),
            on_error,
            on_cancel=lambda: fall_back(f"{state.circuit} was not opened: the job was cancelled."),
        )

    pn.state.onload(start)
