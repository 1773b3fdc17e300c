"""Lessons as pages, opened from disk: pictures step, questions are answered, nobody is asked for anything."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.axe import serious_violations
from tests.needed import is_missing

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
OPENED = ("00", "05")
"""The lessons that are built and opened here: the first one, and the one with the most pictures."""

INTRODUCTION = """# 0. Tiny

You will be able to read $y_o = \\sum_i w_{oi} x_i$ and see

$$\\log \\sum_i e^{x_i}.$$

About 1 minute."""
CELLS = (
    "import explorer\n\ntrace = explorer.record(explorer.gallery.load_named('conflict'))\nprint(trace)",
    "explorer.ask(trace, 'fold-with', node=14)",
    "explorer.ask(trace, 'winner')",
    "explorer.ask(trace, 'layers-left', step=3)",
    "explorer.show(trace, step=3)",
    "explorer.show(trace, fold_level=1)",
    "from explorer.views import TraceIndex, course\n\nexplorer.show(course(TraceIndex(trace), 'layers'))",
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a lesson that was really run."""
    nbformat = needed()
    from explorer.app.course import build_course

    folder = tmp_path_factory.mktemp("lessons")
    cells = [nbformat.v4.new_markdown_cell(INTRODUCTION), *map(nbformat.v4.new_code_cell, CELLS)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "00_tiny.ipynb")
    assert list(build_course(folder, folder / "pages")) == ["00_tiny"]
    return folder / "pages" / "00_tiny.html"


def needed() -> Any:
    for package in ("nbclient", "anywidget", "latex2mathml"):
        if importlib.util.find_spec(package) is None:
            is_missing(package, "pip install 'circuit-explorer[ui]'")
    import nbformat

    return nbformat


@pytest.fixture
def shown(page: "Page") -> "Callable[..., Page]":
    def shown(file: Path, **media: Any) -> "Page":
        page.emulate_media(reduced_motion="reduce", **media)
        page.goto(file.as_uri())
        page.wait_for_function("document.querySelectorAll('[data-view]').length === circuitExplorer.models.length")
        return page

    return shown


def view(page: "Page", number: int) -> "Locator":
    return page.locator(f"[data-view='{number}']")


def trait(page: "Page", number: int, name: str) -> Any:
    return page.evaluate("([n, name]) => circuitExplorer.models[n].get(name)", [number, name])


def button(part: "Locator", name: str) -> "Locator":
    return part.get_by_role("button", name=name, exact=True)


