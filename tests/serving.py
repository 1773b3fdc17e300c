"""Servers of tests: in another process, or in a thread of this one."""

import asyncio
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest

from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from explorer.app.dashboard.serving import ServeOptions


def wait_for_server(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Return once the server accepts connections; fail with its output if it ends before."""
    give_up = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"the server did not start: {log.read_text()}")


def wait_for_text(process: "subprocess.Popen[bytes]", text: str, out: Path, log: Path) -> str:
    """Return what a process has printed into a file once it contains a text; fail with its log if it ends before."""
    give_up = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < give_up:
        printed = out.read_text()
        if text in printed:
            return printed
        time.sleep(0.1)
    pytest.fail(f"it did not print {text!r}: {log.read_text()}")


@contextmanager
def running(options: "ServeOptions") -> Iterator[None]:
    """Serve the dashboard in a thread, from the moment at which it announces its address."""
    from tornado.ioloop import IOLoop

    from explorer.app.dashboard.serving import serve

    ready, loop = Event(), asyncio.new_event_loop()

    def work() -> None:
        asyncio.set_event_loop(loop)
        try:
            serve(options, ready.set)
        finally:
            ready.set()
            IOLoop.current().close()

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(work)
        assert ready.wait(PATIENCE), "the server did not start"
        try:
            yield
        finally:
            if not future.done():
                loop.call_soon_threadsafe(loop.stop)
            future.result(PATIENCE)


async def issued_token(url: str) -> str:
    """Return the token of the session that a page gets: the server has signed it."""
    from tornado.httpclient import AsyncHTTPClient

    page = (await AsyncHTTPClient().fetch(url)).body.decode()
    found = re.search(r'"token":"([^"]+)"', page)
    assert found is not None, "the page has no token"
    return found[1]
