"""Measures the dashboard in a browser: the time until it is usable, and from a step to its picture."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.browser_times import FLAGS, browser_path, missing_browser
from benchmarks.view_times import Measurement
from explorer.app.dashboard.serving import LOCAL, free_port

if TYPE_CHECKING:
    from playwright.sync_api import Page

CIRCUIT = "digits"
USABLE_MS, STEP_MS = 3_000.0, 100.0
OPENED, START_SECONDS = 3, 60
USABLE, STEPPED = "dashboard usable after opening", "dashboard: from a step to its picture"

# Sets the step as the stepper does, and waits until the picture of that step is drawn.
STEP = """async (step) => {
  const graph = [...Bokeh.documents[0]._all_models.values()].find((model) => model.class_name === 'GraphPane');
  const started = performance.now();
  graph.data.step = step;
  while (JSON.parse(graph.data.picture).step !== step) await new Promise((done) => setTimeout(done, 2));
  await new Promise((done) => requestAnimationFrame(done));
  return performance.now() - started;
}"""


def measure_dashboard() -> list[Measurement]:
    """Open the dashboard of the default circuit several times, after one warm-up for the server."""
    why = missing_browser()
    if why:
        return [Measurement(CIRCUIT, what, None, "ms", why=why) for what in (USABLE, STEPPED)]
    from playwright.sync_api import sync_playwright

    with _server() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        opened = [_open(page, f"{address}?circuit={CIRCUIT}") for _ in range(OPENED + 1)][1:]
        page.wait_for_timeout(2_000)  # the values are checked in the meantime
        steps = [float(page.evaluate(STEP, step)) for step in (3, 7, 8, 9, 10, 3, 0)]
        browser.close()
    return [
        Measurement(CIRCUIT, USABLE, 1000 * median(opened), "ms", USABLE_MS),
        Measurement(CIRCUIT, STEPPED, median(steps), "ms", STEP_MS),
    ]


def _open(page: "Page", address: str) -> float:
    started = time.perf_counter()
    page.goto(address)
    page.wait_for_selector(".ce-box")
    return time.perf_counter() - started


@contextmanager
def _server() -> Iterator[str]:
    """Run a dashboard in its own process; yields its address."""
    port = free_port()
    command = [sys.executable, "-m", "explorer.app", "serve", "--no-show", f"--port={port}"]
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
