"""A page of another origin cannot frame, load or connect to the dashboard, and a link to it opens."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

TRY = """async (url) => {
  const loaded = (tag, path) => new Promise((resolve) => {
    const made = document.createElement(tag);
    made.onload = () => resolve("loaded");
    made.onerror = () => resolve("refused");
    made.src = url + path;
    document.body.append(made);
  });
  const opened = new Promise((resolve) => {
    const socket = new WebSocket(url.replace("http", "ws") + "ws", ["bokeh", "x"]);
    socket.onopen = () => resolve("loaded");
    socket.onerror = () => resolve("refused");
  });
  const read = fetch(url).then(() => "loaded", () => "refused");
  const scripts = ["autoload.js?bokeh-autoload-element=x", "static/js/bokeh.min.js"];
  return Promise.all([...scripts.map((path) => loaded("script", path)), loaded("img", "favicon.ico"), read, opened]);
}"""


class Foreign(BaseHTTPRequestHandler):
    """Serves a page with a frame of the address in its query, and a link to it."""

    def do_GET(self) -> None:
        """Answer with the page."""
        url = self.path.partition("?")[2]
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(
            f'<link rel="icon" href="data:,"><iframe src="{url}"></iframe><a href="{url}">open</a>'.encode()
        )

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def foreign() -> Iterator[str]:
    """The address of a server of foreign pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Foreign) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_foreign_page_can_only_link_to_the_dashboard(browser: "Browser", server: Server, foreign: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{foreign}?{server.url}")
    assert page.evaluate(TRY, server.url) == ["refused"] * 5
    assert page.frames[1].get_by_role("heading").count() == 0
    page.get_by_role("link", name="open").click()
    page.get_by_role("heading", name="Circuit Explorer").wait_for()
    context.close()
