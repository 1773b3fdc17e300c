"""The gate refuses unknown routes, foreign names and foreign pages, and answers what the page needs."""

import asyncio
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

pytest.importorskip("panel_material_ui", reason="needs the extra ui")

from bokeh.core.types import ID
from bokeh.util.token import generate_jwt_token, get_session_id
from tornado.httpclient import HTTPClientError
from tornado.routing import PathMatches, RuleRouter
from tornado.web import RequestHandler
from tornado.websocket import websocket_connect

from explorer.app.dashboard.gate import COMPONENTS, MAX_BODY_BYTES, POLICY, component_path, guard
from explorer.app.dashboard.serving import ServeOptions, make_server
from explorer.app.ports import LOCAL, free_port
from explorer.app.session.view_state import ViewState
from tests.serving import running
from tests.waiting import PATIENCE

NAME = "explorer.example"
SOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
PAGES = ("/", "/?circuit=blackboard", "/static/js/bokeh.min.js", "/favicon.ico")
COMPONENT = f"/{component_path(COMPONENTS[0])}"


@dataclass(frozen=True)
class Answer:
    """The status, the headers in lower case and the body of an answer; status 0 for a connection without an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Client:
    """A client that sends requests byte by byte as a test writes them."""

    port: int

    def send(self, request: bytes) -> Answer:
        """Send a request, and read until the headers and as much of the body as they announce have arrived."""
        with socket.create_connection((LOCAL, self.port), timeout=PATIENCE) as connection:
            connection.sendall(request)
            received = b""
            while b"\r\n\r\n" not in received:
                chunk = connection.recv(2**16)
                if not chunk:
                    return Answer(0, {}, received)
                received += chunk
            head, _, body = received.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            while len(body) < int(headers.get("content-length", "0")):
                chunk = connection.recv(2**16)
                assert chunk, "the connection was closed within an answer"
                body += chunk
        return Answer(int(first.split()[1]), headers, body)

    def get(self, path: str, host: str | None = None, **more: str) -> Answer:
        """Request a path under a name, by default the server's; `_` in names of headers is `-`."""
        headers = {"Host": host or f"{LOCAL}:{self.port}", **{key.replace("_", "-"): more[key] for key in more}}
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        return self.send(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))

    def connect(self, host: str | None = None, **more: str) -> Answer:
        """Ask for the websocket, with the token of a page."""
        headers = {"Sec-WebSocket-Protocol": f"bokeh, {token_of(self)}", **SOCKET}
        return self.get("/ws", host, **{key.replace("-", "_"): value for key, value in headers.items()}, **more)


