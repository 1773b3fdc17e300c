"""The server listens on this machine only by default, and a port in use is an error."""

import asyncio
import logging
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import MagicMock

import pytest

from explorer.app.dashboard.closed_tabs import EXPECTED_MESSAGE, FILTER, LOGGERS, ignore_closed_tabs
from explorer.app.dashboard.early_head import END, RELOAD, EarlyHeadHandler
from explorer.app.dashboard.serving import ServeOptions, add_handlers, serve
from explorer.app.ports import LOCAL, check_port, free_port
from explorer.app.session.library import Library
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError


def serve_options(monkeypatch: pytest.MonkeyPatch, options: ServeOptions) -> dict[str, Any]:
    """The arguments of Panel's server."""
    import panel.io.server as server_module

    served: dict[str, Any] = {}
    server = MagicMock()

    def pretend(pages: Any, **settings: Any) -> MagicMock:
        served.update(settings, pages=pages)
        return server

    monkeypatch.setattr(server_module, "get_server", pretend)
    serve(options)
    served["opened"] = [call.args[1] for call in server.io_loop.add_callback.call_args_list]
    server.io_loop.start.assert_called_once()
    return served


def test_the_server_is_bound_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve_options(monkeypatch, ServeOptions(ViewState(), 5099, show=False))
    assert served["address"] == "127.0.0.1"
    assert served["websocket_origin"] == ["127.0.0.1:5099", "localhost:5099"]
    assert list(served["pages"]) == ["/"]


def test_a_different_address_is_used_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve_options(monkeypatch, ServeOptions(ViewState(), 5099, address="192.0.2.7", show=False))
    assert served["address"] == "192.0.2.7"
    assert served["websocket_origin"][:3] == ["192.0.2.7:5099", "127.0.0.1:5099", "localhost:5099"]
    assert all(origin.endswith(":5099") and "*" not in origin for origin in served["websocket_origin"])


def test_a_port_in_use_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind((LOCAL, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CircuitError, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            check_port(LOCAL, port)
    check_port(LOCAL, port)


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(CircuitError, match=r"cannot listen on 192\.0\.2\.7:5099"):
        check_port("192.0.2.7", 5099)


def test_a_free_port_can_be_listened_on() -> None:
    check_port(LOCAL, free_port())


def test_the_address_of_the_page_names_the_place() -> None:
    assert ServeOptions(ViewState(step=3), 5006).url == "http://127.0.0.1:5006/?circuit=digits&step=3"
    assert ServeOptions(None, 5006).url == "http://127.0.0.1:5006/"


def test_the_browser_opens_what_was_named_or_else_the_front_page(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [serve_options(monkeypatch, ServeOptions(state, 5099))["opened"] for state in (ViewState(), None)]
    assert opened == [["/?circuit=digits"], ["/"]]
    assert serve_options(monkeypatch, ServeOptions(None, 5099, show=False))["opened"] == []


QUERIES = ("", "", "&theme=dark", "", "&theme=dark", "&other=yes", "&fails=yes")
"""The last but one gets another head than was sent; the session of the last cannot be made."""


def test_the_head_of_the_last_page_is_sent_before_the_session_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import panel as pn
    from panel.io.server import DocHandler, get_server
    from tornado.httpclient import AsyncHTTPClient

    happened: list[str] = []
    heads: dict[str, str] = {}
    flush = EarlyHeadHandler.flush

    def flush_and_note(handler: EarlyHeadHandler, **more: Any) -> Any:
        happened.append("sent")
        heads.clear()
        heads.update(handler.heads)
        if handler.get_argument("other", ""):
            handler.sent = "<html><head>an extension was loaded since"
        return flush(handler, **more)

    monkeypatch.setattr(EarlyHeadHandler, "flush", flush_and_note)
    get_session: Any = DocHandler.get_session

    def get_or_fail(handler: DocHandler) -> Any:
        if handler.get_argument("fails", ""):
            raise ValueError("no <luck>")
        return get_session(handler)

    monkeypatch.setattr(DocHandler, "get_session", get_or_fail)

    def make() -> Any:
        happened.append("made")
        return pn.pane.HTML("page")

    async def ask() -> list[str]:
        port = free_port()
        server = get_server({"/": make}, port=port, address=LOCAL)
        add_handlers(server, Library())
        server.start()
        pages: list[str] = []
        for query in QUERIES:
            response = await AsyncHTTPClient().fetch(f"http://{LOCAL}:{port}/?circuit=digits{query}")
            pages.append(response.body.decode())
        server.stop()
        return pages

    logged: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.getLogger("explorer"), "handle", logged.append)
    with ThreadPoolExecutor(1) as thread:  # the browser of other tests has an event loop in this thread
        *whole, other, failed = thread.submit(asyncio.run, ask()).result()
    assert happened[:5] == ["made", "sent", "sent", "made", "sent"]
    for page in whole:
        assert page.count(END) == 1
        assert page.rstrip().endswith("</html>")
    assert sorted(heads) == ["", "dark"]
    assert other.endswith(RELOAD)
    shown = failed.partition(END)[2]
    assert "This page could not be made." in shown
    assert "ValueError: no &lt;luck&gt;" in shown
    assert [str(record.exc_info and record.exc_info[1]) for record in logged] == ["no <luck>"]


def test_a_tab_that_closes_while_it_loads_is_not_an_error() -> None:
    from tornado.websocket import WebSocketClosedError

    def is_logged(name: str, words: str, error: Exception | None = None) -> bool:
        raised = None if error is None else (type(error), error, None)
        return bool(logging.getLogger(name).filter(logging.LogRecord(name, logging.ERROR, "", 0, words, None, raised)))

    ignore_closed_tabs()
    try:
        for name in LOGGERS:
            assert not is_logged(name, "Task exception was never retrieved", WebSocketClosedError())
            assert not is_logged(name, EXPECTED_MESSAGE)
            assert is_logged(name, "Task exception was never retrieved", ValueError("another error"))
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(FILTER)
