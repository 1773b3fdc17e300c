"""The gate of the server: known routes only, under the names of the server, for its own pages and for links.

It also sends the head of a page before its session is made, and limits what the server logs.

Panel and Bokeh register more routes than the page needs. One of them imports the module that an address names. Tornado
does not compare the Host header with anything, so a foreign name that resolves to this machine would be answered.
"""

import asyncio
import logging
import re
import traceback
import zlib
from collections.abc import Callable, Iterable, Mapping
from hmac import compare_digest
from html import escape
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import bokeh.util.token
from bokeh.protocol.exceptions import ProtocolError
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import match_host
from bokeh.settings import settings
from bokeh.util.token import generate_secret_key
from panel.io.server import DocHandler
from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.routing import Matcher, Rule
from tornado.web import OutputTransform, RequestHandler
from tornado.websocket import WebSocketClosedError

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
    kind
    for kind in vars(drawings).values()
    if isinstance(kind, type) and kind.__module__ == drawings.__name__ and "_bundle" in vars(kind)
)
"""The components with modules that Panel's handler of components serves; modules of others are static files."""
STATIC = r"/static/(?:js|extensions/panel|extensions/panel-material-ui)/(?:[\w.@^/-]|%5E)+"
"""Paths of static files; one name of a folder of Panel has a `^`, which some proxies send unescaped."""
IDS = ("bokeh-session-id", "bokeh-token")
"""Arguments of an address that would name the session of a page; there is a header of the first name too."""
PROTOCOL = "Sec-WebSocket-Protocol"
"""The header in which the websocket of a page has the token of its session."""
MAX_SHOWN_CHARS = 100
MAX_BODY_BYTES = 2**16
"""Maximum size of the body of a request: pages send none. Tornado would keep 100 MB, also of a foreign page's."""

MAX_TOKEN_BYTES = 2**18
"""Maximum size of the unpacked content of a session token: headers, cookies and arguments, of up to 64 KiB in all.

Whoever may request a page has a signed one, and chooses what is in it: 31 kB may unpack to 18 MB.
"""


def guard(application: BokehTornado, option: str) -> None:
    """Put the gate in front of all routes of a server, and its headers on all answers.

    `option` is the option of the command line that adds a name.
    """
    if application.generate_session_ids:
        sign_sessions(application)
    key = application.secret_key if application.generate_session_ids else None
    refused = Refused(known_routes(application), application.websocket_origins, option, key)
    application.default_router.rules.insert(0, Rule(refused, Refusal))
    application.add_transform(SafeHeaders)
    limited = SimpleNamespace(compress=zlib.compress, decompress=unpack_token)
    bokeh.util.token.zlib = limited  # pyright: ignore[reportAttributeAccessIssue, reportPrivateImportUsage]


def sign_sessions(application: BokehTornado) -> None:
    """Sign the ids and tokens of sessions, so that only those that a page of this process received open a websocket.

    The key is that of `BOKEH_SECRET_KEY`, if it is set, or else a random one.
    """
    key = application.secret_key or settings.secret_key_bytes() or generate_secret_key().encode()
    application._secret_key, application._sign_sessions = key, True


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
    """Matches the requests that are refused, with the status and the reason; names no session in the others."""

    def __init__(self, routes: re.Pattern[str], origins: Iterable[str], option: str, key: bytes | None) -> None:
        self._routes = routes
        self._key = key
        """The key that signs tokens; None if ids of sessions come from the address."""
        named = [*origins, *settings.allowed_ws_origin()]
        self._names = {*LOOPBACK_NAMES, *(host_name(origin) for origin in named)}
        self._option = option

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """Return the arguments of `Refusal`; None for a request that is answered. Its body is read afterwards."""
        if isinstance(request.connection, HTTP1Connection):
            request.connection.set_max_body_size(MAX_BODY_BYTES)
        if self._key is not None:
            remove_ids(request)
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
        if self._key is not None and PROTOCOL in request.headers and not has_token(request.headers, self._key):
            return _arguments(403, "This server did not make the session of this page. Load the page again.")
        make_readable(request)
        return None

    def _is_own_name(self, name: str) -> bool:
        return bool(name) and any(name == own or ("*" in own and match_host(name, own)) for own in self._names)


def has_token(headers: HTTPHeaders, key: bytes) -> bool:
    """Whether a websocket names a session with a token of this process; Bokeh logs a traceback for any other one."""
    protocol, _, token = (part.strip() for part in headers[PROTOCOL].partition(","))
    signed, _, signature = token.partition(".")
    expected = bokeh.util.token._signature(signed, key)
    return protocol == "bokeh" and compare_digest(signature.encode(), expected.encode())


def make_readable(request: HTTPServerRequest) -> None:
    """Escape what Panel cannot divide: a second `?`, and a numeric host with colons, which it names localhost."""
    path, mark, query = request.uri.partition("?") if request.uri else ("", "", "")
    request.uri = path + mark + query.replace("?", "%3F").replace("#", "%23")
    if request.host.startswith("["):
        request.host = "localhost" + request.host.partition("]")[2]


def remove_ids(request: HTTPServerRequest) -> None:
    """Remove the ids of sessions: whoever gives a reader a link must not choose the session, and then share it.

    A form in the body of a GET request has no arguments either.
    """
    for name in IDS:
        request.arguments.pop(name, None)
        request.query_arguments.pop(name, None)
    for header in (IDS[0], "Content-Type") if request.method == "GET" else IDS[:1]:
        request.headers.pop(header, None)


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


