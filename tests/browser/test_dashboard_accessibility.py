"""The dashboard for readers who cannot see it, have no mouse, or prefer dark colours."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from explorer.app.dashboard.panes.compare import OperatorsTool
from explorer.app.dashboard.panes.tools import TOOLS
from tests.browser.axe import colour_violations, serious_violations, serious_violations_in, settled
from tests.browser.conftest import MENU, Dashboard

pytestmark = pytest.mark.browser

Open = Callable[..., Dashboard]
TITLES = tuple(tool.title for tool in TOOLS if tool is not OperatorsTool)
EVERY_CONTROL = ("Measure", "Query", "Pattern", "Pipeline")
"""Together they have every kind of control."""
EVERY_COLOUR = ("Measure", "Pattern")
"""Together they have every colour."""
COLOURS = "color-contrast"
DRAWER = ".scrollable-vertical"
CONTROLS = (
    "button, select, textarea, a[href], summary, input:not([type=file]):not([aria-hidden=true]), "
    "[role=combobox], [role=treeitem], [role=slider]"
)

# Width and height of each target: of a field with its frame, of a checkbox with its label.
SMALL = """controls => controls.filter(
  (control) => control.checkVisibility({ visibilityProperty: true })
).map((control) => {
  const target = control.closest('label, .MuiInputBase-root') || control;
  const { width, height } = target.getBoundingClientRect();
  return { width: Math.round(width), height: Math.round(height), html: control.outerHTML.slice(0, 120) };
}).filter(({ width, height }) => width > 1 && (width < 24 || height < 24))"""

NAMELESS = """inputs => inputs.filter(
  (input) => input.checkVisibility() && input.getAttribute('aria-hidden') !== 'true'
).filter(
  (input) => !input.labels?.length && !input.getAttribute('aria-label') && !input.getAttribute('aria-labelledby')
).map((input) => input.outerHTML.slice(0, 160))"""


FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at.innerText.split('\\n')[0];
}"""


def open_tool(page: Dashboard, title: str) -> Any:
    """Open a tool; return the drawer once it shows the tool."""
    page.tool(title)
    drawer = page.page.locator(DRAWER)
    page.see(next(tool.help for tool in TOOLS if tool.title == title))
    return drawer


def problems_in(drawer: Any, axe: bool) -> list[str]:
    """Small targets, fields without names and what axe finds in the drawer."""
    small = drawer.locator(CONTROLS).evaluate_all(SMALL)
    nameless = drawer.locator("input, textarea, select").evaluate_all(NAMELESS)
    return [*map(str, small), *nameless, *(serious_violations_in(drawer) if axe else ())]


@pytest.mark.parametrize(
    ("titles", "by_axe"),
    [(EVERY_CONTROL, EVERY_COLOUR), pytest.param(TITLES, TITLES, marks=pytest.mark.fuzz)],
)
def test_the_page_and_its_tools_are_accessible_in_the_light_and_in_the_dark(
    dashboard: Open, titles: tuple[str, ...], by_axe: tuple[str, ...]
) -> None:
    """Large targets, named fields, and what axe checks, which takes longest."""
    page = dashboard("?step=3", color_scheme="light")
    page.page.wait_for_selector(".ce-root[data-theme=light]")
    assert settled(lambda: serious_violations(page.page), page.page) == []
    found = {"": page.page.locator(CONTROLS).evaluate_all(SMALL)}
    for title in titles:
        drawer = open_tool(page, title)
        drawer.locator(CONTROLS).first.wait_for()
        found[title] = settled(partial(problems_in, drawer, title in by_axe), page.page)
    assert {title: problems for title, problems in found.items() if problems} == {}
    drawer = page.page.locator(DRAWER)
    drawer.evaluate("(drawer) => drawer.shadowRoot.append(document.createElement('button'))")
    assert [line.split(" ")[0] for line in serious_violations_in(drawer)] == ["button-name"]  # axe looks into it
    drawer.evaluate("(drawer) => drawer.shadowRoot.lastElementChild.remove()")

    dashboard("?step=3", color_scheme="dark")
    page.page.wait_for_selector(".ce-root[data-theme=dark]")
    assert settled(lambda: colour_violations(page.page), page.page) == []
    for title in by_axe:
        drawer = open_tool(page, title)
        assert settled(lambda drawer=drawer: serious_violations_in(drawer, COLOURS), page.page) == [], title


@pytest.mark.parametrize(("width", "height"), [(640, 400), pytest.param(1024, 600, marks=pytest.mark.fuzz), (320, 640)])
def test_graph_keeps_a_usable_height_at_200_percent_and_on_a_phone(
    dashboard: Open, resize: "Callable[[int, int], None]", width: int, height: int
) -> None:
    page = dashboard("?step=3")
    resize(width, height)
    options = page.page.get_by_role("button", name="Tools", exact=True)
    options.wait_for()  # the header has collapsed
    stage = page.page.locator(".ce-view").bounding_box()
    assert stage is not None
    assert stage["height"] >= min(240, height / 2)
    assert stage["width"] >= min(620, width - 10)
    assert page.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")

    options.click()
    for field in (page.page.get_by_role("combobox", name="Level"), page.page.get_by_role("button", name="Files")):
        box = field.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
    page.tool("Files")  # the page scrolls to it
    page.see("Open a circuit, a trace or a checkpoint")
    page.tool("Files")
    options.click()
    legend = page.page.locator("summary", has_text="Legend")
    legend.scroll_into_view_if_needed()
    assert not page.page.get_by_role("list", name="Legend").is_visible()
    legend.click()
    page.page.get_by_role("list", name="Legend").wait_for()
    legend.click()
    assert settled(lambda: serious_violations(page.page), page.page) == []

    resize(1280, 800)
    options.wait_for(state="detached")
    page.page.get_by_role("button", name="Pipeline").wait_for()


@pytest.mark.parametrize("titles", [("",), pytest.param(TITLES, marks=pytest.mark.fuzz)])
def test_every_open_menu_is_accessible(dashboard: Open, titles: tuple[str, ...]) -> None:
    page = dashboard("?step=3")
    found: dict[str, list[str]] = {}
    for title in titles:
        place = open_tool(page, title) if title else page.page.locator("header")
        place.locator(CONTROLS).first.wait_for()
        fields = [
            field for field in place.get_by_role("combobox").all() if field.get_attribute("aria-disabled") is None
        ]
        assert fields or title not in ("", "Pattern")
        for number, field in enumerate(fields):
            field.click()
            menu = page.page.locator(MENU)
            menu.wait_for()
            part = menu if number else page.page.locator("html")  # the rest of the page is the same for each menu
            found[f"{title} {number}"] = settled(lambda part=part: serious_violations_in(part), page.page)
            page.page.keyboard.press("Escape")
            page.page.locator(MENU).wait_for(state="detached")
    assert {menu: problems for menu, problems in found.items() if problems} == {}


@pytest.mark.fuzz
def test_the_operands_of_a_product_are_accessible(dashboard: Open) -> None:
    page = dashboard("?circuit=squared", color_scheme="light")
    drawer = page.page.locator(DRAWER)
    drawer.locator(".ced-cell").first.wait_for()
    drawer.locator(".ced-cell").first.focus()
    page.page.keyboard.press("Enter")
    drawer.get_by_text("Categorical 0 of A").first.wait_for()
    assert settled(lambda: problems_in(drawer, axe=True), page.page) == []
