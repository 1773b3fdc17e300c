"""Hostile links open nothing outside of the library, and malformed messages end no session and reach no other one."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("panel_material_ui", reason="needs the extra ui")

from bokeh.protocol import Protocol
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

from explorer.app.dashboard import page
from explorer.app.dashboard.page import (
    FRAGMENT_BYTES,
    MAX_MESSAGE_BYTES,
    MAX_MODELS,
    MAX_NESTED,
    MAX_VALUES,
    LimitedReceiver,
    find_problem,
)
from explorer.app.dashboard.serving import ServeOptions
from explorer.app.ports import LOCAL, free_port
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state, read_link
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError, UnknownNameError
from explorer.templates import gallery
from tests.browser.conftest import Server
from tests.browser.test_many_readers import Reader
from tests.serving import issued_token, running
from tests.waiting import PATIENCE

NAMES = (
    *("../secret.circuit.json", "..%2Fsecret.circuit.json", "....//secret.circuit.json", "..\\secret.circuit.json"),
    *("{outside}/secret.circuit.json", "file://{outside}/secret.circuit.json", "~/secret.circuit.json", "./kept.json"),
    *("code.py:build", "{outside}/code.py:build", "../code.py:build", "code.py", "os:system", "kept.json:build"),
    *("http://127.0.0.1/x.json", "//evil.example/x.json", "/etc/passwd", "/dev/zero", "/proc/self/environ", "NUL"),
    *("kept.json\0", "kept.json/", "kept.json\n", " kept.json", "KEPT.JSON", "kept.json (upload)", "", ".", "..", "*"),
    *("linked.json", "<script>alert(1)</script>", "${{7*7}}", "{{{{7*7}}}}", "%s%n", "x" * 2000),
)
"""Names in links; `{outside}` is the folder around the one that is offered."""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a circuit and code; its folder `offered` has one file and a link out of it."""
    (tmp_path / "offered").mkdir()
    small = gallery.load_named("blackboard")
    for path in (tmp_path / "secret.circuit.json", tmp_path / "offered" / "kept.json"):
        small.save(path)
    for folder in (tmp_path, tmp_path / "offered"):
        (folder / "code.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()\n")
    (tmp_path / "offered" / "linked.json").symlink_to(tmp_path / "secret.circuit.json")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_link_opens_nothing_outside_of_the_folder(outside: Path, name: str) -> None:
    named = name.format(outside=outside)
    library = Library(outside / "offered")
    for query in (urlencode({"circuit": named}), urlencode({"circuit": "blackboard", "vs.circuit": named})):
        state, problem = read_link(query)
        asked = state.other if "vs." in query else state
        assert problem or asked is not None
        if problem:
            continue
        assert asked is not None
        assert asked.circuit == named
        with pytest.raises(UnknownNameError):
            open_state(library, asked)
    assert not (outside / "executed").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *("form={}", "form=[[[[", "form=" + "[" * 3000, 'form={"layers":1e999}', "form=null", "replacement=__import__"),
        *("preset=../x", "preset=__class__", "skip=;ls", "disable=" + "a/" * 500, "passes=os.system", "level=../x"),
        *("level=__doc__", "selection=" + ",".join("9" * 30 for _ in range(100)), "selection=-1", "step=1e400"),
        *("step=" + "9" * 4000, "slides=<script>", "theme=javascript:1", "seed=" + "9" * 100, "x=" + "y" * 5000),
        *("&".join(f"skip=a{i}" for i in range(600)), "%ff%fe=%00", "=&=&=", "?" * 50, "circuit=a&circuit=digits"),
    ],
    ids=lambda text: text[:30],
)
def test_other_arguments_of_links_are_understood_or_named(arguments: str) -> None:
    state, problem = read_link(f"circuit=blackboard&{arguments}")
    assert isinstance(state, ViewState)
    assert "Traceback" not in problem
    with suppress(CircuitError):
        assert open_state(Library(), state).trace.steps


def patch(*events: Any) -> list[str]:
    """The fragments of a message that changes the page."""
    return [json.dumps(part) for part in ({"msgid": "1", "msgtype": "PATCH-DOC"}, {}, {"events": list(events)})]


def changed(model: Any, name: Any, value: Any) -> list[str]:
    """The fragments of a message that changes a property of a model."""
    return patch({"kind": "ModelChanged", "model": {"id": model}, "attr": name, "new": value})


PROTOCOL_ERROR = 10001
"""The code with which Bokeh closes a connection that does not follow its protocol."""
FRAGMENTS: tuple[list[Any], ...] = (
    *(["no JSON"], ["[" * 100_000], ["{}"], ["null", "null", "null"], [b"\x00\xff"], [""], ["{}", "{}", "{}"]),
    [json.dumps({"msgid": "1", "msgtype": "NO-SUCH"}), "{}", "{}"],
    [json.dumps({"msgid": 1, "msgtype": "PATCH-DOC", "num_buffers": 10**9}), "{}", '{"events":[]}'],
    [json.dumps({"msgid": "1", "msgtype": "PATCH-DOC"}), "{}", '{"events":7}'],
)
"""Fragments that are no message, after which Bokeh may close the connection."""


