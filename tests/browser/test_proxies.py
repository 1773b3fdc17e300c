"""The dashboard behind a reverse proxy that serves it under a path, with its websocket."""

import asyncio
from collections.abc import Iterator
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("bokeh", reason="needs bokeh: pip install 'circuit-explorer[ui]'")

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketHandler, websocket_connect

from tests.browser.conftest import Dashboard, Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

PATH = "/tools/explorer/"


class Forward(WebSocketHandler):
    """Forwards what is below `PATH` to the top of another server; names in paths arrive there unescaped."""

    def initialize(self, target: str) -> None:
        self._target = target

    async def get(self, rest: str) -> None:
        if "Upgrade" in self.request.headers:
            await super().get(rest)
            return
        client = AsyncHTTPClient()
        answer = await client.fetch(self._address(rest), headers={"Host": self.request.host}, raise_error=False)
        self.set_status(answer.code)
        for name in ("Content-Type", "Content-Security-Policy"):
            self.set_header(name, answer.headers.get(name, ""))
        await self.finish(answer.body)

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        self._offered = subprotocols
        return subprotocols[0]

    async def open(self, rest: str) -> None:
        headers = {name: self.request.headers[name] for name in ("Host", "Origin")}
        request = HTTPRequest(self._address(rest).replace("http", "ws", 1), headers=headers)
        self._other = asyncio.ensure_future(
            websocket_connect(request, subprotocols=self._offered, on_message_callback=self._answer)
        )

    def on_close(self) -> None:
        if self._other.done() and not self._other.exception():
            self._other.result().close()

    async def on_message(self, message: str | bytes) -> None:
        await (await self._other).write_message(message, isinstance(message, bytes))

    def _answer(self, message: Any) -> None:
        if message is not None:
            self.write_message(message, isinstance(message, bytes))

    def _address(self, rest: str) -> str:
        return f"{self._target}{rest}?{self.request.query}"


@pytest.fixture
def proxied(server: Server) -> Iterator[str]:
    """The address of the dashboard at the proxy."""
    (socket,) = bind_sockets(0, "127.0.0.1")
    loops: list[IOLoop] = []

    async def run() -> None:
        loops.append(IOLoop.current())
        HTTPServer(Application([(f"{PATH}(.*)", Forward, {"target": server.url})])).add_socket(socket)
        await stopped.wait()

    stopped = asyncio.Event()
    thread = Thread(target=lambda: asyncio.run(run()))
    thread.start()
    yield f"http://127.0.0.1:{socket.getsockname()[1]}{PATH}"
    loops[0].add_callback(stopped.set)
    thread.join()


def test_the_dashboard_works_under_a_path(page: "Page", proxied: str) -> None:
    dashboard = Dashboard(page)
    dashboard.load(f"{proxied}?circuit=conflict")
    page.locator(".ce-frame[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    dashboard.wait_for_step(3)
    assert page.url.startswith(f"{proxied}?circuit=conflict&step=3")
