"""The dashboard: one page over one session, and limits on what its messages may hold.

Each browser session gets its own page, session and uploads; they share nothing but the code.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import bokeh.io.doc
import bokeh.server.views.ws
import panel as pn
import panel_material_ui as pmui
from bokeh.core.serialization import Deserializer
from bokeh.document import Document
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Receiver
from panel.io.resources import LOCAL_DIST
from panel.util.parameters import edit_readonly

from explorer.app.dashboard.background import Background, Job, deliver
from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.dashboard.front_page import HEADER_STYLE, THEMES, TITLE, page_template
from explorer.app.dashboard.panes.tables import html_pane
from explorer.app.dashboard.workspace import Messages
from explorer.app.session.library import MAX_UPLOAD_BYTES, Library
from explorer.app.session.opening import Opened, read_link
from explorer.app.session.sending_ahead import open_drawn
from explorer.app.session.view_state import ViewState, trace_of
from explorer.errors import CircuitError
from explorer_widgets.dashboard import BrowserHost, GraphPane


def make_page(library: Library, default: ViewState | None = None) -> pmui.Page:
    """Make the page of one browser session, with the view state of its link.

    The default circuit is shown at once; anything else is opened in the background, with progress. An invalid link, or
    one that cannot be opened, is reported above the default circuit.
    """
    limit_messages()
    _serve_styles_from_here()
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


def _serve_styles_from_here() -> None:
    """Take Panel's styles from this server, also if the page connects after its session was discarded.

    Panel says so where it writes the page. A late page gets another session, whose styles would name Panel's CDN.
    """
    if (document := pn.state.curdoc) is not None:
        path = f"{pn.state.rel_path}/{LOCAL_DIST}" if pn.state.rel_path else LOCAL_DIST
        document.template_variables["dist_url"] = path


def _empty_page() -> pmui.Page:
    """Return a page that does not follow the busy state of Panel.

    Otherwise every action of a reader is sent to the pages of all readers, twice, and the state keeps closed pages.
    """
    known = _busy_watchers()
    page = pmui.Page(
        title=TITLE,
        site_url="./",  # relative: below the prefix of a server, or the path of a proxy
        theme_toggle=False,
        theme_config=THEMES,
        busy_indicator=None,
        sx=HEADER_STYLE,
        template=page_template((pmui.Page, GraphPane, BrowserHost)),
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


# ---------------------------------------------------------------------- limits on messages


MAX_MESSAGE_BYTES = MAX_UPLOAD_BYTES + MAX_UPLOAD_BYTES // 2
"""Maximum size of a message with all its buffers: a page may send all chunks of an upload in one."""
FRAGMENT_BYTES = 1024
"""Bytes that a fragment counts in addition to its content, so that many empty ones reach the limit too."""
MAX_MODELS = 16
"""Maximum number of new models in a message: Bokeh takes up to 20 ms for each. A button sends one with its event."""
MAX_NESTED = 2000
"""Maximum number of lists and mappings in a message: Bokeh takes 10 to 20 µs for each. A page sends up to about 100."""
MAX_VALUES = 250_000
"""Maximum number of values in them: Bokeh takes 1 µs for each. A painted input has two for each of 100,000 pixels."""
ACCEPTED = ("PATCH-DOC", "PULL-DOC-REQ", "SERVER-INFO-REQ")
"""The types of messages that a client sends, except PUSH-DOC: no page replaces its document."""
EVENTS = ("MessageSent", "ModelChanged")
"""The kinds of events that a page sends: it adds no roots, which would stay, and has no tables of columns."""
TYPES = ("bytes", "event", "map", "number", "object", "set")
"""The types of values that a page sends. Bokeh makes 800 MB of a short `ndarray` with an array as dtype."""


def limit_messages() -> None:
    """Refuse large messages and compressed bytes, as 1.5 MB unpack to more than 1 GB. Pages send bytes as is.

    A message that fails changes nothing for other pages.
    """
    bokeh.io.doc.patch_curdoc = patch_curdoc
    bokeh.server.views.ws.Receiver = LimitedReceiver  # pyright: ignore[reportPrivateImportUsage]
    if "bytes" not in Deserializer._decoders:
        Deserializer.register("bytes", _decode_bytes)


class LimitedReceiver(Receiver):
    """Receiver that counts what a message contains. Bokeh's own one keeps as many buffers as a header announces.

    Raises: ProtocolError for a message that is refused, and for all later ones; Bokeh logs it and disconnects.
    """

    _num_bytes = 0

    async def consume(self, fragment: str | bytes) -> Message[Any] | None:
        """Add a fragment; return the message that it completes."""
        self._num_bytes += len(fragment) + FRAGMENT_BYTES
        if self._num_bytes > MAX_MESSAGE_BYTES:
            raise self._refuse(f"a message has more than {MAX_MESSAGE_BYTES // 2**20} MiB")
        message = await super().consume(fragment)
        if message is not None:
            if message.msgtype not in ACCEPTED:
                raise self._refuse(f"messages of type {message.msgtype} are not accepted; send PATCH-DOC")
            problem = find_problem(message.content)
            if problem:
                raise self._refuse(f"a message has {problem}")
            self._num_bytes = 0
        return message

    def _refuse(self, reason: str) -> ProtocolError:
        self._partial, self._message, self._fragments = None, None, []
        self._num_bytes = MAX_MESSAGE_BYTES  # refuses all later ones
        return ProtocolError(reason)


@contextmanager
def patch_curdoc(doc: Document) -> Iterator[None]:
    """Set the current document; reset it also after an error.

    Bokeh's function does not: after a message that fails, its document would stay, as the current one of later pages.
    """
    patched = bokeh.io.doc._PATCHED_CURDOCS
    patched.append(weakref.ref(doc))
    try:
        yield
    finally:
        patched.pop()


def find_problem(content: Any) -> str:
    """Return what the content of a message has that no page sends, in words; empty if there is none."""
    events = content.get("events") if isinstance(content, dict) else None
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("kind") not in EVENTS:
            return f"an event that is none of {', '.join(EVENTS)}"
    waiting: list[list[Any] | dict[str, Any]] = [[content]]
    num_nested = num_values = num_models = 0
    while waiting:
        part = waiting.pop()
        num_nested += 1
        num_values += len(part)
        if isinstance(part, dict) and "type" in part:
            num_models += part["type"] == "object"
            if part["type"] not in TYPES:
                return f"a value whose type is none of {', '.join(TYPES)}"
            if not _has_string_keys(part):
                return "a map or set with keys that are not strings"
        if num_models > MAX_MODELS:
            return f"more than {MAX_MODELS} models"
        if num_nested > MAX_NESTED:
            return f"more than {MAX_NESTED:,} lists and mappings"
        if num_values > MAX_VALUES:
            return f"more than {MAX_VALUES:,} values"
        values = part.values() if isinstance(part, dict) else part
        waiting.extend(value for value in values if isinstance(value, (dict, list)))
    return ""


def _has_string_keys(part: dict[str, Any]) -> bool:
    """Return whether all keys are strings: thousands of numbers with one hash would take Python minutes."""
    entries = part.get("entries", [])
    if part["type"] not in ("map", "set") or not isinstance(entries, list):
        return True
    keys = entries if part["type"] == "set" else [one[0] if isinstance(one, list) and one else None for one in entries]
    return all(isinstance(key, str) for key in keys)


def _decode_bytes(sent: Any, deserializer: Deserializer) -> Any:
    if isinstance(sent["data"], str):
        deserializer.error("compressed bytes are not read; send a buffer")
    return deserializer._decode_bytes(sent)