def malformed(graph: str) -> list[list[str]]:
    """Return changes that no page sends; `graph` is the model of the drawing."""
    return [
        patch(7),
        changed(graph, "step", {"type": "object", "name": "os.system", "id": "x", "attributes": {}}),
        patch({"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {"type": "event", "name": "no_such"}}),
        patch({"kind": "MessageSent", "msg_type": "no_such", "msg_data": None}),
        *(changed("none", "step", 1), changed(graph, "no_such", 1), changed(graph, "__class__", 1)),
        *(changed(graph, "step", value) for value in ("x", -1, 10**30, 1e308, None, [[]], {"type": "object"}, True)),
        *(changed(graph, "step", {"type": kind}) for kind in ("map", "set", "bytes", "number", "event")),
        *(changed(graph, "step", {"type": kind, "entries": 7}) for kind in ("map", "set")),
    ]


async def close(socket: WebSocketClientConnection) -> None:
    """Close a connection, and wait until it is closed: an open one would cause a warning in a later test."""
    socket.close()
    while await socket.read_message() is not None:
        pass


async def attack(url: str) -> tuple[int, int]:
    """Send what no page sends; returns the step that the attacker reaches afterwards, and what the witness heard."""
    server: Any = Server(url, Path(), Path())
    witness, attacker = Reader("blackboard"), Reader("blackboard")
    for reader in (witness, attacker):
        await reader.open(server)
        await reader.hear_all()
    before = witness.num_changes
    token = await issued_token(f"{url}?circuit=blackboard")
    for fragments in FRAGMENTS:
        socket = await websocket_connect(
            url.replace("http", "ws") + "ws?circuit=blackboard", subprotocols=["bokeh", token]
        )
        for fragment in fragments:
            await socket.write_message(fragment, binary=isinstance(fragment, bytes))
        await witness.hear_all()
        await close(socket)
    for fragments in malformed(attacker.graph):
        for fragment in fragments:
            await attacker.socket.write_message(fragment)
        await witness.hear_all()
    await attacker.go(2)
    heard = witness.num_changes - before
    await witness.go(1)
    for reader in (witness, attacker):
        await close(reader.socket)
    return attacker.pictures[-1]["step"], heard


def test_malformed_messages_end_no_session_and_reach_no_other_one() -> None:
    port = free_port()
    with running(ServeOptions(ViewState(circuit="blackboard"), port, show=False)), ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, attack(f"http://{LOCAL}:{port}/")).result() == (2, 0)


async def announce(url: str, payload: bytes) -> int | None:
    """Announce endlessly many buffers in one message, and send too many; returns the code with which it is closed."""
    token = await issued_token(f"{url}?circuit=blackboard")
    socket = await websocket_connect(url.replace("http", "ws") + "ws?circuit=blackboard", subprotocols=["bokeh", token])
    await socket.read_message()
    header = {"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 10**9}
    for fragment in (json.dumps(header), "{}", '{"events":[]}'):
        await socket.write_message(fragment)
    with suppress(WebSocketClosedError):
        for _ in range(1 + page.MAX_MESSAGE_BYTES // (len(payload) + FRAGMENT_BYTES)):
            await socket.write_message('{"id":"x"}')
            await socket.write_message(payload, binary=True)
    while await asyncio.wait_for(socket.read_message(), timeout=PATIENCE) is not None:
        pass
    socket.close()
    return socket.close_code


@pytest.mark.parametrize("size", [2**20, 0], ids=["large", "empty"])
def test_a_message_of_endlessly_many_buffers_closes_its_connection(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MAX_MESSAGE_BYTES", 4 * 2**20)  # 100,000 empty buffers would take seconds
    port = free_port()
    with running(ServeOptions(ViewState(circuit="blackboard"), port, show=False)), ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, announce(f"http://{LOCAL}:{port}/", bytes(size))).result() == PROTOCOL_ERROR


def test_messages_within_the_limit_are_counted_one_by_one() -> None:
    async def receive() -> None:
        receiver = LimitedReceiver(Protocol())
        for _ in range(3):
            header = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 1})
            for fragment in (header, "{}", '{"events":[]}', '{"id":"x"}'):
                assert await receiver.consume(fragment) is None
            assert await receiver.consume(bytes(MAX_MESSAGE_BYTES // 2)) is not None

    with ThreadPoolExecutor(1) as thread:  # beside the event loop of a browser that other tests may have opened
        thread.submit(asyncio.run, receive()).result()


MODEL = {"type": "object", "name": "Figure", "attributes": {}}
NESTED_DEEP: Any = []
for _ in range(300):
    NESTED_DEEP = [NESTED_DEEP]


ARRAY = {"array": [1], "dtype": "(100,100)f8", "shape": [1], "order": "little"}
OTHER_TYPES = ("ndarray", "typed_array", "array", "slice", "symbol", "ref", "value", "no-such", 7, None, [])
SAME_HASH = [i * (2**61 - 1) for i in range(20)]
EXCESSIVE = {
    "models": changed("x", "step", {f"new-{i}": {**MODEL, "id": f"new-{i}"} for i in range(MAX_MODELS + 1)}),
    "models in a value": changed("x", "step", [{**MODEL, "id": f"new-{i}"} for i in range(MAX_MODELS + 1)]),
    "lists": changed("x", "step", [[] for _ in range(MAX_NESTED)]),
    "mappings": changed("x", "step", {str(i): {} for i in range(MAX_NESTED)}),
    "events": patch(*({"kind": "MessageSent", "msg_type": "x", "msg_data": None} for _ in range(MAX_NESTED))),
    "a root": patch({"kind": "RootAdded", "model": {**MODEL, "id": "new"}}),
    **{f"an event {kind}": patch({"kind": kind}) for kind in ("NoSuch", None, [], "TitleChanged", "ColumnsStreamed")},
    "no event": patch({}),
    **{f"a value {kind}": changed("x", "step", [{**ARRAY, "type": kind}]) for kind in OTHER_TYPES},
    "numbers of a set": changed("x", "step", {"type": "set", "entries": SAME_HASH}),
    "numbers of a map": changed("x", "step", {"type": "map", "entries": [[key, 0] for key in SAME_HASH]}),
    "values of a map": changed("x", "step", {"type": "map", "entries": [[{"type": "number", "value": "nan"}, 0]]}),
    "values": changed("x", "step", [0] * MAX_VALUES),
    "a document": [
        json.dumps(part)
        for part in ({"msgid": "1", "msgtype": "PUSH-DOC"}, {}, {"doc": {"title": "x", "version": "3", "roots": []}})
    ],
}
"""Messages that Bokeh would take long to read, that replace the page, or that have parts that no page sends."""
USUAL = {
    "a painted input": changed("x", "evidence", {"type": "map", "entries": [["x", [0] * 100_000], ["n", 1]]}),
    "selected boxes": changed("x", "selection", [f"box-{i}" for i in range(50_000)]),
    "models": changed("x", "step", [{**MODEL, "id": f"new-{i}"} for i in range(MAX_MODELS)]),
    "an upload": changed("x", "step", {"type": "map", "entries": [["data", {"type": "bytes", "data": {"id": "b"}}]]}),
    "events of a button": changed("x", "step", {"type": "set", "entries": ["button_click"]}),
    "an empty set": changed("x", "step", {"type": "set"}),
    "a number": changed("x", "step", {"type": "number", "value": "nan"}),
    "deep lists": changed("x", "step", NESTED_DEEP),
}


async def send_and_watch(url: str) -> tuple[list[int | None], int]:
    """Send each excessive message; returns how each connection was closed, and the witness's step afterwards."""
    witness, codes = Reader("blackboard"), list[int | None]()
    await witness.open(Server(url, Path(), Path()))  # pyright: ignore[reportArgumentType]
    for fragments in EXCESSIVE.values():
        token = await issued_token(f"{url}?circuit=blackboard")
        path = url.replace("http", "ws") + "ws?circuit=blackboard"
        socket = await websocket_connect(path, subprotocols=["bokeh", token])
        await socket.read_message()
        with suppress(WebSocketClosedError):
            for fragment in fragments:
                await socket.write_message(fragment)
        while await asyncio.wait_for(socket.read_message(), timeout=PATIENCE) is not None:
            pass
        codes.append(socket.close_code)
        socket.close()
    await witness.go(2)
    await close(witness.socket)
    return codes, witness.pictures[-1]["step"]


def test_messages_that_take_long_to_read_close_their_connection_only() -> None:
    port = free_port()
    with running(ServeOptions(ViewState(circuit="blackboard"), port, show=False)), ThreadPoolExecutor(1) as thread:
        codes, step = thread.submit(asyncio.run, send_and_watch(f"http://{LOCAL}:{port}/")).result()
    assert codes == [PROTOCOL_ERROR] * len(EXCESSIVE)
    assert step == 2


@pytest.mark.parametrize("name", USUAL)
def test_messages_that_a_page_sends_are_within_the_limits(name: str) -> None:
    assert find_problem(json.loads(USUAL[name][-1])) == ""


async def ask_for_pages(url: str) -> list[int]:
    """Ask for many pages at once; returns how many more were made during each step of a witness."""
    witness, made = Reader("blackboard"), list[int]()
    await witness.open(Server(url, Path(), Path()))  # pyright: ignore[reportArgumentType]
    pages = [asyncio.create_task(issued_token(f"{url}?circuit=blackboard")) for _ in range(8)]
    for one in pages:
        one.add_done_callback(lambda _: made.append(0))
    counts: list[int] = []
    while len(made) < len(pages):
        before = len(made)
        await witness.go(1 + len(counts) % 2)
        counts.append(len(made) - before)
    await close(witness.socket)
    return counts


def test_a_reader_steps_while_many_pages_are_made() -> None:
    port = free_port()
    with running(ServeOptions(ViewState(circuit="blackboard"), port, show=False)), ThreadPoolExecutor(1) as thread:
        counts = thread.submit(asyncio.run, ask_for_pages(f"http://{LOCAL}:{port}/")).result()
    assert max(counts) <= 3  # without turns all pages are made during one step
