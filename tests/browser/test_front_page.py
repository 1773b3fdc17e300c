"""The front page in a real browser: one small answer of the server, accessible, and a click opens the circuit."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from explorer.templates import gallery
from tests.browser.axe import serious_violations
from tests.browser.conftest import Dashboard, Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

MAX_BYTES = 400_000


def test_a_card_of_the_front_page_opens_its_circuit(
    browsing: "Page", server: Server, resize: Callable[[int, int], None]
) -> None:
    resize(320, 800)
    browsing.emulate_media(color_scheme="dark")
    answer = browsing.goto(server.url)
    assert answer is not None
    assert len(answer.body()) < MAX_BYTES
    assert browsing.evaluate("performance.getEntriesByType('resource').length") == 0  # no script to wait for
    assert browsing.locator(".card svg").first.is_visible()
    assert browsing.locator(".card").count() == len(gallery.names())
    assert browsing.evaluate("document.documentElement.scrollWidth") <= 320
    assert serious_violations(browsing) == []
    browsing.locator(".card").nth(list(gallery.names()).index("conflict")).click(position={"x": 200, "y": 60})
    Dashboard(browsing).wait_until_shown()
    assert browsing.url == f"{server.url}?circuit=conflict"
