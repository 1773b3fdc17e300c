"""Errors while the dashboard is in use appear on the page, which remains usable; a page that loads has its theme."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from explorer.templates import gallery
from tests.browser.conftest import Dashboard, Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, WebSocketRoute

pytestmark = pytest.mark.browser


def test_files_that_were_deleted_or_truncated_are_alerts_and_a_refusal_is_a_status(
    dashboard: Callable[..., Dashboard], server: Server
) -> None:
    gone, cut = (server.folder / f"{name}.circuit.json" for name in ("soon-gone", "cut"))
    for file in (gone, cut):
        gallery.load_named("blackboard").save(file)
    page = dashboard(fresh=True)
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:200])

    page.choose("Circuit", gone.name)
    page.page.get_by_role("alert").filter(has_text=f"no circuit or trace named '{gone.name}'").wait_for()
    page.choose("Circuit", cut.name)
    page.page.get_by_role("alert").filter(has_text=f"{cut.name} is not a circuit or trace file").wait_for()
    assert page.picture()["caption"] == "170 layers compiled"
    page.press("Close")
    page.wait(lambda: page.page.get_by_role("alert").count() == 0, "the end of the message")

    page.tool("Pipeline")
    page.press("Disable this step")
    page.page.get_by_role("status").filter(has_text="cannot be disabled").wait_for()
    page.page.get_by_role("slider").first.focus()
    page.page.keyboard.press("End")
    page.wait_for_step(10)


def test_uploads_that_are_empty_too_large_or_broken_are_refused_in_the_page(
    dashboard: Callable[..., Dashboard], tmp_path: Path
) -> None:
    page = dashboard("?circuit=conflict")
    page.tool("Files")
    chooser = page.page.locator("input[type=file]")
    told = page.page.get_by_role("alert")
    for name, content, words in (
        ("empty.json", b"", "it is empty"),
        ("broken.json", b"{", "broken.json is not a circuit or trace file"),
        ("large.json", b" " * (21 * 2**20), 'File "large.json" (21 MB) exceeds maximum file size of 20 MB'),
        ("broken.json", b"{", "broken.json is not a circuit or trace file"),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        if name == "large.json":
            page.page.evaluate("() => { console.error = () => {} }")  # the browser's own report
        page.until(words, lambda file=file: chooser.set_input_files(file))
        told.filter(has_text=words).wait_for()
    progress = page.page.get_by_role("status").filter(has_text="Reading")
    page.wait(lambda: progress.count() == 0, "the end of the progress")


def test_a_stopped_server_is_told_and_the_picture_stays(browsing: "Page", server: Server) -> None:
    """The page loses its connection, as it does when the process ends."""
    connections: list[WebSocketRoute] = []

    def connect(connection: "WebSocketRoute") -> None:
        connection.connect_to_server()
        connections.append(connection)

    page = browsing.context.new_page()
    page.route_web_socket("**/ws*", connect)
    shown = Dashboard(page)
    shown.load(f"{server.url}?step=3")
    assert page.get_by_role("alert").count() == 0
    boxes = page.locator(".ce-box").count()
    connections[0].close()
    page.get_by_role("alert").filter(has_text="The server has stopped. The picture stays").wait_for(timeout=2000)
    for name in ("First step", "Previous step", "Next step", "Last step", "Play"):
        assert page.get_by_role("button", name=name).is_disabled()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("slider").first.get_attribute("aria-valuetext") == shown.picture()["title"]
    assert page.locator(".ce-box").count() == boxes


def test_a_page_that_loads_has_the_chosen_theme_and_that_of_the_system(browser: "Browser", server: Server) -> None:
    """A page whose models never arrive shows what is drawn before them."""
    context = browser.new_context(color_scheme="dark")
    page = Dashboard(context.new_page())
    ground = "() => getComputedStyle(document.querySelector('#loader')).backgroundColor"  # it covers the page
    page.page.route("**/*.js*", lambda route: route.abort())
    page.page.goto(f"{server.url}?circuit=digits")
    assert page.page.evaluate(ground) == "rgb(18, 18, 18)"
    page.page.unroute_all()
    page.load(f"{server.url}?circuit=digits")
    page.page.locator(".ce-root[data-theme=dark]").wait_for()
    page.press("Theme")
    page.page.locator(".ce-root[data-theme=light]").wait_for()
    page.page.route("**/*.js*", lambda route: route.abort())
    page.page.reload()
    assert page.page.evaluate(ground) == "rgb(255, 255, 255)"
    page.page.unroute_all()
    page.load(f"{server.url}?circuit=digits")
    page.page.locator(".ce-root[data-theme=light]").wait_for()
    context.close()