@cache
def token_of(client: Client) -> str:
    """The token of a page."""
    return session_of(client)[0]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A client of a running dashboard that was started with a further name."""
    port = free_port()
    with running(ServeOptions(ViewState(circuit="blackboard"), port, show=False, hosts=(NAME,))):
        yield Client(port)


def routes_of(router: RuleRouter) -> Iterator[tuple[str, type[RequestHandler]]]:
    """All patterns of paths that a server has registered, with their handlers."""
    for rule in router.rules:
        if isinstance(rule.target, RuleRouter):
            yield from routes_of(rule.target)
        elif isinstance(rule.matcher, PathMatches):
            yield rule.matcher.regex.pattern, rule.target


def samples(pattern: str) -> set[str]:
    """Paths that a pattern of Panel or Bokeh matches: `/?` is optional, and a group is any path."""
    text = pattern.removesuffix("$").replace("(?!extensions/)", "").replace(r"\.", ".")
    paths = {text.replace("/?", "/").replace("(.*)", inside) for inside in ("x/y.js", "js/y.js", "panel/y.js")}
    assert all(re.match(pattern, path) for path in paths), f"write samples of the new pattern {pattern}"
    return paths


def test_of_all_registered_routes_only_the_known_ones_are_answered() -> None:
    """A route that a new version of Panel or Bokeh brings is refused until the gate allows it."""

    async def make_and_stop() -> RuleRouter:
        server = make_server(ServeOptions(None, free_port(), show=False))
        server.stop()
        return server._tornado.default_router

    with ThreadPoolExecutor(1) as thread:  # in this one, Panel would take Ctrl-C, and the event loop of the browser
        router = thread.submit(asyncio.run, make_and_stop()).result()
    refusals = router.rules[0].matcher
    found = {path for pattern, _ in routes_of(router) for path in samples(pattern)}
    found |= {COMPONENT, "/static/extensions/panel-material-ui/y.js"}

    def is_answered(path: str) -> bool:
        return refusals.match(_request(path)) is None

    assert {path for path in found if is_answered(path)} == {
        *("/", "/ws", "/favicon.ico", "/static/js/y.js", COMPONENT),
        *("/static/extensions/panel/y.js", "/static/extensions/panel-material-ui/y.js"),
    }
    assert {"/autoload.js", "/metadata", "/components/x/y.js"} < {path for path in found if not is_answered(path)}


def _request(path: str) -> Any:
    from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

    return HTTPServerRequest(
        headers=HTTPHeaders({"Host": LOCAL}), start_line=RequestStartLine("GET", path, "HTTP/1.1"), connection=None
    )


def test_importing_the_command_does_not_run_it() -> None:
    assert callable(import_module("explorer.app.__main__").main)


@pytest.mark.parametrize(
    "path",
    [
        "/components/explorer.app.__main__/a/b/c",
        "/components/gate_probe/a/b/c",
        f"{COMPONENT}/../../../../gate_probe/a/b/c",
        f"{COMPONENT}%2f..",
        COMPONENT.replace("/components", "//components"),
        "/%63omponents/gate_probe/a/b/c",
        "/static/../components/gate_probe/a/b/c",
        "/metadata",
        "/autoload.js?bokeh-autoload-element=1",
        "/static/extensions/other/x.js",
        "/static/js",
        "/ws/",
        "/nothing",
        "*",
    ],
)
def test_other_paths_are_not_found_and_nothing_is_imported(
    client: Client, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gate_probe.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(tmp_path)
    answer = client.get(path)
    assert answer.status == 404
    assert b"This server has no page" in answer.body
    assert "gate_probe" not in sys.modules
    assert client.get(COMPONENT).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/js/../../../../../../etc/passwd",
        "/static/js/..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "/static/js/%2e%2e/%2e%2e/%2e%2e/server.py",
        "/static/js//etc/passwd",
        "/static/extensions/panel/../../../io/server.py",
        "/static/extensions/panel/%2e%2e/io/server.py",
        "/static/extensions/panel//etc/passwd",
        "/static/js/%00",
    ],
)
def test_no_path_leaves_the_folders_of_static_files(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status in (400, 403, 404)
    assert b"root:" not in answer.body
    assert b"import" not in answer.body


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "LOCALHOST", "localhost.", "[::1]", "127.0.0.1:1", "localhost:8888", "[::1]:8888"),
        *(NAME, NAME.upper(), f"{NAME}:443", f"{NAME}."),
    ],
)
def test_the_names_of_the_server_are_answered_at_every_port(client: Client, host: str) -> None:
    """A tunnel or a proxy changes the port."""
    assert client.get("/", host).status == 200
    assert client.connect(host, Origin=f"http://{host.lower()}").status == 101


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "evil.localhost"),
        *("xlocalhost", "127.0.0.1:{port}@evil.example", "evil.example@127.0.0.1", "evil.example#localhost"),
        *("localhost, evil.example", "evil.example,localhost", "localhost evil", "localhost\tevil", "localhost:evil"),
        *("0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.2", "192.0.2.7", "::1", "[::]"),
        *("[::ffff:127.0.0.1]", "[::1", "localhost..", ".localhost", "localhost/", "http://localhost", "*", "\xe9"),
        *(f"x.{NAME}", f"{NAME}.evil.example", "localhost:1:2", ":{port}", "[localhost]", "localhost\x00"),
    ],
)
def test_other_names_are_refused_for_pages_files_and_websockets(client: Client, host: str) -> None:
    host = host.replace("{port}", str(client.port))
    answers = [client.get(path, host) for path in (*PAGES, COMPONENT)]
    answers.append(client.connect(host, Origin=f"http://{host}"))
    answers.append(client.connect(host, Sec_Fetch_Site="same-origin"))
    for answer in answers:
        assert answer.status in (400, 403)  # 400 if Tornado finds the header malformed
        assert answer.status == 400 or b"This server does not answer to" in answer.body
        assert answer.status == 400 or b"start it with --host NAME." in answer.body
        assert NAME in host or NAME.encode() not in answer.body  # a rebound page may read it


def test_requests_with_odd_or_missing_names_are_refused(client: Client) -> None:
    own = f"Host: {LOCAL}:{client.port}"
    for request in (
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        f"GET / HTTP/1.1\r\n{own}\r\nHost: evil.example\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: evil.example\r\n{own}\r\n\r\n",
        f"GET / HTTP/1.1\r\n{own}\r\n{own}\r\n\r\n",
        f"GET / HTTP/1.1\r\n{own},\r\n evil.example\r\n\r\n",
        f"GET http://evil.example/ HTTP/1.1\r\n{own}\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        f"GET //evil.example/ HTTP/1.1\r\n{own}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\nForwarded: host=localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
    ):
        answer = client.send(request.encode())
        assert answer.status in (0, 400, 403, 404), request
        assert b"<html" not in answer.body or answer.status == 400, request
    assert client.get("/", X_Forwarded_Host="evil.example").status == 200  # the header is not used


@pytest.mark.parametrize("path", ["/", "/no/such", COMPONENT])
@pytest.mark.parametrize("host", [LOCAL, "evil.example"])
def test_a_large_body_is_refused_before_it_is_received(client: Client, path: str, host: str) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\n"
    assert client.send(f"{head}Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode()).status == 400
    chunk = b"%x\r\n" % (MAX_BODY_BYTES + 1)
    assert client.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk).status == 400


def test_other_sites_may_link_to_pages_but_not_load_frame_or_connect(client: Client) -> None:
    link = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    for site in ("cross-site", "same-site"):
        assert client.get("/", Sec_Fetch_Site=site, **link).status == 200
        for path in (*PAGES, COMPONENT):
            assert client.get(path, Sec_Fetch_Site=site).status == 403
            for mode, kind in (("no-cors", "image"), ("cors", "empty"), ("no-cors", "script"), ("navigate", "iframe")):
                answer = client.get(path, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=kind)
                assert answer.status == 403
                assert b"Other sites may link to this server" in answer.body
        assert client.connect(Sec_Fetch_Site=site, Origin=f"http://{LOCAL}:{client.port}").status == 403
    for site in ("same-origin", "none"):
        assert client.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image").status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:1",
        "https://localhost",
        "null",
        "file://",
        "http://127.0.0.1.evil.example",
    ],
)
def test_pages_of_other_origins_do_not_connect(client: Client, origin: str) -> None:
    assert client.connect(Origin=origin).status == 403


def test_a_proxy_may_send_its_own_name_or_that_of_the_server(client: Client) -> None:
    for host in (None, NAME):
        assert client.connect(host, Origin=f"https://{NAME}").status == 101


def test_every_answer_has_the_policy_and_none_is_for_other_origins(client: Client) -> None:
    answers = [client.get(path, Origin="http://evil.example") for path in (*PAGES, COMPONENT, "/nothing", "/ws")]
    answers += [
        client.get("/", "evil.example"),
        client.connect(),
        client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ]
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 200, 404, 400, 403, 101, 405]
    for answer in answers:
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
    assert "frame-ancestors 'self'" in POLICY
    assert "http" not in POLICY


def session_of(client: Client, arguments: str = "", form: str | None = None, **headers: str) -> tuple[str, str]:
    """The token in a page, and the id of its session."""
    url = f"http://{LOCAL}:{client.port}/?circuit=blackboard{arguments}"
    content = None if form is None else form.encode()
    with urlopen(Request(url, content, headers, method="GET"), timeout=PATIENCE) as answer:
        found = re.search(rb'"token":"([^"]+)"', answer.read())
    assert found is not None
    return found[1].decode(), get_session_id(found[1].decode())


def test_no_request_chooses_the_session_of_its_page(client: Client) -> None:
    known, session = session_of(client)
    pages = [session_of(client, f"&bokeh-session-id={name}") for name in ("EVIL2", session)]
    pages += [session_of(client, f"&bokeh-token={token}") for token in (known, generate_jwt_token(ID("x")))]
    pages += [session_of(client, f"&bokeh-token={known}&bokeh-session-id={session}")]
    pages += [session_of(client, form=f"bokeh-session-id={session}")]
    pages += [session_of(client, **{"Bokeh-Session-Id": name}) for name in ("EVIL2", session)]
    assert len({"x", "EVIL2", session, *(found for _, found in pages)}) == len(pages) + 3


def test_only_tokens_that_the_server_has_issued_open_a_websocket(client: Client) -> None:
    token, session = session_of(client)
    head, _, signature = token.partition(".")
    forged = [generate_jwt_token(ID(name)) for name in ("EVIL2", session)]
    forged += [head, f"{head}.", f"{head}.{signature[::-1]}", f"{forged[0]}.{signature}"]
    forged += [generate_jwt_token(ID(session), secret_key=b"", signed=True)]

    async def first_answers() -> list[Any]:
        found: list[Any] = []
        for one in forged:
            with pytest.raises(HTTPClientError, match="403"):
                await websocket_connect(f"ws://{LOCAL}:{client.port}/ws", subprotocols=["bokeh", one])
        for one in (token, token):  # a page connects again with its token
            connection = await websocket_connect(f"ws://{LOCAL}:{client.port}/ws", subprotocols=["bokeh", one])
            found.append(await asyncio.wait_for(connection.read_message(), timeout=PATIENCE))
            connection.close()
            while found[-1] is not None and await connection.read_message() is not None:
                pass
        return found

    with ThreadPoolExecutor(1) as thread:
        first, second = thread.submit(asyncio.run, first_answers()).result()
    assert "ACK" in first
    assert "ACK" in second


@pytest.mark.parametrize("token", ["x", "", ".", "x.y", "x, more", "\xe9", "A" * 60_000, "W10=.x", "bnVsbA==.x"])
def test_a_token_that_is_none_is_refused_without_a_traceback(
    client: Client, token: str, capfd: pytest.CaptureFixture[str]
) -> None:
    headers = {key.replace("-", "_"): value for key, value in SOCKET.items()}
    for protocol in (f"bokeh, {token}", token or ","):
        answer = client.get("/ws", **headers, Sec_WebSocket_Protocol=protocol)
        assert answer.status == 403
        assert b"Load the page again" in answer.body
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("host", "more"), [("[::1]", ""), ("[::1]:8888", ""), (None, "?a"), (None, "&selection=1?2?3#4?5#6")]
)
def test_a_page_opens_whatever_panel_cannot_divide(client: Client, host: str | None, more: str) -> None:
    with socket.create_connection((LOCAL, client.port), timeout=PATIENCE) as connection:
        name = host or f"{LOCAL}:{client.port}"
        request = f"GET /?circuit=blackboard{more} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        page = b"".join(iter(lambda: connection.recv(2**16), b""))
    assert b"could not be made" not in page
    assert b'"token":"' in page


def test_panels_own_command_has_the_same_gate_below_its_prefix() -> None:
    from bokeh.application.application import Application
    from bokeh.application.handlers.directory import DirectoryHandler
    from bokeh.server.tornado import BokehTornado

    from explorer.app import dashboard

    bokeh_server: Any = sys.modules["bokeh.server.server"]
    folder = str(Path(str(dashboard.__file__)).parent)
    try:
        Application(DirectoryHandler(filename=folder))  # it executes the file of the hooks
        tornado: Any = bokeh_server.BokehTornado
        made = tornado(
            {"/dashboard": Application()}, prefix="x", extra_websocket_origins=[f"{NAME}:80", "*.wild.example"]
        )
    finally:
        bokeh_server.BokehTornado = BokehTornado
    refusals = made.default_router.rules[0].matcher
    assert made.sign_sessions
    assert len(made.secret_key) > 40
    assert made.secret_key != tornado({"/dashboard": Application()}).secret_key

    def status(path: str, host: str = LOCAL) -> int:
        request = _request(path)
        request.headers["Host"] = host
        found = refusals.match(request)
        return 200 if found is None else found["target_kwargs"]["status"]

    for path in ("/x", "/x/", "/x/dashboard", "/x/dashboard/", "/x/dashboard/ws", f"/x{COMPONENT}", "/favicon.ico"):
        assert status(path) == 200
    for path in (
        "/",
        "/x/ws",
        "/x/dashboard/autoload.js",
        "/x/dashboard/metadata",
        "/x/components/this/a/b/c",
        COMPONENT,
    ):
        assert status(path) == 404
    assert [status("/x", host) for host in (f"{NAME}:5006", "a.wild.example", "wild.example", "evil.example")] == [
        *(200, 200),
        *(403, 403),
    ]


def test_ids_of_sessions_that_panels_command_was_told_to_expect_are_read() -> None:
    from bokeh.application.application import Application
    from bokeh.server.tornado import BokehTornado

    key = b"of another server"
    made = BokehTornado({"/dashboard": Application()}, secret_key=key, sign_sessions=True, generate_session_ids=False)
    guard(made, "--allow-websocket-origin")
    refusals: Any = made.default_router.rules[0].matcher
    request = _request("/dashboard?bokeh-session-id=x")
    assert refusals.match(request) is None
    assert request.arguments == {"bokeh-session-id": [b"x"]}
    assert made.secret_key == key


def test_logins_that_panels_command_was_asked_for_are_answered() -> None:
    from bokeh.application.application import Application
    from bokeh.server.tornado import BokehTornado
    from panel.auth import BasicAuthProvider

    made = BokehTornado({"/dashboard": Application()}, auth_provider=BasicAuthProvider())
    guard(made, "--allow-websocket-origin")
    refusals: Any = made.default_router.rules[0].matcher
    assert [refusals.match(_request(path)) for path in ("/login", "/logout")] == [None, None]
