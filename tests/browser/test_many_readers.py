"""Twenty readers of one server step at once: each gets the picture of its own step, soon."""

import asyncio
import json
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bokeh.protocol import Protocol
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Receiver
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.websocket import WebSocketClientConnection, websocket_connect

import explorer
from explorer.templates import gallery
from explorer.views import TraceIndex, steps
from tests.browser.conftest import Server

pytestmark = pytest.mark.browser

READERS = 20
CIRCUITS = ("digits", "blackboard", "hmm", "conflict", "near-misses")
STEPS = (3, 7, 8, 1)
READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map"}},
}
MOST_WAITING = 3
"""The slowest of n simultaneous steps may take this many times n steps alone; 20 if they blocked each other."""


class Reader:
    """A websocket client that sends and receives the messages of a browser, and draws nothing."""

    def __init__(self, circuit: str) -> None:
        self.circuit = circuit
        self.graph = ""
        """The id of the model with the data of the drawing."""
        self.picture: dict[str, Any] = {}
        self.socket: WebSocketClientConnection
        self.receiver = Receiver(Protocol())

    async def open(self, server: Server) -> None:
        """Open the page, and wait for its first picture."""
        url = server.url.replace("http", "ws") + f"ws?circuit={self.circuit}"
        token = generate_jwt_token(generate_session_id())
        self.socket = await websocket_connect(url, subprotocols=["bokeh", token], max_message_size=2**26)
        while (await self.hear()).msgtype != "ACK":
            pass
        await self.say("PULL-DOC-REQ", {})
        while (message := await self.hear()).msgtype != "PULL-DOC-REPLY":
            pass
        self.keep(message.content)
        await self.say("PATCH-DOC", {"events": [READY]})
        while not self.picture:
            self.keep((await self.hear()).content)

    async def go(self, step: int) -> float:
        """Go to a step as the drawing does; return the seconds until its picture arrives."""
        start = time.monotonic()
        change = {"kind": "ModelChanged", "model": {"id": self.graph}, "attr": "step", "new": step}
        await self.say("PATCH-DOC", {"events": [change]})
        while self.picture["step"] != step:
            self.keep((await self.hear()).content)
        return time.monotonic() - start

    def keep(self, content: Any) -> None:
        """Keep the picture in a message."""
        for part in parts(content):
            if part["attributes"].get("class_name") == "GraphPane":
                data = part["attributes"]["data"]
                self.graph = data["id"]
                self.picture = json.loads(data["attributes"]["picture"])
            elif part.get("attr") == "picture" and part.get("model", {}).get("id") == self.graph:
                self.picture = json.loads(part["new"])

    async def say(self, kind: str, content: Any) -> None:
        for part in ({"msgid": generate_session_id(), "msgtype": kind}, {}, content):
            await self.socket.write_message(json.dumps(part))

    async def hear(self) -> Message[Any]:
        while True:
            fragment = await self.socket.read_message()
            assert fragment is not None, "the server has closed the connection"
            message = await self.receiver.consume(fragment)
            if message is not None:
                return message


def parts(content: Any) -> Iterator[dict[str, Any]]:
    """All objects in a message."""
    waiting = [content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("name"), str) or "attr" in part:
                yield {**part, "attributes": part.get("attributes", {})}
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


async def read(server: Server) -> tuple[list[tuple[str, int, dict[str, Any], float]], float]:
    """All readers go through their steps: (circuit, step, received picture, seconds); and the seconds of one alone."""
    readers = [Reader(CIRCUITS[number % len(CIRCUITS)]) for number in range(READERS)]
    for reader in readers:
        await asyncio.wait_for(reader.open(server), 60)
    some = readers[: len(CIRCUITS)]  # one of each circuit
    before = [await asyncio.wait_for(reader.go(9), 60) for reader in some]
    found: list[tuple[str, int, dict[str, Any], float]] = []
    for i in range(len(STEPS)):
        # All at once; the readers of one circuit go to different steps.
        wanted = [STEPS[(number // len(CIRCUITS) + i) % len(STEPS)] for number in range(READERS)]
        moves = [reader.go(step) for reader, step in zip(readers, wanted, strict=True)]
        taken = await asyncio.wait_for(asyncio.gather(*moves), 60)
        found += [(r.circuit, step, r.picture, t) for r, step, t in zip(readers, wanted, taken, strict=True)]
    after = [await asyncio.wait_for(reader.go(9), 60) for reader in some]
    for reader in readers:
        reader.socket.close()
        while await asyncio.wait_for(reader.socket.read_message(), 60) is not None:
            pass  # until the connection is closed: an open socket would cause a warning in a later test
    return found, max(statistics.median(before), statistics.median(after))  # other work may begin or end meanwhile


def test_twenty_readers_stepping_at_once_each_get_their_own_picture_soon(server: Server) -> None:
    with ThreadPoolExecutor(1) as pool:  # the browser of other tests has an event loop in this thread
        answers, alone = pool.submit(asyncio.run, read(server)).result()
    seconds = sorted(taken for *_, taken in answers)
    told = f"median {statistics.median(seconds):.2f} s, slowest {seconds[-1]:.2f} s, alone {alone:.2f} s"
    print(f"{len(answers)} steps: {told}")  # noqa: T201
    traces = {name: TraceIndex(explorer.record(gallery.load_named(name))) for name in CIRCUITS}
    titles = {name: [step["title"] for step in steps(index)] for name, index in traces.items()}
    counts = {name: index.trace.steps[0].snapshot.graph for name, index in traces.items()}
    assert len({len(graph) for graph in counts.values()}) == len(CIRCUITS)
    for circuit, step, picture, _ in answers:
        assert (picture["step"], picture["title"]) == (step, titles[circuit][step])
    assert len({json.dumps(picture, sort_keys=True) for _, _, picture, _ in answers}) == len(CIRCUITS) * len(STEPS)
    assert seconds[-1] < MOST_WAITING * READERS * alone, told
