"""The server listens on this machine only by default, and a port in use is an error."""

import asyncio
import io
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from explorer.app.dashboard.gate import (
    END,
    EXPECTED_MESSAGE,
    FILTER,
    LOGGERS,
    MAX_LOGGED_CALLS,
    MAX_LOGGED_CHARS,
    RELOAD,
    EarlyHeadHandler,
    limit_logs,
)
from explorer.app.dashboard.serving import ServeOptions, add_handlers
from explorer.app.ports import LOCAL, check_port, free_port, public_address
from explorer.app.session.library import Library
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError, ValueRangeError
from tests.serving import running


def test_the_server_is_bound_to_this_machine() -> None:
    port = free_port()
    with running(ServeOptions(ViewState(), port, show=False)):
        with socket.create_connection((LOCAL, port)):
            pass
        with socket.socket() as other, pytest.raises(ConnectionRefusedError):
            other.connect(("127.0.0.2", port))
    assert ServeOptions(ViewState(), 5099).origins == ("127.0.0.1:5099", "localhost:5099")


def test_further_names_are_those_of_the_address_and_of_the_command_line() -> None:
    origins = ServeOptions(ViewState(), 5099, "192.0.2.7", hosts=("Explorer.example", "proxy.example:8443")).origins
    assert origins[:3] == ("192.0.2.7:5099", "127.0.0.1:5099", "localhost:5099")
    assert origins[-3:] == ("explorer.example:5099", "explorer.example:80", "proxy.example:8443")
    every = ServeOptions(ViewState(), 5099, "0.0.0.0").origins
    assert f"{public_address('0.0.0.0')}:5099" in every
    assert all("*" not in origin for origin in every)


@pytest.mark.parametrize(
    "name", ["*", "*.example", "http://explorer.example", "a b", "", "a:b", "a:1:2", "x/y", "a:\u0668\u0660"]
)
def test_a_name_that_is_a_pattern_or_an_address_of_a_page_is_an_error(name: str) -> None:
    with pytest.raises(CircuitError, match=r"--host expects NAME or NAME:PORT, such as explorer\.example; found"):
        ServeOptions(ViewState(), 5099, hosts=(name,)).origins  # noqa: B018


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_number_that_is_not_a_port_is_an_error(port: int) -> None:
    with pytest.raises(ValueRangeError, match="--host must name a port from 1 to 65535; found"):
        ServeOptions(ViewState(), 5099, hosts=(f"explorer.example:{port}",)).origins  # noqa: B018
    with pytest.raises(ValueRangeError, match=f"--port must name a port from 1 to 65535; found {port}"):
        check_port(LOCAL, port)


def test_the_largest_port_and_one_with_zeros_before_it_are_ports() -> None:
    hosts = ("explorer.example:65535", "explorer.example:0080")
    assert ServeOptions(ViewState(), 5099, hosts=hosts).origins[2:] == ("explorer.example:65535", "explorer.example:80")


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
    from bokeh.server.server import BaseServer

    opened: list[str] = []
    monkeypatch.setattr(BaseServer, "show", lambda self, path: opened.append(path))
    for state, show in ((ViewState(), True), (None, True), (None, False)):
        with running(ServeOptions(state, free_port(), show=show)):
            pass
    assert opened == ["/?circuit=digits", "/"]


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


NAMES = ("asyncio", "bokeh.server.views.ws", "panel.reactive", "panel.no_such_yet", "tornado.application", "bokeh.new")
"""Names of loggers below those with the handlers."""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Yield the output of further handlers of the loggers, below which others log."""
    for name in NAMES:  # other packages, such as distributed, let some keep to themselves
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    own = [logger for logger in map(logging.getLogger, LOGGERS) if not (logger.name != "root" and logger.propagate)]
    for logger in own:
        logger.addHandler(handler)
    limit_logs()
    yield text
    for logger in own:
        logger.removeHandler(handler)
    for logger in map(logging.getLogger, LOGGERS):
        for limited in logger.handlers:
            limited.removeFilter(FILTER)
    if logging.lastResort is not None:
        logging.lastResort.removeFilter(FILTER)


@pytest.mark.parametrize("name", NAMES)
def test_a_tab_that_closes_while_it_loads_is_not_an_error(name: str, written: io.StringIO) -> None:
    from tornado.websocket import WebSocketClosedError

    logger = logging.getLogger(name)
    logger.error("Task exception was never retrieved", exc_info=WebSocketClosedError())
    logger.error(EXPECTED_MESSAGE)
    assert written.getvalue() == ""
    logger.error("Task exception was never retrieved", exc_info=ValueError("another error"))
    assert written.getvalue().endswith("ValueError: another error\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_log_has_little_of_a_message_and_no_line_of_it(name: str, written: io.StringIO) -> None:
    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError("no text")

    hostile = "\x1b[31m\r\n2026 INFO forged\u202e\u2028" + "x" * 2_000_000
    logger = logging.getLogger(name)
    logger.error("cannot read %s", hostile, exc_info=ValueError(hostile))
    logger.error(hostile)
    logger.error("%d and %d", "one")
    logger.error("%r", Silent())
    lines = written.getvalue().splitlines()
    assert len(lines) == 6
    assert max(map(len, lines)) < 2 * MAX_LOGGED_CHARS
    assert all(line.isprintable() for line in lines)
    assert lines[0].startswith(r"cannot read \x1b[31m\r\n2026 INFO forged\u202e\u2028xxx")
    assert lines[-2:] == ["a text that cannot be shown: TypeError", "a text that cannot be shown: RuntimeError"]


def test_a_logger_that_keeps_to_itself_is_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    text, logger = io.StringIO(), logging.getLogger("tornado.application")
    handler = logging.StreamHandler(text)
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "handlers", [handler])
    limit_logs()
    logger.error("x" * 1000)
    assert len(text.getvalue()) < 2 * MAX_LOGGED_CHARS


def test_logs_of_the_explorer_are_whole(written: io.StringIO) -> None:
    logging.getLogger("explorer").error("a report\n" + "x" * 1000)
    assert written.getvalue() == "a report\n" + "x" * 1000 + "\n"


def test_messages_of_strangers_are_logged_in_part() -> None:
    class Deep:
        def __init__(self) -> None:
            self.depth = 0

        def recurse(self, text: str) -> None:
            self.depth += 1
            if self.depth > 100:
                raise ValueError(text)
            self.again(text)

        def again(self, text: str) -> None:
            self.recurse(text)

    def logged(error: Exception, words: str, *arguments: object) -> str:
        raised = (type(error), error, error.__traceback__)
        record = logging.LogRecord("bokeh", logging.ERROR, "", 0, words, arguments, raised)
        assert FILTER.filter(record)
        return logging.Formatter().format(record)

    fragment = "[{" + "x" * 2_000_000
    with pytest.raises(ValueError, match="xxx") as caught:
        Deep().recurse(fragment)
    lines = logged(caught.value, "cannot read %r: %r", fragment, caught.value).splitlines()
    assert len(lines) < 5 * MAX_LOGGED_CALLS
    assert max(map(len, lines)) < 500
    assert lines[0].startswith("cannot read '[{xxx")
    assert any("in recurse" in line for line in lines)
    assert lines[-1].startswith("ValueError: [{xxx")
    short = logged(KeyError("step"), "cannot read %r", "[1]")
    assert short.splitlines() == ["cannot read '[1]'", "Traceback (most recent call last):", "KeyError: 'step'"]
