"""Errors while the dashboard is in use appear on the page, which remains usable; what is drawn first has its theme."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import explorer
from tests.browser.conftest import SOUND, STRANGE, STRANGE_NAME, Dashboard, Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_a_link_cannot_leave_the_folder_and_text_from_its_files_stays_text(
    dashboard: Callable[..., Dashboard], server: Server
) -> None:
    secret = server.folder.parent / "secret.trace.json"
    explorer.record(explorer.gallery.load_named("blackboard")).save(secret)
    page = dashboard("?circuit=../secret.trace.json", fresh=True)
    page.see("The link cannot be opened: no circuit or trace named '../secret.trace.json'")
    assert page.picture()["caption"] == "170 layers compiled"
    page.choose("Circuit", STRANGE)
    page.wait(lambda: "circuit=strange" in page.page.url, "the circuit of the file")
    page.page.locator(".ce-box").first.click()
    page.see(STRANGE_NAME)
    assert page.page.locator("script", has_text="alert(1)").count() == 0


def test_files_that_were_deleted_or_truncated_are_alerts_and_a_refusal_is_a_status(
    dashboard: Callable[..., Dashboard], server: Server
) -> None:
    gone, cut = (server.folder / name for name in SOUND)
    page = dashboard()
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
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
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
        ("chunks.json", b"{" + b" " * (5 * 2**20), "chunks.json is not a circuit or trace file"),
    ):
        file = tmp_path / name
        file.write_bytes(content)
        if name == "large.json":
            page.page.evaluate("() => { console.error = () => {} }")  # the browser's own report
        page.until(words, lambda file=file: chooser.set_input_files(file))
        told.filter(has_text=words).wait_for()
    progress = page.page.get_by_role("status").filter(has_text="Reading")
    page.wait(lambda: progress.count() == 0, "the end of the progress")


def test_placeholder_has_the_theme_of_the_system_or_the_chosen_one(browser: "Browser", server: Server) -> None:
    """Here they never arrive."""
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    ground = "() => getComputedStyle(document.querySelector('#loader')).backgroundColor"  # it covers the page
    page.route("**/*.js*", lambda route: route.abort())
    page.goto(f"{server.url}?circuit=digits")
    assert page.evaluate(ground) == "rgb(18, 18, 18)"
    page.evaluate("() => localStorage.setItem('circuit-explorer-theme', 'light')")
    page.reload()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    context.close()


CATCH_SOCKET = """() => {
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (...sent) {
    globalThis.socket = this;
    return send.apply(this, sent);
  };
}"""


def test_a_stopped_server_is_told_and_the_picture_stays(dashboard: Callable[..., Dashboard]) -> None:
    """The page loses its connection, as it does when the process ends. It is the last test of this page."""
    shown = dashboard("?step=3")
    page = shown.page
    page.evaluate(CATCH_SOCKET)
    shown.settle()
    assert page.get_by_role("alert").count() == 0
    boxes = page.locator(".ce-box").count()
    page.evaluate("() => socket.close()")
    page.get_by_role("alert").filter(has_text="The server has stopped. The picture stays").wait_for()
    for name in ("First step", "Previous step", "Next step", "Last step", "Play"):
        assert page.get_by_role("button", name=name).is_disabled()
    page.keyboard.press("ArrowRight")
    current = page.locator(".ce-frame[aria-current=step]")
    assert current.locator("> .ce-said").inner_text().startswith(shown.picture()["title"])
    assert page.locator(".ce-box").count() == boxes
    page.goto("about:blank")
