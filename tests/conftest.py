"""A Chromium without network, for all tests with real pages: a request that leaves this machine fails the test."""

import importlib.util
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.needed import is_missing

# One worker a core: more threads in each would only wait for each other. Before torch is loaded, also by servers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

HOW = "pip install playwright; apt-get install chromium (or set CHROMIUM to the path of a Chromium or Chrome)"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    if importlib.util.find_spec("playwright") is None:
        is_missing("Playwright", HOW)
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        is_missing("Chromium", HOW)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


def _slow_down(page: "Page", factor: float) -> None:
    """What a test takes for granted shows on a page that is some times slower: SLOW_PAGES=8 pytest tests/browser."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": factor})


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    outside: list[str] = []
    problems: list[str] = []

    def guard(route: "Route") -> None:
        address = urlsplit(route.request.url)
        if address.scheme in ("file", "data", "blob") or address.hostname == "127.0.0.1":
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    context.route("**/*", guard)
    if factor := os.environ.get("SLOW_PAGES"):
        context.on("page", lambda page: _slow_down(page, float(factor)))
        _slow_down(page, float(factor))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert outside == []
    assert problems == []
