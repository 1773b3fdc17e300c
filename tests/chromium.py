"""A Chromium without network, for the tests of real pages: a request that leaves this machine fails the test."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.needed import is_missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, ViewportSize

HOW = "pip install playwright; apt-get install chromium (or set CHROMIUM to the path of a Chromium or Chrome)"
UNUSED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled"),  # pages of their own for each window: half a second
    *("DestroyProfileOnBrowserClose", "HttpsUpgrades", "LensOverlay", "MediaRouter", "OptimizationHints"),
    *("PaintHolding", "ThirdPartyStoragePartitioning", "AvoidUnnecessaryBeforeUnloadCheckSync"),
)
"""Features of Chromium that tests do without; this replaces the list of Playwright and keeps what matters."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # intercepting requests would disable the cache
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    f"--disable-features={','.join(UNUSED)}",
)
ANIMATION_RATE = 50
USUAL: "ViewportSize" = {"width": 1280, "height": 800}
"""The size of the window, unless a test changes it."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


WAIT_MS = 60_000
"""How long to wait for something: it comes at once, unless the machine is busy with much else."""


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
    """Throttle a page to reveal what a test takes for granted: SLOW_PAGES=8 pytest tests/browser."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": factor})


def _play_animations_quickly(page: "Page") -> None:
    """Menus that fade in and ripples of buttons would take a third of the time of a test of the dashboard."""
    session = page.context.new_cdp_session(page)
    session.send("Animation.enable")
    session.send("Animation.setPlaybackRate", {"playbackRate": ANIMATION_RATE})


@pytest.fixture(scope="session")
def tab(browser: "Browser") -> "Page":
    """One tab for all tests: a new one takes more than twice as long to fetch and compile the scripts of a page."""
    context = browser.new_context(viewport=USUAL, reduced_motion="reduce")  # tests of movement have their own tab
    context.set_default_timeout(WAIT_MS)
    if factor := os.environ.get("SLOW_PAGES"):
        context.on("page", lambda page: _slow_down(page, float(factor)))
    page = context.new_page()
    _play_animations_quickly(page)
    return page


@pytest.fixture
def page(browsing: "Page") -> "Iterator[Page]":
    """The tab in its initial state."""
    yield browsing
    browsing.goto("about:blank")


@pytest.fixture
def resize(tab: "Page") -> "Iterator[Callable[[int, int], None]]":
    """Change the size of the window until the end of the test."""
    yield lambda width, height: tab.set_viewport_size({"width": width, "height": height})
    tab.set_viewport_size(USUAL)


@pytest.fixture
def browsing(tab: "Page") -> "Iterator[Page]":
    """The tab with the page that the previous test has left; other tabs that a test opens are closed after it."""
    outside: list[str] = []
    problems: list[str] = []

    def watch(request: "Request") -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("file", "data", "blob") and address.hostname != "127.0.0.1":
            outside.append(request.url)

    def note_error(error: "Error") -> None:
        problems.append(str(error))

    def note_message(message: "ConsoleMessage") -> None:
        if message.type == "error":
            problems.append(message.text)

    tab.context.on("request", watch)
    tab.on("pageerror", note_error)
    tab.on("console", note_message)
    yield tab
    tab.context.remove_listener("request", watch)
    tab.remove_listener("pageerror", note_error)
    tab.remove_listener("console", note_message)
    for other in tab.context.pages:
        if other is not tab:
            other.close()
    tab.mouse.move(0, 0)
    tab.emulate_media(color_scheme="null", reduced_motion="reduce", forced_colors="null")
    tab.context.clear_cookies()
    assert not outside, f"the page asked for {outside}"
    assert not problems, f"the page reported {problems}"
