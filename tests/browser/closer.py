"""The close-up, the rule lens and the slides of digits, driven once in each host that has Python."""

from typing import TYPE_CHECKING

from widgets.theme import CLOSEUPS

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def look_closer(page: "Page", view: "Locator") -> None:
    """Drive them at step 3 of digits, where a plate is selected and a picture has the focus."""
    panel = view.locator(".ce-closeup")
    for name in CLOSEUPS.values():
        part = panel.get_by_role("button", name=name, exact=True)
        part.click()
        page.wait_for_function("button => button.getAttribute('aria-pressed') === 'true'", arg=part.element_handle())
    panel.get_by_text("CPT").first.wait_for()
    view.locator(".ce-box.ce-selected").first.focus()
    page.keyboard.press("]")
    view.locator(".ce-lens-place b", has_text="Match 1 of 85").wait_for()
    view.locator(".ce-lens-verdict", has_text="It matches").wait_for()
    page.keyboard.press("Escape")
    view.locator(".ce-lens").wait_for(state="hidden")
    story = view.get_by_role("button", name="Story", exact=True)
    if not story.is_visible():  # in a notebook it is with the details
        view.get_by_role("button", name="Details", exact=True).click()
    story.click()
    view.locator(".ce-slide-head h2", has_text="The circuit").wait_for()
    page.keyboard.press("ArrowRight")
    view.locator(".ce-slide-head p", has_text="Which plates take part?").wait_for()
    view.locator(".ce-plate").first.click()
    page.keyboard.press("Enter")
    view.locator(".ce-slide-head p", has_text="Not quite.").wait_for()
    page.keyboard.press("Escape")
    view.locator(".ce-slide-head").wait_for(state="hidden")
