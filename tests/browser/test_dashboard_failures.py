"""Errors while the dashboard is in use appear on the page, which remains usable."""

from collections.abc import Callable

import pytest

from explorer.templates import gallery
from tests.browser.conftest import Dashboard, Server

pytestmark = pytest.mark.browser


def test_choosing_a_file_that_was_deleted_shows_an_error(dashboard: Callable[..., Dashboard], server: Server) -> None:
    file = server.folder / "soon-gone.circuit.json"
    gallery.load_named("blackboard").save(file)
    page = dashboard("?step=3")
    file.unlink()
    page.choose("Circuit", "soon-gone.circuit.json")
    alert = page.page.get_by_role("alert").filter(has_text="no circuit or trace named 'soon-gone.circuit.json'")
    alert.wait_for()
    page.press("Close")
    page.page.get_by_role("slider").first.focus()
    page.page.keyboard.press("End")
    page.wait_for_step(11)


def test_choosing_a_truncated_file_shows_an_error(dashboard: Callable[..., Dashboard], server: Server) -> None:
    file = server.folder / "cut.circuit.json"
    gallery.load_named("blackboard").save(file)
    page = dashboard()
    file.write_bytes(file.read_bytes()[:200])
    page.choose("Circuit", "cut.circuit.json")
    page.page.get_by_role("alert").filter(has_text="cut.circuit.json is not a circuit or trace file").wait_for()
    assert page.picture()["caption"] == "170 layers compiled"
