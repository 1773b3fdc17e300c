"""Serves the dashboard from this machine, by default on 127.0.0.1 only."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.app.ports import LOCAL
from explorer.app.session.library import MAX_UPLOAD_BYTES, Item, Library
from explorer.app.session.view_state import ViewState

if TYPE_CHECKING:
    from panel.io.server import Server


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, what to open first, what to offer with the gallery; `hosts` are further names of this machine.

    Without a `state` the front page is opened first.
    """

    state: ViewState | None
    port: int
    address: str = LOCAL
    show: bool = True
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    built: Mapping[str, Item] = field(default_factory=dict[str, Item])

    @property
    def library(self) -> Library:
        """What a new session can open."""
        return Library(self.folder, self.files, self.built)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.address}:{self.port}{self.path}"

    @property
    def path(self) -> str:
        """The address of the page on the server."""
        return "/" if self.state is None else f"/?{self.state.query()}"


def serve(options: ServeOptions) -> None:
    """Serve until stopped. Call `explorer.app.ports.check_port` first."""
    import panel as pn
    from panel.io.server import get_server

    from explorer.app.dashboard.closed_tabs import ignore_closed_tabs
    from explorer.app.dashboard.front_page import TITLE
    from explorer.app.dashboard.page import make_page

    pn.extension()
    ignore_closed_tabs()
    hosts = dict.fromkeys((options.address, LOCAL, "localhost", *options.hosts, *host_names(options.address)))
    server = get_server(
        {"/": lambda: make_page(options.library, options.state or ViewState())},
        title=TITLE,
        address=options.address,
        port=options.port,
        websocket_origin=[f"{host}:{options.port}" for host in hosts],
        websocket_max_message_size=2 * MAX_UPLOAD_BYTES,
    )
    add_handlers(server, options.library)
    if options.show:
        server.io_loop.add_callback(server.show, options.path)
    server.start()
    server.io_loop.start()


def add_handlers(server: "Server", library: Library) -> None:
    """Answer requests of `/` without a query by the front page; all others by the dashboard, its head first."""
    from tornado.routing import Matcher, PathMatches, Rule
    from tornado.web import RequestHandler

    from explorer.app.dashboard.cards import load_cards
    from explorer.app.dashboard.early_head import EarlyHeadHandler
    from explorer.app.dashboard.front_page import POLICY, front_page_html

    class WithoutQuery(Matcher):
        def match(self, request: Any) -> dict[str, Any] | None:
            return {} if request.path == "/" and not request.query else None

    class FrontPage(RequestHandler):
        def get(self) -> None:
            self.set_header("Content-Security-Policy", POLICY)
            self.write(front_page_html(library, load_cards()))

    context = {"application_context": server._tornado.applications["/"], "bokeh_websocket_path": "/ws"}
    early: dict[str, Any] = {**context, "heads": {}}
    rules = [Rule(WithoutQuery(), FrontPage), Rule(PathMatches("/"), EarlyHeadHandler, early)]
    server._tornado.add_handlers(".*", rules)


def host_names(address: str) -> tuple[str, ...]:
    """The names under which other machines may reach this one, if it does not listen locally only."""
    if address in (LOCAL, "localhost"):
        return ()
    name = socket.gethostname()
    try:
        return (name, socket.getfqdn(), *socket.gethostbyname_ex(name)[2])
    except OSError:
        return (name,)
