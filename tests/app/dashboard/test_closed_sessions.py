"""Nothing of a session stays when its page has closed, or was never opened: objects are counted."""

import asyncio
import gc
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakSet

import panel as pn
import pytest
from bokeh.client import pull_session
from bokeh.document import Document
from bokeh.models import Plot
from bokeh.server.contexts import ApplicationContext
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import generate_jwt_token, generate_session_id
from panel.io.server import get_server
from tornado.httpclient import AsyncHTTPClient
from tornado.websocket import WebSocketClosedError, websocket_connect

from explorer.app.dashboard import page as page_module
from explorer.app.dashboard.background import Cancelled
from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.dashboard.page import MAX_MODELS, LimitedReceiver, make_page
from explorer.app.ports import LOCAL, free_port
from explorer.app.session.library import Library
from explorer.app.session.session import Session
from tests.waiting import PATIENCE

pn.extension()

Visit = Callable[[str, ApplicationContext], Coroutine[Any, Any, None]]
KINDS = (Dashboard, Session, Document, WSHandler, LimitedReceiver, Plot)
"""The kinds of objects of a page, of its connection, and of what is sent to it."""


def present() -> list[int]:
    """The number of objects of each kind after a collection, which finds frozen objects too."""
    gc.unfreeze()
    gc.collect()
    found = Counter(map(type, gc.get_objects()))
    return [found[kind] for kind in KINDS]


def visit_and_leave(*visits: Visit) -> None:
    """Visit a server, wait until it has ended all sessions, and wait until nothing is left of them."""

    async def run() -> None:
        port = free_port()
        server = get_server(
            {"/": lambda: make_page(Library())},
            port=port,
            address=LOCAL,
            websocket_origin=[f"{LOCAL}:{port}"],
            check_unused_sessions_milliseconds=50,
            unused_session_lifetime_milliseconds=100,
        )
        server.start()
        application = server._tornado.applications["/"]
        try:
            for visit in visits:
                await visit(f"http://{LOCAL}:{port}/", application)
            while list(application.sessions):
                await asyncio.sleep(0.01)
            while any(now > then for now, then in zip(present(), before, strict=True)):
                await asyncio.sleep(0.01)
        finally:
            server.stop()

    before = present()
    with ThreadPoolExecutor(1) as thread:  # the browser of other tests has an event loop in this thread
        thread.submit(asyncio.run, asyncio.wait_for(run(), PATIENCE)).result()


@asynccontextmanager
async def connected(url: str, **arguments: str) -> AsyncIterator[None]:
    """Connect to the page, in one thread, as the client of Bokeh asks for."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as thread:
        session = await loop.run_in_executor(thread, partial(pull_session, url=url, arguments=arguments))
        try:
            yield
        finally:
            await loop.run_in_executor(thread, session.close)


async def get_only(url: str, application: ApplicationContext) -> None:
    """Ask for the page, and never connect."""
    await AsyncHTTPClient().fetch(url)


async def connect(url: str, application: ApplicationContext) -> None:
    """Connect, and close the page."""
    async with connected(url):
        pass


async def close_while_measuring(url: str, application: ApplicationContext) -> None:
    """Close the page while the times of all steps are measured."""

    async def start() -> None:
        gc.unfreeze()
        made = next(one for one in gc.get_objects() if type(one) is Dashboard and one not in known)
        made.workspace.measuring.start_everything()

    known = WeakSet(one for one in gc.get_objects() if type(one) is Dashboard)
    async with connected(url):
        (served,) = application.sessions
        await served.with_document_locked(start)
        del served


def message(*events: object, **header: object) -> list[str]:
    """The fragments of a message that changes the page."""
    start = {"msgid": "1", "msgtype": "PATCH-DOC", **header}
    return [json.dumps(part) for part in (start, {}, {"events": events})]


def plots(count: int) -> list[dict[str, Any]]:
    """Events that make models."""
    models = ({"type": "object", "name": "Plot", "id": f"plot-{i}", "attributes": {}} for i in range(count))
    return [{"kind": "MessageSent", "msg_type": "x", "msg_data": model} for model in models]


async def attack(url: str, application: ApplicationContext) -> None:
    """Send messages that make models, refused, invalid, and never complete; leave without a word."""
    begun = [*message(num_buffers=2), '{"id":"x"}', bytes(2**20)]
    unknown = message({"kind": "ModelChanged", "model": {"id": "none"}, "attr": "step", "new": 1})
    for fragments in (message(*plots(MAX_MODELS)), message(*plots(1000)), ["[" * 100_000], unknown, begun):
        token = generate_jwt_token(generate_session_id())
        socket = await websocket_connect(url.replace("http", "ws") + "ws", subprotocols=["bokeh", token])
        await socket.read_message()
        with suppress(WebSocketClosedError):
            for fragment in fragments:
                await socket.write_message(fragment, binary=isinstance(fragment, bytes))
        socket.close()
        while await socket.read_message() is not None:
            pass


def test_sessions_leave_no_objects() -> None:
    visit_and_leave(get_only, get_only, connect, connect, close_while_measuring, attack)


def test_a_page_that_closes_while_its_circuit_is_opened_cancels_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    started, cancelled = threading.Event(), threading.Event()

    def open_slowly(library: Library, state: object, on_event: Callable[[object], None]) -> None:
        started.set()
        try:
            while True:
                on_event(None)
                threading.Event().wait(0.01)
        except Cancelled:
            cancelled.set()
            raise

    async def close_while_opening(url: str, application: ApplicationContext) -> None:
        async with connected(url, circuit="hmm"):
            await asyncio.to_thread(started.wait, PATIENCE)

    monkeypatch.setattr(page_module, "open_drawn", open_slowly)
    monkeypatch.setattr(type(pn.state), "onload", lambda state, start: start())
    visit_and_leave(close_while_opening)
    assert cancelled.wait(PATIENCE)
