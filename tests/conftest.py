"""A Chromium without network, for all tests with real pages: a request that leaves this machine fails the test."""

import gc
import importlib.util
import os
import random
import shutil
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.fuzzing import FUZZ_SEED, load_profile
from tests.needed import is_missing

load_profile()

# About one worker a core: more threads in each would only wait for each other. Before torch is loaded, also by servers.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Each worker, and each process that a test starts, would compile all sources and tests anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# It checks addresses that nothing here has, and its 38 grammars take 1.5 seconds of each process that reads a notebook.
sys.modules.setdefault("rfc3987_syntax", None)  # pyright: ignore[reportArgumentType]

# PyTorch makes and drops many small objects: to look for cycles among a million of them took an eighth of the time.
gc.set_threshold(20_000, 10, 10)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request

HOW = "pip install playwright; apt-get install chromium (or set CHROMIUM to the path of a Chromium or Chrome)"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a rule for requests would switch the cache off
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than cores: a test that drives a page waits for its server and its browser most of the time."""
    return (yield) + ("PYTEST_XDIST_AUTO_NUM_WORKERS" not in os.environ)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test draws the same random numbers, whichever tests ran before it in this process."""
    random.seed(seed := FUZZ_SEED or 0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.fixture(autouse=True, scope="session")
def heap_is_frozen() -> None:
    """What was imported lives as long as the process: no search for cycles needs to look at it."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session")
def tab(browser: "Browser") -> "Page":
    """One for all tests: a new one takes more than twice as long to fetch and compile the scripts of a page."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    if factor := os.environ.get("SLOW_PAGES"):
        context.on("page", lambda page: _slow_down(page, float(factor)))
    return context.new_page()


@pytest.fixture
def page(tab: "Page") -> "Iterator[Page]":
    """The tab as if it were new; what other tabs a test opens are closed behind it."""
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
    tab.goto("about:blank")
    tab.mouse.move(0, 0)
    tab.emulate_media(color_scheme="null", reduced_motion="null", forced_colors="null")
    tab.context.clear_cookies()
    assert outside == []
    assert problems == []
