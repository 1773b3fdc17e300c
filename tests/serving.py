"""Waits for a server that a test has started in another process."""

import socket
import subprocess
import time
from pathlib import Path

import pytest

MAX_SECONDS = 300


def wait_for_server(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Return once the server accepts connections; fail with its output if it ends before."""
    give_up = time.monotonic() + MAX_SECONDS
    while process.poll() is None and time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"the server did not start: {log.read_text()}")
