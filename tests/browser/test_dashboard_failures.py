"""Errors while the dashboard is in use appear on the page, which remains usable."""

from collections.abc import Callable

import pytest

from explorer.templates import gallery
from tests.browser.conftest import Dashboard, Server

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
    page.wait_for_step(11)
