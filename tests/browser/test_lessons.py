"""Lessons as pages of the site, opened from disk: pictures step and questions are answered without a server."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.axe import colour_violations, serious_violations
from tests.needed import is_missing
from tests.widgets.stored import read_page

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Request

pytestmark = pytest.mark.browser

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
COMPILED = NOTEBOOKS / "recorded" / "two-outputs-torch.trace.json.gz"
OPENED = (pytest.param("00", marks=pytest.mark.fuzz), "05")
"""The lessons to build and open: one with tables below its pictures, and in `make fuzz` the first one too."""

INTRODUCTION = """# 0. Tiny

You will be able to read $y_o = \\sum_i w_{oi} x_i$ and see

$$\\log \\sum_i e^{x_i}.$$

About 1 minute."""
CELLS = (
    "import explorer\n\ntrace = explorer.record(explorer.gallery.load_named('conflict'))\nprint(trace)",
    "from IPython.display import display\n\ndisplay(explorer.ask(trace, 'fold-with', node=14))\nprint('answer it')",
    "explorer.ask(trace, 'winner')",
    "explorer.ask(trace, 'layers-left', step=3)",
    "explorer.show(trace, step=3)",
    "explorer.show(trace, fold_level=1)",
    "from explorer.views import TraceIndex, stat_bars\n\nexplorer.show(stat_bars(TraceIndex(trace), 'layers'))",
    f"explorer.show(explorer.Trace.load({str(COMPILED)!r}), step='fuse/round 2')",
)


TOLD = "print('members:', len(trace.fold_groups(0)[0].members))"
"""The cell after a question."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a lesson that was run in a kernel."""
    nbformat = needed()
    cells = [nbformat.v4.new_markdown_cell(INTRODUCTION), *map(nbformat.v4.new_code_cell, CELLS)]
    shown_at = next(at for at, text in enumerate(CELLS) if "explorer.show(" in text)
    cells.insert(1 + shown_at, nbformat.v4.new_markdown_cell("## Pictures"))
    asked_at = next(at for at, text in enumerate(CELLS) if "explorer.ask(" in text)
    cells.insert(2 + asked_at, nbformat.v4.new_code_cell(TOLD, metadata={"tags": ["answer"]}))
    folder = tmp_path_factory.mktemp("lessons")
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "00_tiny.ipynb")
    return site_of(folder / "00_tiny.ipynb", folder)


def site_of(lesson: Path, folder: Path) -> Path:
    """Build a site of one lesson and the glossary; returns the page of the lesson."""
    from docs.building.__main__ import build_html
    from docs.building.lessons import write_lesson
    from docs.building.sources import Sources

    sources = Sources(folder / "sources")
    contents = f"# Site\n\n:::{{toctree}}\n\nnotebooks/{lesson.stem}\n:::\n"
    sources.write("index.md", contents)
    write_lesson(lesson, sources, folder / "run")
    assert build_html(sources, folder / "site", folder, strict=False) == 0  # without the pages that it links to
    return folder / "site" / "notebooks" / f"{lesson.stem}.html"


def needed() -> Any:
    for package in ("nbclient", "anywidget", "latex2mathml", "sphinx", "myst_nb", "furo"):
        if importlib.util.find_spec(package) is None:
            is_missing(package, "pip install 'circuit-explorer[site]'")
    import nbformat

    return nbformat


NOTE_STEPS = """globalThis.noted = circuitExplorer.models.map((model) => {
  const noted = { seen: new Set(), missing: [] };
  model.on("change:picture", () => {
    const picture = model.get("picture");
    noted.seen.add(picture.step);
    if ((picture.message || "").includes("was not recorded")) noted.missing.push(picture.step);
  });
  if (model.get("step") === 0) noted.seen.add(0);
  return noted;
})"""
"""Records for each view which steps were drawn, and which could not be."""


WAIT = """async (condition) => {
  for (let waited = 0; !condition(); waited += 10) {
    if (waited > 300_000) throw new Error(`it never came: ${condition}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}"""
