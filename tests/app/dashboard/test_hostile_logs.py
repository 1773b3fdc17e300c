"""Tokens of sessions unpack to little, and the log of a server has its address and little of what strangers send."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

pytest.importorskip("panel_material_ui", reason="needs the extra ui")

from bokeh.protocol.exceptions import ProtocolError
from bokeh.util.token import generate_session_id, get_token_payload
from tornado.websocket import websocket_connect

from explorer.app.dashboard import gate
from explorer.app.dashboard.gate import MAX_TOKEN_BYTES, unpack_token
from explorer.app.dashboard.serving import ServeOptions
from explorer.app.ports import LOCAL, free_port
from explorer.app.session.view_state import ViewState
from tests.app.dashboard.test_hostile import changed, patch
from tests.browser.conftest import Server
from tests.browser.test_many_readers import Reader, parts
from tests.serving import running, wait_for_text
from tests.waiting import PATIENCE

KEY = b"of this test"


def token_of(content: bytes) -> str:
    """A session token with packed content, as anyone can write one, signed by a key of this test."""
    packed = base64.urlsafe_b64encode(zlib.compress(content, 9)).decode().rstrip("=")
    session = generate_session_id(secret_key=KEY, signed=True)
    parts = {"session_id": session, "session_expiry": int(time.time()) + 3000, "__bk__zlib_": packed}
    token = base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")
    signature = hmac.new(KEY, token.encode(), hashlib.sha256).digest()
    return f"{token}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


async def connect_with(url: str, tokens: list[str]) -> list[str | bytes | None]:
    """Return what a server says first to each token; None if it closes the connection."""
    said: list[str | bytes | None] = []
    for token in tokens:
        path = url.replace("http", "ws") + "ws?circuit=blackboard"
        socket = await websocket_connect(path, subprotocols=["bokeh", token])
        said.append(await asyncio.wait_for(socket.read_message(), timeout=PATIENCE))
        socket.close()
        while said[-1] is not None and await socket.read_message() is not None:
            pass
    return said


def test_tokens_that_unpack_to_much_are_refused_before_the_first_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "generate_secret_key", KEY.decode)
    port = free_port()
    many = b'{"a":[' + b"[]," * MAX_TOKEN_BYTES + b"0]}"
    cut = zlib.compress(many, 9)[:-100]
    tokens = [token_of(many), token_of(b'{"headers":{}}')]
    with running(ServeOptions(ViewState(circuit="blackboard"), port, show=False)), ThreadPoolExecutor(1) as thread:
        assert get_token_payload(tokens[1])["headers"] == {}
        with pytest.raises(ProtocolError, match="has more than 256 KiB"):
            get_token_payload(tokens[0])
        with pytest.raises(ProtocolError, match="is incomplete"):
            unpack_token(cut)
        refused, answered = thread.submit(asyncio.run, connect_with(f"http://{LOCAL}:{port}/", tokens)).result()
    assert refused is None
    assert answered is not None


class Finder(Reader):
    """A reader that remembers a form field of the page."""

    field = ""

    def keep(self, content: Any) -> None:
        found = (
            part["id"] for part in parts(content) if "id" in part and str(part.get("name", "")).startswith("Select")
        )
        self.field = self.field or next(found, "")
        super().keep(content)


async def quote_much(url: str) -> None:
    """Send messages and a token that are refused, and a value that Panel refuses; the server logs all."""
    server: Any = Server(url, Path(), Path())
    hostile = "\x1b[31m\n2026 INFO forged\n" + "x" * 1_900_000
    await connect_with(url, [token_of(b"[" * MAX_TOKEN_BYTES * 2)])
    reader = Finder("blackboard")
    await reader.open(server)
    while not reader.field:
        await reader.hear_all()
    for fragment in changed(reader.field, "size", hostile):
        await reader.socket.write_message(fragment)
    while '"reqid"' not in str(await asyncio.wait_for(reader.socket.read_message(), timeout=PATIENCE)):
        pass  # until it is answered: the last message closes the connection, whatever waits
    for fragment in (*changed(hostile, "size", 1), *patch({"kind": hostile})):
        await reader.socket.write_message(fragment)
    while await asyncio.wait_for(reader.socket.read_message(), timeout=PATIENCE) is not None:
        pass
    reader.socket.close()


def test_server_log_has_its_address_and_little_of_what_strangers_send(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "server.log"
    url = f"http://{LOCAL}:{port}/"
    command = [sys.executable, "-m", "explorer.app", "serve", "--no-show", f"--port={port}"]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, env=os.environ | {"BOKEH_SECRET_KEY": KEY.decode()}
        )
    try:
        wait_for_text(process, f"The explorer is at {url}", log, log)
        with urlopen(url) as answer:
            assert answer.status == 200
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, quote_much(url)).result()
    finally:
        process.terminate()
        process.wait(PATIENCE)
    text = log.read_text(encoding="utf-8")
    assert "does not accept" in text
    assert "256 KiB" in text
    assert "forged" in text
    assert len(text) < 20_000
    assert all(line.isprintable() for line in text.split("\n"))
    assert not any(line.startswith("2026 INFO") for line in text.split("\n"))
