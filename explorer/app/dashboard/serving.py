"""Serves the dashboard from this machine, by default on 127.0.0.1 only."""

import asyncio
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.app.ports import LOCAL, origins_of, own_names
from explorer.app.session.library import MAX_UPLOAD_BYTES, Item, Library
from explorer.app.session.view_state import ViewState, names_nothing

if TYPE_CHECKING:
    from panel.io.server import Server


@dataclass(frozen=True)
class ServeOptions:
    """Options of the server: its address, the first page, files beside the gallery; `hosts` are further names of it.

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
        """The circuits and traces that a new session can open."""
        return Library(self.folder, self.files, self.built)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self.address}:{self.port}{self.path}"

    @property
    def path(self) -> str:
        """The address of the page on the server."""
        return "/" if self.state is None else f"/?{self.state.query()}"

    @property
    def origins(self) -> tuple[str, ...]:
        """The names and ports from which pages may connect; other names are refused. Raises: CircuitError."""
        own = (f"{name}:{self.port}" for name in own_names(self.address))
        added = (origin for host in self.hosts for origin in origins_of(host, self.port))
        return tuple(dict.fromkeys((*own, *added)))


def serve(options: ServeOptions, announce: Callable[[], None]) -> None:
    """Serve until stopped; call `announce` once requests are answered. Call `explorer.app.ports.check_port` first.

    Raises: CircuitError for an invalid name in `hosts`.
    """
    from bokeh.util.warnings import BokehUserWarning

    # A page may name a model again that the server has; Bokeh uses the one it has, and nobody can do anything about it.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    server = make_server(options)
    server.io_loop.add_callback(announce)
    if options.show:
        server.io_loop.add_callback(server.show, options.path)
    server.start()
    try:
        server.io_loop.start()
    finally:
        server.stop()


def make_server(options: ServeOptions) -> "Server":
    """Make the server, behind its gate. Raises: CircuitError for an invalid name in `hosts`."""
    import panel as pn
    from panel.io.server import get_server

    from explorer.app.dashboard.front_page import TITLE
    from explorer.app.dashboard.gate import guard, limit_logs
    from explorer.app.dashboard.page import make_page

    pn.extension()
    limit_logs()
    server = get_server(
        {"/": lambda: make_page(options.library, options.state or ViewState())},
        title=TITLE,
        address=options.address,
        port=options.port,
        websocket_origin=list(options.origins),
        websocket_max_message_size=MAX_UPLOAD_BYTES // 10,  # uploads are divided into chunks of half of that
    )
    add_handlers(server, options.library)
    guard(server._tornado, "--host")
    return server


def add_handlers(server: "Server", library: Library) -> None:
    """Answer requests of `/` that name no view state by the front page; all others by the dashboard, its head first."""
    from tornado.routing import Matcher, PathMatches, Rule
    from tornado.web import RequestHandler

    from explorer.app.dashboard.front_page import front_page_html, load_cards
    from explorer.app.dashboard.gate import EarlyHeadHandler

    class WithoutState(Matcher):
        def match(self, request: Any) -> dict[str, Any] | None:
            return {} if request.path == "/" and names_nothing(request.query) else None

    class FrontPage(RequestHandler):
        def get(self) -> None:
            self.write(front_page_html(library, load_cards()))

    context = {"application_context": server._tornado.applications["/"], "bokeh_websocket_path": "/ws"}
    early: dict[str, Any] = {**context, "heads": {}, "turn": asyncio.Lock()}
    rules = [Rule(WithoutState(), FrontPage), Rule(PathMatches("/"), EarlyHeadHandler, early)]
    server._tornado.add_handlers(".*", rules)