"""Waits for a function to return true: the policy of pages forbids what Playwright would evaluate again and again."""


def wait(page: "Page", condition: str) -> None:
    page.evaluate(f"() => ({WAIT})(() => {condition})")


@pytest.fixture
def shown(page: "Page") -> "Iterator[Callable[..., Page]]":
    """Open a page of the site, which requests files only; `page` fails on its errors."""
    asked: list[str] = []

    def note(request: "Request") -> None:
        asked.append(request.url.partition("#")[0])

    def shown(file: Path, heading: str = "", **media: Any) -> "Page":
        page.emulate_media(reduced_motion="reduce", **media)
        page.goto(file.as_uri() + (f"#{heading}" if heading else ""))
        wait(page, "document.querySelectorAll('[data-view]').length === circuitExplorer.models?.length")
        return page

    page.on("request", note)
    yield shown
    page.remove_listener("request", note)
    assert [address for address in asked if not address.startswith(("data:", "blob:", "file:"))] == []


def open_all(page: "Page") -> None:
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")


def view(page: "Page", number: int) -> "Locator":
    return page.locator(f"[data-view='{number}']")


def trait(page: "Page", number: int, name: str) -> Any:
    return page.evaluate("([n, name]) => circuitExplorer.models[n].get(name)", [number, name])


def button(part: "Locator", name: str) -> "Locator":
    return part.get_by_role("button", name=name, exact=True)


