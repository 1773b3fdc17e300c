"""The exported page for readers who cannot see it, have no mouse, or changed the settings of their system."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import explorer
from explorer.templates import gallery
from explorer.views import TraceIndex, picture, recording
from explorer_widgets import page_html
from explorer_widgets.schema import GroupBy
from tests.browser.axe import colour_violations, serious_violations
from tests.chromium import WAIT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CIRCUITS = pytest.mark.parametrize("name", ["conflict", pytest.param("digits", marks=pytest.mark.fuzz)])
FUSE = 3
"""The step of the first fusion, in both circuits."""
MOVING_MS = 300
"""Boxes move a little longer than this."""
PLAYING_MS = 2_000
"""The first step that plays is shown sooner."""
MINUTE_MS = 60_000


@cache
def index_of(name: str) -> TraceIndex:
    return TraceIndex(explorer.record(gallery.load_named(name)))


@cache
def html_of(name: str, group_by: GroupBy) -> str:
    return page_html(recording(index_of(name), name, modes=("diff", "before", "after"), group_by=group_by))


@pytest.fixture
def show(page: "Page", tmp_path: Path) -> "Callable[..., Page]":
    def shown(name: str, step: int = 0, group_by: GroupBy = "fold", **media: Any) -> "Page":
        return opened(page, tmp_path, name, step, group_by, **media)

    return shown


@pytest.fixture(scope="module")
def stopped(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[..., Page]]":
    """Open a page on which time passes only while a test says so: `page.clock.run_for(milliseconds)`."""
    context = browser.new_context()
    context.set_default_timeout(WAIT_MS)
    context.clock.install(time=0)
    context.clock.pause_at(1000)
    page, folder = context.new_page(), tmp_path_factory.mktemp("stopped")

    def show(name: str, **media: Any) -> "Page":
        page.goto("about:blank")
        return opened(page, folder, name, **{"reduced_motion": "no-preference", **media})

    yield show
    context.close()


def opened(page: "Page", folder: Path, name: str, step: int = 0, group_by: GroupBy = "fold", **media: Any) -> "Page":
    """Open the exported page of a circuit at a step, as a graph or as plates."""
    page.emulate_media(**media)
    file = folder / f"{name}.html"
    file.write_text(html_of(name, group_by), encoding="utf-8")
    page.goto(f"{file.as_uri()}#step={step}&mode=diff")
    page.wait_for_selector(".ce-box")
    return page


def trait(page: "Page", name: str) -> Any:
    return page.evaluate("name => circuitExplorer.model.get(name)", name)


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("conflict", "light"),
        pytest.param("conflict", "dark", marks=pytest.mark.fuzz),  # axe looks at plates in the dark in `test_plates.py`
        pytest.param("digits", "light", marks=pytest.mark.fuzz),
        pytest.param("digits", "dark", marks=pytest.mark.fuzz),
    ],
)
@pytest.mark.parametrize("group_by", ["plates", pytest.param("fold", marks=pytest.mark.fuzz)])
def test_axe_finds_nothing_serious(show: "Callable[..., Page]", name: str, scheme: str, group_by: GroupBy) -> None:
    page = show(name, FUSE, group_by, color_scheme=scheme)
    page.wait_for_selector(f".ce-root[data-theme={scheme}]")
    violations = serious_violations if scheme == "light" else colour_violations
    assert violations(page) == []
    page.click(".ce-box >> nth=0")
    page.click("[aria-label^=Keys]")
    assert violations(page) == []
    page.click("[aria-label^=Keys]")
    page.click("[aria-label^=Table]")
    assert violations(page) == []
    page.click("[data-mode=side]")
    assert violations(page) == []


def test_axe_finds_violations(show: "Callable[..., Page]") -> None:
    page = show("conflict")
    page.evaluate(
        "() => { const button = document.createElement('button'); document.querySelector('.ce-root').append(button); }"
    )
    assert [line.split(" ")[0] for line in serious_violations(page, ".ce-root")] == ["button-name"]


@CIRCUITS
def test_the_table_holds_what_the_picture_shows(show: "Callable[..., Page]", name: str) -> None:
    page = show(name, FUSE)
    boxes = page.eval_on_selector_all(".ce-box", "boxes => boxes.map((box) => box.dataset.id)")
    signs = page.eval_on_selector_all(".ce-sign text", "signs => signs.map((sign) => sign.textContent)")
    tags = page.eval_on_selector_all(".ce-tag text:not(.ce-tag-sign)", "tags => tags.map((tag) => tag.textContent)")
    page.click("[aria-label^=Table]")
    heads = page.eval_on_selector_all(".ce-table th", "cells => cells.map((cell) => cell.textContent)")
    rows = page.eval_on_selector_all(
        ".ce-table tbody tr",
        "rows => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))",
    )
    made = picture(index_of(name), FUSE).view
    assert heads == made["table"]["columns"]
    assert rows == made["table"]["rows"]
    cells = {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
    assert list(cells) == boxes
    assert [cell["matched"] for cell in cells.values()].count("yes") == signs.count("M") > 0
    changes = [cell["change"] for cell in cells.values()]
    assert (changes.count("added"), changes.count("removed")) == (signs.count("+"), signs.count("−"))
    said = " ".join(cell["matches"] for cell in cells.values())
    assert tags
    assert all(tag.rstrip("…") in said for tag in tags)
    edges = sum(len(cell["reads"].split("; ")) for cell in cells.values() if cell["reads"])
    assert edges == len(made["edges"])


@CIRCUITS
def test_every_target_is_at_least_24_pixels(show: "Callable[..., Page]", name: str) -> None:
    page = show(name, FUSE)
    page.click(".ce-box >> nth=0")
    small = page.eval_on_selector_all(
        ".ce-root button, .ce-root select, .ce-root input, .ce-root summary, .ce-box",
        """elements => elements.filter((element) => element.getClientRects().length).map((element) => {
             const target = element.type === 'checkbox' ? element.closest('label') : element;
             const { width, height } = target.getBoundingClientRect();
             return { width, height, html: element.outerHTML.slice(0, 80) };
           }).filter(({ width, height }) => width < 24 || height < 24)""",
    )
    assert small == []


def test_the_film_and_the_live_region_name_the_step(show: "Callable[..., Page]") -> None:
    page = show("conflict")
    frame = page.locator(".ce-frame[aria-current=step]")
    assert page.get_by_role("button", name="Step 0 of 12: compile. 12 calls", exact=True).is_visible()
    frame.focus()
    page.keyboard.press("ArrowRight")
    name = "Step 3 of 12: fuse, round 1, 7 of 9 matches. 9 calls"
    assert page.get_by_role("button", name=name, exact=True).is_visible()
    assert frame.evaluate("(one) => one === document.activeElement")
    page.wait_for_function("() => document.querySelector('[aria-live=polite]').textContent")
    assert page.text_content("[aria-live=polite]") == (
        "7 layers created, 10 removed; 2 matches lost a conflict. 9 layers and 10 removed. Showing 9 groups."
    )


@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_boxes_move_unless_motion_is_reduced(stopped: "Callable[..., Page]", motion: str, moves: bool) -> None:
    page = stopped("conflict", reduced_motion=motion)
    first = places_of_boxes(page)
    page.evaluate("() => { circuitExplorer.model.set('step', 3); circuitExplorer.model.save_changes(); }")
    page.clock.run_for(MOVING_MS // 2)
    halfway = places_of_boxes(page)
    page.clock.run_for(10 * MOVING_MS)
    last = places_of_boxes(page)
    assert last != first
    assert (halfway != last) == moves


def places_of_boxes(page: "Page") -> list[str]:
    return page.eval_on_selector_all(".ce-box", "boxes => boxes.map((box) => box.getAttribute('transform'))")


def test_forced_colours_leave_outlines_signs_and_words(show: "Callable[..., Page]") -> None:
    page = show("conflict", FUSE, forced_colors="active")
    page.wait_for_selector(".ce-face[fill=Canvas]")
    lines = set(page.eval_on_selector_all(".ce-face", "faces => faces.map((face) => face.getAttribute('stroke'))"))
    assert lines <= {"CanvasText", "Highlight", "GrayText", "LinkText", "ButtonText"}
    removed = page.eval_on_selector_all(
        ".ce-is-removed .ce-face", "faces => faces.map((f) => f.getAttribute('stroke-dasharray'))"
    )
    assert removed
    assert all(removed)
    texts = page.eval_on_selector_all(".ce-title", "texts => texts.map((text) => text.getAttribute('fill'))")
    assert not any(re.match("#", text) for text in texts)


def test_letter_keys_act_outside_of_fields_until_they_are_switched_off(show: "Callable[..., Page]") -> None:
    page = show("conflict")
    page.get_by_role("searchbox").focus()
    page.keyboard.press("d")
    assert trait(page, "view")["mode"] == "diff"
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("d")
    assert trait(page, "view")["mode"] == "after"
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Enable letter keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    assert trait(page, "view")["mode"] == "after"


def test_nothing_plays_by_itself_and_a_button_stops_what_plays(stopped: "Callable[..., Page]") -> None:
    page = stopped("conflict")
    page.clock.run_for(MINUTE_MS)
    assert trait(page, "step") == 0
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(PLAYING_MS)
    step = trait(page, "step")
    assert step > 0
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(MINUTE_MS)
    assert trait(page, "step") == step