# ---------------------------------------------------------------------- the log


CLOSED = (WebSocketClosedError, StreamClosedError)
EXPECTED_MESSAGE = "Failed sending message as connection was closed"
"""The text that Bokeh and Panel log where they expect a closed tab."""
LOGGERS = ("", "asyncio", "bokeh", "panel", "param", "tornado")
"""The loggers with handlers for the records of others, which may quote any message or request; `""` is the root."""
MAX_LOGGED_CHARS = 200
"""Maximum length of a logged text, and of the text of an error: Bokeh quotes invalid messages, of up to 2 MiB."""
MAX_LOGGED_CALLS = 20
"""Maximum number of calls in a logged traceback; the innermost ones are kept."""
MAX_CALL_CHARS = 1000


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in LOGGERS:
            return True
        error = record.exc_info[1] if record.exc_info else None
        text = _text_or_error(record.getMessage)
        if isinstance(error, CLOSED) or text == EXPECTED_MESSAGE:
            return False
        record.msg, record.args = _shorten(text, MAX_LOGGED_CHARS), None
        if error is not None:
            record.exc_text = traceback_text(error)
        return True


FILTER = _Filter()


def limit_logs() -> None:
    """Log nothing about messages that a closed tab did not receive, and the beginning of everything else.

    The filter is on handlers, since one of a logger does not see what those below it log.
    """
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOGGERS]
    handlers = [handler for name in ("", *known) for handler in logging.getLogger(name).handlers]
    for handler in (*handlers, *filter(None, [logging.lastResort])):
        handler.addFilter(FILTER)


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error, without the errors that caused it, with the beginning of its text."""
    calls = [call[:MAX_CALL_CHARS] for call in traceback.format_tb(error.__traceback__)[-MAX_LOGGED_CALLS:]]
    text = _shorten(_text_or_error(lambda: f"{type(error).__name__}: {error}"), MAX_LOGGED_CHARS)
    return "".join(("Traceback (most recent call last):\n", *calls, text))


def _text_or_error(text: Callable[[], str]) -> str:
    """Return a text, or the name of the error if it cannot be made: a log must not raise."""
    try:
        return text()
    except Exception as error:  # noqa: BLE001  # it is named in the log
        return f"a text that cannot be shown: {type(error).__name__}"


def _shorten(text: str, length: int) -> str:
    """Return the beginning of a text in one line, with no character that a terminal would follow."""
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:length])
    return shown if len(text) <= length else f"{shown} …"


# ---------------------------------------------------------------------- the head of a page


END = "</head>"
RELOAD = "<script>location.reload()</script>"
DARK = "dark"
PAUSE_SECONDS = 0.1
"""The time between two pages, in which open ones are answered: each takes 0.3 s, and many may be asked for at once."""


def failure_html(error: Exception) -> str:
    """Return the rest of a page after its head was sent, if its session cannot be made: it shows the error."""
    text = escape(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    return f"""{END}<body><p role="alert">This page could not be made. The log of the server says where it failed.
<a href="">Load it again</a></p><pre style="white-space:pre-wrap">{text}</pre></body></html>"""


class EarlyHeadHandler(DocHandler):
    """Sends the head of the last page first: pages of a theme share it, unless an extension was loaded since.

    `heads` are the known ones by theme; a server has its own. Pages are made one by one: `turn` is held meanwhile.
    """

    heads: dict[str, str]
    turn: asyncio.Lock
    sent = ""

    def initialize(self, *args: Any, heads: dict[str, str], turn: asyncio.Lock, **more: Any) -> None:
        """Receive the heads from the rule of the server."""
        self.heads, self.turn = heads, turn

    async def get(self, *args: Any, **more: Any) -> None:
        """Answer with the page. If it fails after the head was sent, with status 200, the page shows the error."""
        answer: Any = super().get
        try:
            await answer(*args, **more)
        except Exception as error:
            if not self.sent:
                raise
            logging.getLogger("explorer").exception("The page could not be made: %.200r", self.request.uri)
            super().write(failure_html(error))

    async def get_session(self) -> Any:
        """Send the head, then make the session."""
        self.sent = self.heads.get(self._theme, "")
        if self.sent:
            self.set_header("Content-Type", "text/html")
            super().write(self.sent)
            await self.flush()
        make: Any = super().get_session
        await self.turn.acquire()
        try:
            return await make()
        finally:
            loop = asyncio.get_running_loop()  # what follows in this turn of it writes the rest of the page
            loop.call_soon(loop.call_later, PAUSE_SECONDS, self.turn.release)

    def write(self, chunk: Any) -> None:
        """Write what follows the head that was sent. If it was a different one, the page is to be loaded again."""
        if not isinstance(chunk, str) or END not in chunk:
            super().write(chunk)
            return
        self.heads[self._theme] = chunk.partition(END)[0]
        super().write(chunk.removeprefix(self.sent) if chunk.startswith(self.sent) else RELOAD)

    @property
    def _theme(self) -> str:
        """The theme of the page, which its head names: Panel reads it from the address."""
        return DARK if self.get_argument("theme", "") == DARK else ""
