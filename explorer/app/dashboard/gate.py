"""The gate of the server: known routes only, under the names of the server, for its own pages and for links.

Panel and Bokeh register more routes than the page needs. One of them imports the module that an address names. Tornado
does not compare the Host header with anything, so a foreign name that resolves to this machine would be answered.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import bokeh.util.token
from bokeh.protocol.exceptions import ProtocolError
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import match_host
from bokeh.settings import settings
from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher, Rule
from tornado.web import OutputTransform, RequestHandler

from explorer_widgets import dashboard as drawings

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
"""Names that are always answered, at any port, which a tunnel may change: no other machine can use them."""
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'self'"
)
"""Pages load nothing from other servers, send nothing to them, and are not shown inside of their pages.

Panel's templates have scripts in the page, compile functions, and import modules from blobs.
"""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
COMPONENTS = tuple(
    kind for kind in vars(drawings).values() if isinstance(kind, type) and kind.__module__ == drawings.__name__
)
"""The components whose modules Panel's handler of components serves; those of other packages are static files."""
STATIC = r"/static/(?:js|extensions/panel|extensions/panel-material-ui)/(?:[\w.@/-]|%5E)+"
"""Paths of static files; one name of a folder of Panel has a `^`, and no other character is escaped."""
MAX_SHOWN_CHARS = 100
MAX_BODY_BYTES = 2**16
"""Maximum size of the body of a request: pages send none. Tornado would keep 100 MB, also of a foreign page's."""

MAX_TOKEN_BYTES = 2**18
"""Maximum size of the unpacked content of a session token: headers, cookies and arguments, of up to 64 KiB in all.

Anyone may write a token, since it is not signed. Bokeh unpacks it before it knows the page: 31 kB to 18 MB.
"""


def guard(application: BokehTornado, option: str) -> None:
    """Put the gate in front of all routes of a server, and its headers on all answers.

    `option` is the option of the command line that adds a name.
    """
    refused = Refused(known_routes(application), application.websocket_origins, option)
    application.default_router.rules.insert(0, Rule(refused, Refusal))
    application.add_transform(SafeHeaders)
    limited = SimpleNamespace(compress=zlib.compress, decompress=unpack_token)
    bokeh.util.token.zlib = limited  # pyright: ignore[reportAttributeAccessIssue, reportPrivateImportUsage]


def unpack_token(packed: bytes) -> bytes:
    """Unpack the content of a session token. Raises: ProtocolError, without unpacking more than its maximum size."""
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(packed, MAX_TOKEN_BYTES)
    if not unpacker.eof:
        raise ProtocolError(f"a session token is incomplete, or has more than {MAX_TOKEN_BYTES // 2**10} KiB")
    return unpacked


class GuardedTornado(BokehTornado):
    """The application of a server that Panel's own command starts."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        guard(self, "--allow-websocket-origin")


def known_routes(application: BokehTornado) -> re.Pattern[str]:
    """Return the pattern of the paths that are answered: pages, their websockets, and the files that they load."""
    prefix = re.escape(application.prefix)
    pages = [prefix + re.escape(url.rstrip("/")) for url in application.app_paths]
    files = [prefix + re.escape(f"/{component_path(component)}") for component in COMPONENTS]
    logins = [prefix + str(endpoint[0]) for endpoint in application.auth_provider.endpoints]
    routes = [rf"{page}(?:/?|/ws|{STATIC})" for page in pages]
    return re.compile("|".join([rf"{prefix}/?", rf"{prefix}{STATIC}", r"/favicon\.ico", *routes, *files, *logins]))


def component_path(component: Any) -> str:
    """Return the path of the module of a component, below the prefix of the server."""
    return urlsplit(component._render_esm(server=True)).path.removeprefix("./")


class Refused(Matcher):
    """Matches the requests that are refused, with the status and the reason."""

    def __init__(self, routes: re.Pattern[str], origins: Iterable[str], option: str) -> None:
        self._routes = routes
        named = [*origins, *settings.allowed_ws_origin()]
        self._names = {*LOOPBACK_NAMES, *(host_name(origin) for origin in named)}
        self._option = option

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """Return the arguments of `Refusal`; None for a request that is answered. Its body is read afterwards."""
        if isinstance(request.connection, HTTP1Connection):
            request.connection.set_max_body_size(MAX_BODY_BYTES)
        hosts = request.headers.get_list("Host")
        if len(hosts) != 1 or not self._is_own_name(host_name(hosts[0])):
            shown = ", ".join(hosts)[:MAX_SHOWN_CHARS] or "no name"
            return _arguments(  # a foreign page may read it, so it does not say which names this machine has
                403,
                f"This server does not answer to {shown}. Open the address that it printed; if it should answer to "
                f"that name too, start it with {self._option} NAME.",
            )
        if is_embedded(request.headers):
            return _arguments(403, "Other sites may link to this server; they may not load or embed what it serves.")
        if self._routes.fullmatch(request.path) is None:
            return _arguments(404, f"This server has no page {request.path[:MAX_SHOWN_CHARS]}.")
        return None

    def _is_own_name(self, name: str) -> bool:
        return bool(name) and any(name == own or ("*" in own and match_host(name, own)) for own in self._names)


def _arguments(status: int, reason: str) -> dict[str, Any]:
    return {"target_kwargs": {"status": status, "reason": reason}}


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port, in lower case; empty if it is invalid.

    >>> host_name("LocalHost.:5006"), host_name("[::1]:5006"), host_name("127.0.0.1"), host_name("a:b:c")
    ('localhost', '::1', '127.0.0.1', '')
    """
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([^\s\[\]:/@]+))(?::(?:\d*|\*))?", host.lower(), re.ASCII)
    return "" if found is None else (found[1] or found[2]).removesuffix(".")


def is_embedded(headers: Mapping[str, str]) -> bool:
    """Whether another site caused a request other than by a link that opens a page; browsers say so in headers."""
    if headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return False
    return (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) != ("navigate", "document")


class Refusal(RequestHandler):
    """Answers a refused request with its reason, whatever its method."""

    def initialize(self, status: int, reason: str) -> None:
        """Receive what `Refused` found."""
        self.set_status(status)
        self._reason_text = reason

    def prepare(self) -> None:
        """Answer."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{self._reason_text}\n")


class SafeHeaders(OutputTransform):
    """Adds the headers of the gate to an answer."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add the headers."""
        for name, value in HEADERS.items():
            headers[name] = value
        return super().transform_first_chunk(status_code, headers, chunk, finishing)
