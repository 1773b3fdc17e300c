"""Measures the dashboard in a browser: the time until it is usable, and from a key press to the drawn step."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchmarks.browser_times import FLAGS, browser_path, missing_browser, moved, press_keys
from benchmarks.view_times import STEP_MS, Measurement
from explorer.app.ports import LOCAL, free_port
from explorer.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Page

CIRCUITS = ("digits", "mnist")
OPEN_MS = 120_000
USABLE_MS = 2_000.0
FILE = ".trace.json.gz"
OPENED, START_SECONDS, SETTLE_MS = 3, 60, 3_000
USABLE, STEPPED = "dashboard usable after opening", "dashboard: from key to drawn, median"


def measure_dashboard(files: Mapping[str, Trace] = MappingProxyType({})) -> list[Measurement]:
    """Open the dashboard of the default circuit several times, after one warm-up for the server; then step.

    `files` are further traces, by name.
    """
    why = missing_browser()
    if why:
        return [Measurement(CIRCUITS[0], what, None, "ms", why=why) for what in (USABLE, STEPPED)]
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, _server(folder) as address, sync_playwright() as playwright:
        for name, trace in files.items():
            trace.save(Path(folder) / f"{name}{FILE}")
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        opened = [_open(page, f"{address}?circuit={CIRCUITS[0]}") for _ in range(OPENED + 1)][1:]
        found = [Measurement(CIRCUITS[0], USABLE, 1000 * median(opened), "ms", USABLE_MS)]
        for circuit in (*CIRCUITS, *files):
            _open(page, f"{address}?circuit={circuit}{FILE if circuit in files else ''}")
            page.wait_for_timeout(SETTLE_MS)  # the values are checked in the meantime
            found.append(Measurement(circuit, STEPPED, median(press_keys(page)), "ms", STEP_MS))
            found += moved(page, circuit, "dashboard: ")
        browser.close()
    return found


def _open(page: "Page", address: str) -> float:
    started = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(".ce-box", timeout=OPEN_MS)
    return time.perf_counter() - started


@contextmanager
def _server(folder: str) -> Iterator[str]:
    """Run a dashboard in its own process, which offers the files of a folder; yields its address."""
    port = free_port()
    command = [sys.executable, "-m", "explorer.app", "serve", "--no-show", f"--port={port}", f"--folder={folder}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(10 * START_SECONDS):
            with socket.socket() as probe:
                if probe.connect_ex((LOCAL, port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://{LOCAL}:{port}/"
    finally:
        process.terminate()
        process.wait(10)
