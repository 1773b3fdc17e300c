"""Many readers of one server step at once: each gets the picture of its own step, and nothing of the others'."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from bokeh.protocol import Protocol
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Receiver
from bokeh.util.token import generate_session_id
from tornado.websocket import WebSocketClientConnection, websocket_connect

import explorer
from explorer.templates import gallery
from explorer.views import TraceIndex, steps
from tests.browser.conftest import Server
from tests.chromium import WAIT_MS
from tests.serving import issued_token

pytestmark = pytest.mark.browser

CIRCUITS = ("digits", "blackboard", "hmm", "conflict", "near-misses")
STEPS = (3, 7, 8, 1)
READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map"}},
}


class Reader:
    """A websocket client that sends and receives the messages of a browser, and draws nothing."""

    def __init__(self, circuit: str) -> None:
        self.circuit = circuit
        self.graph = ""
        """The id of the model with the data of the drawing."""
        self.pictures: list[dict[str, Any]] = []
        """The received pictures, first to last."""
        self.num_changes = 0
        """Received messages that change the page."""
        self.socket: WebSocketClientConnection
        self.receiver = Receiver(Protocol())

    async def open(self, server: Server) -> None:
        """Open the page, and wait for its first picture."""
        url = server.url.replace("http", "ws") + f"ws?circuit={self.circuit}"
        token = await issued_token(f"{server.url}?circuit={self.circuit}")
        self.socket = await websocket_connect(url, subprotocols=["bokeh", token], max_message_size=2**26)
        while (await self.hear()).msgtype != "ACK":
            pass
        await self.say("PULL-DOC-REQ", {})
        while (message := await self.hear()).msgtype != "PULL-DOC-REPLY":
            pass
        self.keep(message.content)
        await self.say("PATCH-DOC", {"events": [READY]})
        while not self.pictures:
            self.keep((await self.hear()).content)

    async def go(self, step: int) -> None:
        """Go to a step as the drawing does, and wait for its picture."""
        change = {"kind": "ModelChanged", "model": {"id": self.graph}, "attr": "step", "new": step}
        await self.say("PATCH-DOC", {"events": [change]})
        while self.pictures[-1]["step"] != step:
            self.keep((await self.hear()).content)

    async def hear_all(self) -> None:
        """Receive what the server has sent so far."""
        await self.say("SERVER-INFO-REQ", {})
        while (message := await self.hear()).msgtype != "SERVER-INFO-REPLY":
            self.keep(message.content)

    def keep(self, content: Any) -> None:
        """Keep the picture in a message."""
        for part in parts(content):
            if part["attributes"].get("class_name") == "GraphPane":
                data = part["attributes"]["data"]
                self.graph = data["id"]
                self.pictures.append(json.loads(data["attributes"]["picture"]))
            elif part.get("attr") == "picture" and part.get("model", {}).get("id") == self.graph:
                self.pictures.append(json.loads(part["new"]))

    async def say(self, kind: str, content: Any) -> None:
        for part in ({"msgid": generate_session_id(), "msgtype": kind}, {}, content):
            await self.socket.write_message(json.dumps(part))

    async def hear(self) -> Message[Any]:
        while True:
            fragment = await self.socket.read_message()
            assert fragment is not None, "the server has closed the connection"
            message = await self.receiver.consume(fragment)
            if message is not None:
                self.num_changes += message.msgtype == "PATCH-DOC"
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


async def step_together(server: Server, circuits: Sequence[str]) -> tuple[list[Reader], int]:
    """All readers but the first go through their steps; returns the readers and the changes that the first received."""
    readers = [Reader(circuit) for circuit in (circuits[0], *circuits)]
    for reader in readers:
        await asyncio.wait_for(reader.open(server), WAIT_MS / 1000)
    waiting, *going = readers
    await waiting.hear_all()
    before = waiting.num_changes
    for i in range(len(STEPS)):
        # All at once; the readers of one circuit go to different steps.
        moves = [reader.go(STEPS[(number + i) % len(STEPS)]) for number, reader in enumerate(going)]
        await asyncio.wait_for(asyncio.gather(*moves), WAIT_MS / 1000)
    for reader in readers:
        await reader.hear_all()
        reader.socket.close()
        while await asyncio.wait_for(reader.socket.read_message(), WAIT_MS / 1000) is not None:
            pass  # until the connection is closed: an open socket would cause a warning in a later test
    return readers, waiting.num_changes - before


@pytest.mark.parametrize(
    ("circuits", "each"), [(("digits", "conflict"), 2), pytest.param(CIRCUITS, len(STEPS), marks=pytest.mark.fuzz)]
)
def test_each_reader_gets_its_own_pictures_and_no_message_about_others(
    server: Server, circuits: Sequence[str], each: int
) -> None:
    reading = [circuit for circuit in circuits for _ in range(each)]
    with ThreadPoolExecutor(1) as pool:  # the browser of other tests has an event loop in this thread
        (_, *going), heard_by_waiting = pool.submit(asyncio.run, step_together(server, reading)).result()
    titles = {
        name: [step["title"] for step in steps(TraceIndex(explorer.record(gallery.load_named(name))))]
        for name in circuits
    }
    for number, reader in enumerate(going):
        wanted = [0, *(STEPS[(number + i) % len(STEPS)] for i in range(len(STEPS)))]
        assert [(picture["step"], picture["title"]) for picture in reader.pictures] == [
            (step, titles[reader.circuit][step]) for step in wanted
        ]
    seen = {json.dumps(picture, sort_keys=True) for reader in going for picture in reader.pictures}
    assert len(seen) == len(circuits) * len({0, *STEPS})
    assert heard_by_waiting == 0