def test_a_picture_steps_and_selects(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    graph = view(page, 3)
    graph.locator(".ce-frame[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    wait(page, "circuitExplorer.models[3].get('picture').step === 6")
    assert graph.locator(".ce-step-title").inner_text() == "Step 6 of 12: fuse, round 2"
    assert trait(page, 4, "step") == 11  # the other picture of the same trace stays
    graph.locator(".ce-box").first.click()
    assert len(trait(page, 3, "selection")) == 1
    button(graph, "Side by side").click()
    assert graph.locator(".ce-view").count() == 2


INSIDE = """([root, ids]) => {
  const stage = root.querySelector("svg.ce-stage").getBoundingClientRect();
  return ids.every((id) => {
    const box = root.querySelector(`.ce-box[data-id=${id}]`).getBoundingClientRect();
    return box.left >= stage.left && box.right <= stage.right && box.top >= stage.top && box.bottom <= stage.bottom;
  });
}"""
"""Whether a picture shows all of some boxes."""


DRAWN = """() => [...document.querySelectorAll("[data-view] .ce-root")].map((root) => {
  const zoom = Number(root.dataset.zoom);
  const texts = [...root.querySelectorAll(".ce-view .ce-title, .ce-view .ce-far-title, .ce-view .ce-plate-title")];
  const text = texts.find((one) => one.checkVisibility() && one.textContent);
  const edges = [...root.querySelectorAll(".ce-box")].map((one) => one.getBoundingClientRect());
  return {
    height: root.querySelector(".ce-main").clientHeight,
    boxes: edges.length,
    drawn: Math.max(...edges.map((one) => one.bottom)) - Math.min(...edges.map((one) => one.top)),
    text: text ? zoom * parseFloat(getComputedStyle(text).fontSize) : null,
  };
})"""
"""Measures each picture: the heights of its stage and of its boxes, and the size of its titles, in screen pixels."""
LEAST_HEIGHT, LEAST_TEXT, MOST_READ = 240, 11, 60


def test_a_picture_of_a_lesson_is_as_high_as_what_it_shows_and_legible(
    lesson: Path, shown: "Callable[..., Page]"
) -> None:
    page = shown(lesson)
    open_all(page)
    page.evaluate("() => document.fonts.ready")
    pictures = page.evaluate(DRAWN)
    assert len({one["height"] for one in pictures}) > 2
    for one in pictures:
        assert one["height"] >= LEAST_HEIGHT
        assert one["height"] == LEAST_HEIGHT or one["drawn"] > one["height"] / 2
        is_overview = one["boxes"] > MOST_READ and one["text"] is None  # its boxes have numbers, and titles closer by
        assert is_overview or one["text"] > LEAST_TEXT - 0.01


def test_selected_layers_and_the_root_stay_in_the_picture(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    graph = view(page, 3)
    boxes = graph.locator(".ce-box")
    ids = [str(boxes.nth(at).get_attribute("data-id")) for at in (0, 1, boxes.count() - 1)]
    for number, one in enumerate(ids[:2]):
        graph.locator(f".ce-box[data-id={one}]").click(modifiers=["Shift"] if number else [])
        graph.get_by_role("region", name="Close-up").wait_for()
        wait(page, f"({INSIDE})([document.querySelector('[data-view=\"3\"]'), {ids}])")


COVERED = """(root) => {
  const box = (part) => part.getBoundingClientRect();
  const words = [...root.querySelectorAll(".ce-score-word")].map(box);
  const buttons = [...root.querySelectorAll(".ce-main button")].filter((one) => one.checkVisibility());
  const covers = ({ left, right, top, bottom }) =>
    words.some((word) => word.left < right && left < word.right && word.top < bottom && top < word.bottom);
  const over = buttons.filter((one) => covers(box(one)));
  return [words.length > 5, buttons.length > 2, over.map((one) => one.textContent)];
}"""
"""Returns whether there are words and buttons in a picture, and the buttons that cover words of a score."""


def test_no_button_covers_the_words_of_a_score(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    score = view(page, 6)
    score.locator(".ce-score-word").first.wait_for()
    assert score.evaluate(COVERED) == [True, True, []]


def test_the_table_of_a_level_follows_the_step(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    levels = view(page, 4)
    levels.get_by_text("Level 1: 2 layers in 1 group").wait_for()
    levels.locator(".ce-frame[tabindex='0']").focus()
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
    assert "1 of the chosen does not belong, 1 is missing." in asked.locator(".ceq-bad").inner_text()
    assert not button(asked, "Reveal").is_visible()
    button(asked, "Check").click()  # a second try
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


def test_what_happened_is_closed_until_an_answer_is_checked(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    told = page.get_by_text("members: 4", exact=True)
    assert told.count() == 1
    assert not told.is_visible()
    button(view(page, 0), "Check").click()  # wrong: a hint, and a second try
    assert not told.is_visible()
    button(view(page, 0), "Check").click()
    told.wait_for()
    assert view(page, 3).locator(".ce-box").first.is_visible()  # it is not part of the answer


def test_all_folds_open_at_once_and_in_print(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    told = page.get_by_text("members: 4", exact=True)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert told.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not told.is_visible()
    page.get_by_role("button", name="Open all", exact=True).click()
    assert told.is_visible()
    assert page.get_by_text("explorer.ask(trace, 'winner')").is_visible()
    page.get_by_role("button", name="Close all", exact=True).click()
    assert not told.is_visible()


def test_a_question_is_answered_by_the_keyboard_alone(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    asked = view(page, 0)
    asked.locator(".ce-box[tabindex='0']").focus()
    for _ in range(3):  # no key leads to the step that the question is about
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


def test_axe_finds_nothing_serious(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny, color_scheme="light")
    button(view(page, 0), "Check").click()
    assert serious_violations(page) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector(".ce-root[data-theme=dark]")
    assert colour_violations(page) == []
    page.emulate_media(forced_colors="active")
    page.wait_for_selector(".ce-face[fill=Canvas]")
    assert colour_violations(page) == []


def test_formulas_are_drawn_without_a_script(tiny: Path, shown: "Callable[..., Page]") -> None:
    page = shown(tiny)
    heights = page.eval_on_selector_all("math", "all => all.map((one) => one.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert min(heights) > 10
    assert page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px \"Site Math\"'))")
    assert page.evaluate("[...document.fonts].map((one) => one.status)") == ["loaded"]


def test_a_small_screen_needs_no_scrolling_sideways(tiny: Path, page: "Page") -> None:
    size = page.viewport_size
    try:
        page.set_viewport_size({"width": 390, "height": 800})
        page.goto(tiny.as_uri())
        page.wait_for_selector(".ceq-root")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        page.set_viewport_size(size or {"width": 1280, "height": 800})


def built(number: str, folders: pytest.TempPathFactory) -> Path:
    """The page of a lesson, built once for all processes of a test run by the first to need it."""
    needed()
    from filelock import FileLock

    own = folders.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    (lesson,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    page = shared / f"lesson-{number}" / "site" / "notebooks" / f"{lesson.stem}.html"
    with FileLock(shared / f"lesson-{number}.lock"):
        return page if page.exists() else site_of(lesson, shared / f"lesson-{number}")


@pytest.fixture(scope="session", params=OPENED)
def lesson(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(request.param, tmp_path_factory)


def test_the_page_of_a_lesson_is_small(lesson: Path) -> None:
    """It needs no browser, so that the lesson is run on every machine."""
    assert lesson.stat().st_size < 1_000_000


def test_every_picture_of_a_lesson_steps_to_its_end(lesson: Path, shown: "Callable[..., Page]") -> None:
    page = shown(lesson)
    open_all(page)
    page.evaluate(NOTE_STEPS)
    stepped = page.locator("[data-view]").filter(has=page.locator(".ce-frame:visible"))
    numbers = [int(str(one.get_attribute("data-view"))) for one in stepped.all()]
    assert numbers
    for number in numbers:
        last = page.evaluate("n => JSON.parse(circuitExplorer.models[n].get('steps')).length - 1", number)
        view(page, number).locator(".ce-frame[tabindex='0']").focus()
        page.keyboard.press("Home")
        wait(page, f"circuitExplorer.models[{number}].get('picture').step === 0")
        for step in range(last):
            page.keyboard.press("Shift+ArrowRight")
            wait(page, f"circuitExplorer.models[{number}].get('picture').step === {step + 1}")
        assert view(page, number).locator(".ce-step-title").inner_text().startswith(f"Step {last} of {last}")
        seen, missing = page.evaluate("n => [[...noted[n].seen], noted[n].missing]", number)
        assert set(seen) == set(range(last + 1))
        assert missing == []
    assert page.get_by_text("was not recorded").count() == 0


def test_every_question_of_a_lesson_is_answered_without_a_kernel(lesson: Path, shown: "Callable[..., Page]") -> None:
    page = shown(lesson)
    asked = [(n, one["question"]) for n, one in enumerate(embedded(lesson)) if one["kind"] == "question"]
    assert len(asked) >= 2
    for number, question in asked:
        part = view(page, number)
        answer(part, question)
        button(part, "Check").click()
        assert "Right" in part.locator(".ceq-verdict.ceq-good").inner_text()
        button(part, "Reveal").click()
        button(part, "Back to the question").wait_for()
    assert page.get_by_text("was not recorded").count() == 0


def answer(part: "Locator", question: dict[str, Any]) -> None:
    """Enter the right answer as a reader does: the page contains the feedback on all answers."""
    if "choices" in question:
        (right,) = [choice for choice, said in question["choices"].items() if said["right"]]
        part.get_by_role("radio", name=right, exact=True).check()
    elif "number" in question:
        part.get_by_role("spinbutton").fill(str(question["number"]["answer"]))
    else:
        for box, node in question["clicks"]["boxes"].items():
            if node in question["clicks"]["wanted"]:
                part.locator(f".ce-box[data-id='{box}']").click()


def embedded(lesson: Path) -> list[dict[str, Any]]:
    """The views in a page."""
    return read_page(lesson.read_text(encoding="utf-8"))["views"]


def test_a_link_to_a_heading_lands_on_it(
    shown: "Callable[..., Page]", tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = shown(built("05", tmp_path_factory), heading="view-slice-gather")
    place = "document.getElementById('view-slice-gather').getBoundingClientRect().y"
    wait(page, f"0 <= {place} && {place} < 100")  # once the pictures above it have their height
