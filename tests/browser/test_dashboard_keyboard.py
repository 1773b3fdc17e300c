"""The dashboard by keyboard alone: keys work before the first click, and the focus is never lost."""

from collections.abc import Callable

import pytest

from tests.browser.conftest import MENU, Dashboard

pytestmark = pytest.mark.browser

Open = Callable[..., Dashboard]

FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at.dataset.id || at.localName;
}"""
"""The box that has the focus, or the kind of element."""


def test_keys_work_on_a_fresh_page_and_after_the_focused_box_is_rewritten(dashboard: Open) -> None:
    page = dashboard("?step=3", fresh=True, color_scheme="dark")
    page.page.locator(".ce-root[data-theme=dark]").wait_for()
    keys = page.page.keyboard
    assert page.page.evaluate(FOCUSED) == "body"
    keys.press("ArrowLeft")
    page.wait_for_step(0)
    keys.press("ArrowRight")
    page.wait_for_step(3)

    fused = page.page.locator(".ce-box[data-id^='g234x16-']")
    fused.click()
    for step in (7, 8, 9):  # step 9 folds the 16 layers of the box into one
        keys.press("ArrowRight")
        page.wait_for_step(step)
    page.wait(lambda: page.trait("selection") == ["n257"], "the selection of the folded layer")
    page.wait(lambda: page.page.evaluate(FOCUSED) == "n257", "the focus on the folded layer")
    keys.press("ArrowLeft")
    page.wait_for_step(8)
    page.wait(lambda: page.page.evaluate(FOCUSED).startswith("g234x16-"), "the focus on the 16 layers")
    keys.press("End")
    page.wait_for_step(10)


def test_w_says_why_not_and_the_keys_still_work(dashboard: Open) -> None:
    page = dashboard("?step=3")
    page.page.locator(".ce-box[data-id^='g64x64-']").click()
    page.page.keyboard.press("w")
    page.see("Why not")
    page.see("In step 3, fuse, round 1.")
    page.page.keyboard.press("ArrowRight")
    page.wait_for_step(7)


def test_fields_and_menus_keep_their_keys(dashboard: Open) -> None:
    page = dashboard("?step=3")
    search = page.page.get_by_role("searchbox", name="Search")
    search.fill("level")
    page.page.keyboard.press("Home")
    page.page.keyboard.press("d")
    assert search.input_value() == "dlevel"
    page.page.get_by_role("combobox", name="Circuit").click()
    page.page.keyboard.press("Home")
    page.page.keyboard.press("Escape")
    page.page.locator(MENU).wait_for(state="detached")
    assert page.trait("step") == 3
    assert page.trait("view")["mode"] == "diff"
