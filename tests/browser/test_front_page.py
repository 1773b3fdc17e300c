"""The front page in a real browser: usable at once, accessible, and a click opens the circuit."""

import time
from typing import TYPE_CHECKING

import pytest

from tests.browser.axe import serious_violations
from tests.browser.conftest import Server
from tests.chromium import WAIT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

USABLE_SECONDS = 2


def test_a_card_of_the_front_page_opens_its_circuit(browser: "Browser", server: Server) -> None:
    context = browser.new_context(color_scheme="dark", viewport={"width": 320, "height": 800})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    started = time.perf_counter()
    page.goto(server.url)
    page.locator(".card svg").first.wait_for()
    assert time.perf_counter() - started < USABLE_SECONDS
    assert page.locator(".card").count() == 10
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert serious_violations(page) == []
    page.locator(".card").nth(3).click(position={"x": 200, "y": 60})
    page.wait_for_selector(".ce-plate")
    assert page.url == f"{server.url}?circuit=conflict"
    context.close()