def test_a_picture_steps_and_selects(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    graph = view(page, 3)
    slider = graph.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("circuitExplorer.models[3].get('step') === 6")
    assert (slider.get_attribute("aria-valuetext") or "").startswith("Step 6 of 12: fuse, round 2")
    assert trait(page, 4, "step") == 11  # the other picture of the same trace stays
    graph.locator(".ce-box").first.click()
    assert len(trait(page, 3, "selection")) == 1
    button(graph, "Side by side").click()
    assert graph.locator(".ce-view").count() == 2


def test_the_table_of_a_level_follows_the_step(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    levels = view(page, 4)
    levels.get_by_text("Level 1: 2 layers in 1 group").wait_for()
    levels.locator("input[type=range]").focus()
    page.keyboard.press("ArrowLeft")
    levels.get_by_text("Level 0: 4 layers in 1 group").wait_for()
    assert not levels.get_by_text("Level 1: 2 layers in 1 group").is_visible()
    page.keyboard.press("Home")
    levels.get_by_text("This step folds nothing. Levels are folded in steps 10, 11, 12.").wait_for()


def test_layers_are_clicked_checked_and_the_answer_is_shown(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    asked = view(page, 0)
    for layer in ("n12", "n13", "n19"):
        asked.locator(f".ce-box[data-id={layer}]").click()
    asked.get_by_text("Chosen: 12, 13, 19.").wait_for()
    button(asked, "Check").click()
    assert "Not these: 19." in asked.locator(".ceq-bad").inner_text()
    asked.locator(".ce-box[data-id=n19]").click()
    asked.locator(".ce-box[data-id=n15]").click()
    button(asked, "Check").click()
    assert "Right: 3 other layers." in asked.locator(".ceq-good").inner_text()
    button(asked, "Reveal").click()
    asked.locator(".ce-box[data-id=n21].ce-selected").wait_for()
    assert (trait(page, 0, "step"), trait(page, 0, "view")["mode"]) == (10, "diff")
    button(asked, "Back to the question").click()
    asked.locator(".ce-box[data-id=n14].ce-selected").wait_for()
    assert trait(page, 0, "step") == 9


def test_a_question_is_answered_by_the_keyboard_alone(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    asked = view(page, 0)
    asked.locator(".ce-box[tabindex='0']").focus()
    for _ in range(3):  # no key leads on to the step that is asked about
        page.keyboard.press("ArrowRight")
    assert trait(page, 0, "step") == 9
    page.keyboard.press("Enter")
    asked.get_by_text("Chosen: ").wait_for()
    button(asked, "Check").focus()
    page.keyboard.press("Enter")
    asked.locator(".ceq-verdict.ceq-bad").wait_for()

    winner = view(page, 1)
    winner.get_by_label("Candecomp at 8, 7").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "lost by the strategy largest-match" in winner.locator(".ceq-good").inner_text()

    number = view(page, 2).get_by_role("spinbutton", name="Layers")
    number.fill("9")
    number.press("Enter")
    assert "Right: 9 layers." in view(page, 2).locator(".ceq-good").inner_text()


@pytest.mark.parametrize("media", [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}])
def test_axe_finds_nothing_serious(tiny: Path, shown: "Callable[..., Page]", media: dict[str, Any]) -> None:
    page = shown(tiny, **media)
    button(view(page, 0), "Check").click()
    assert serious_violations(page) == []


def test_formulas_are_drawn_without_a_script(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    heights = page.eval_on_selector_all("math", "all => all.map((one) => one.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert min(heights) > 10


def test_a_small_screen_needs_no_scrolling_sideways(tiny: Path, page: "Page") -> None:
    size = page.viewport_size
    try:
        page.set_viewport_size({"width": 390, "height": 800})
        page.goto(tiny.as_uri())
        page.wait_for_selector(".ceq-root")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        page.set_viewport_size(size or {"width": 1280, "height": 800})


@pytest.fixture(scope="module", params=OPENED)
def lesson(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed()
    from explorer.app.course import build_course

    output = tmp_path_factory.mktemp(f"lesson-{request.param}")
    (name,) = build_course(NOTEBOOKS, output, [request.param])
    return output / f"{name}.html"


def test_a_lesson_steps_and_is_answered_without_a_kernel(lesson: Path, shown: "Callable[..., Page]") -> None:
    page = shown(lesson)
    assert lesson.stat().st_size < 1_000_000
    stepped = page.locator("[data-view]").filter(has=page.locator("input[type=range]:not([max='0']):visible")).first
    slider = stepped.locator("input[type=range]")
    number = int(stepped.get_attribute("data-view") or 0)
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("n => circuitExplorer.models[n].get('step') === 1", arg=number)
    assert (slider.get_attribute("aria-valuetext") or "").startswith("Step 1 of ")
    asked = page.locator("[data-view]").filter(has=page.locator(".ceq-root"))
    assert asked.count() >= 2
    for question in asked.all():
        if question.get_by_role("radio").count():
            question.get_by_role("radio").first.check()
        elif question.get_by_role("spinbutton").count():
            question.get_by_role("spinbutton").fill("0")
        button(question, "Check").click()
        question.locator(".ceq-verdict.ceq-good, .ceq-verdict.ceq-bad").wait_for()
        button(question, "Reveal").click()
        button(question, "Back to the question").wait_for()
    assert page.get_by_text("was not recorded").count() == 0
