"""Plates, film and time line in a real page: folding closes cells up, fusing shows its matches first."""

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

import explorer
from explorer.app.session.reproduce import page_recording
from explorer.bench import measure_layers
from explorer.templates import gallery
from explorer.views import TraceIndex, add_looks, empty_recording, part_times
from explorer_widgets import page_html
from tests.browser.driving import Host, drive, record_branches, see_half_bars
from tests.chromium import WAIT_MS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, ViewportSize

pytestmark = pytest.mark.browser

FUSE, FOLD, FOLDED = 3, 8, 10
PAPER: "ViewportSize" = {"width": 718, "height": 1047}
"""A4 between the margins of Chromium."""
HOLDING_MS, MOVED_MS = 150, 3_000
"""While the matches are outlined; after all has moved."""
FRAME_MS, MAX_FRAMES = 50, 200
"""The time between two looks at a picture that is nearly at rest, and how often a test looks."""


@cache
def html_of(name: str) -> str:
    trace = record_branches(name) if "." in name else explorer.record(gallery.load_named(name))
    return page_html(page_recording(TraceIndex(trace), name))


def timed_html() -> str:
    """The page of a circuit with measured layers."""
    trace = explorer.record(gallery.load_named("blackboard"))
    last = len(trace.steps) - 1
    run = measure_layers(trace, last, batch_size=4, max_seconds=0.2)
    times = {"cpu": {last: part_times(run, "cpu")}}
    recorded = empty_recording(TraceIndex(trace), "timed")
    add_looks(recorded, TraceIndex(trace), [(last, "diff", "change", "plates")], layer_times=times)
    return page_html(recorded)


Opener = Callable[..., "Page"]


@pytest.fixture(scope="module")
def digits(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Opener]":
    """Open the exported page at a step; time passes only while a test says so. All tests use one tab."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT_MS)
    context.clock.install(time=0)
    context.clock.pause_at(1000)
    file = tmp_path_factory.mktemp("plates") / "digits.html"
    file.write_text(html_of("digits"), encoding="utf-8")
    page = context.new_page()

    def show(step: int, **media: Any) -> "Page":
        page.goto("about:blank")  # going to another step would not load the page
        page.mouse.move(0, 0)
        page.emulate_media(**{"reduced_motion": "no-preference", **media})
        page.goto(f"{file.as_uri()}#step={step}")
        page.wait_for_selector(".ce-plate")
        page.clock.run_for(MOVED_MS)
        return page

    yield show
    context.close()


def go(page: "Page", step: int, passing_ms: int = MOVED_MS) -> None:
    page.evaluate("step => { circuitExplorer.model.set('step', step); circuitExplorer.model.save_changes(); }", step)
    page.clock.run_for(passing_ms)


def words(page: "Page", selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "all => all.map((one) => one.textContent)")


def ink(page: "Page", plate: int) -> dict[str, int]:
    """How often the commonest colours are on the canvas in the area of a plate."""
    return page.evaluate(
        """(number) => {
          const canvas = document.querySelector("canvas.ce-canvas");
          const face = document.querySelectorAll(".ce-plate-face")[number].getBoundingClientRect();
          const at = canvas.getBoundingClientRect();
          const k = canvas.width / at.width;
          const [x, y] = [Math.round(k * (face.left - at.left)), Math.round(k * (face.top - at.top))];
          const [width, height] = [Math.round(k * face.width), Math.round(k * face.height)];
          const { data } = canvas.getContext("2d").getImageData(x, y, width, height);
          const counts = {};
          for (let i = 0; i < data.length; i += 4) {
            const colour = [data[i], data[i + 1], data[i + 2], data[i + 3]].join(" ");
            counts[colour] = (counts[colour] || 0) + 1;
          }
          return counts;
        }""",
        plate,
    )


def share_of_ground(counts: dict[str, int]) -> float:
    """How much of an area nothing is drawn on: what lies between cells."""
    return counts.get("0 0 0 0", 0) / sum(counts.values())


def test_what_readers_do_with_a_picture_in_light_and_in_dark(page: "Page", tmp_path: Path) -> None:
    def open_view(name: str) -> Host:
        file = tmp_path / f"{name}.html"
        file.write_text(timed_html() if name == "timed" else html_of(name), encoding="utf-8")
        page.goto(file.as_uri() + ("#step=99" if name == "timed" else ""))  # its last step
        page.locator(".ce-plate").first.wait_for()
        return Host(page, page.locator(".ce-root").first, axe=True, follows_system=True)

    drive(open_view)
    see_half_bars(open_view("timed"))


def cell_at(page: "Page", plate: int, across: float, down: float) -> tuple[float, float]:
    """A point of the page in a plate, in shares of its width and height."""
    area = page.locator(".ce-plate-face").nth(plate).bounding_box()
    assert area is not None
    return area["x"] + across * area["width"], area["y"] + down * area["height"]


def test_a_click_selects_a_layer_and_a_shift_click_adds_or_removes_another_one(digits: Opener) -> None:
    page = digits(0)

    def click(plate: int, across: float, down: float, *, shift: bool = True) -> tuple[str, str]:
        if shift:
            page.keyboard.down("Shift")
        page.mouse.click(*cell_at(page, plate, across, down))
        page.keyboard.up("Shift")
        page.mouse.move(2, 2)
        page.clock.run_for(MOVED_MS)
        return page.inner_text(".ce-side h2"), page.inner_text(".ce-closeup h2")

    plate = words(page, "text.ce-plate-title").index("Hadamard", 3)  # of two by two layers
    one = click(plate, 0.2, 0.2, shift=False)
    assert one == ("Hadamard #148", "Hadamard, 4 layers: #148")
    assert "#148 reads" in page.inner_text(".ce-closeup-words")
    assert click(plate, 0.8, 0.2) == ("Hadamard #153", "Hadamard, 4 layers: #148, #153")
    assert "2 layers selected" in page.inner_text(".ce-side")
    assert {"#148 reads", "#153 reads"} <= {part[:10] for part in page.inner_text(".ce-closeup-words").split(" · ")}
    assert click(plate, -0.4, 0.2) == ("Hadamard #153", "Hadamard, 4 layers: #148, #153")  # on the ground: nothing
    assert click(plate, 0.8, 0.2) == one
    assert click(plate, 0.55, 0.2) == ("Hadamard #153", "Hadamard, 4 layers: #148, #153")  # near the gap
    assert click(plate + 1, 0.2, 0.2)[1] == "Sum, 4 layers: #164"
    assert "3 layers selected" in page.inner_text(".ce-side")


COVERED = """() => {
  const seen = (one) => one.textContent && getComputedStyle(one).visibility !== "hidden";
  const areas = (selector) => [...document.querySelectorAll(selector)].filter(seen).map((one) => [
    one.textContent, one.getBoundingClientRect()]);
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const reasons = areas("text.ce-plate-reason");
  const words = areas("text.ce-plate-title, text.ce-plate-calls, text.ce-plate-line");
  return { reasons: reasons.length, covered: reasons.flatMap(([reason, area]) =>
    words.filter(([, other]) => meet(area, other)).map(([word]) => [reason, word])) };
}"""
"""The lines of reasons that are shown, and those that cover a word at a plate."""
OUTSIDE = """() => {
  const stage = document.querySelector(".ce-stage").getBoundingClientRect();
  return [...document.querySelectorAll(".ce-plate-face")].map((one) => one.getBoundingClientRect())
    .filter(({ left, right, top, bottom }) =>
      left < stage.left || right > stage.right || top < stage.top || bottom > stage.bottom).length;
}"""
"""How many plates are not in the picture."""
HIDDEN = """() => {
  const areas = (selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const [stage] = areas(".ce-stage");
  const words = "text.ce-plate-title, text.ce-plate-calls";
  const shown = [...areas(".ce-plate-face"), ...areas(".ce-dock:not(.ce-waiting) .ce-dock-tag rect"), ...areas(words)];
  const outside = ({ left, right, top, bottom }) =>
    left < stage.left || right > stage.right || top < stage.top || bottom > stage.bottom;
  const missing = [...document.querySelectorAll("text.ce-plate-calls")]
    .filter((one) => !one.textContent || getComputedStyle(one).visibility === "hidden");
  const buttons = areas(".ce-zoom button");
  const faces = areas(".ce-plate-face");
  const docked = areas(".ce-dock:not(.ce-waiting) .ce-dock-tag rect");
  const tags = docked.filter((tag) => faces.some((face) => meet(tag, face)));
  return [shown.filter(outside).length, shown.filter((one) => buttons.some((button) => meet(one, button))).length,
    missing.length, tags.length];
}"""
"""How many plates, words and tags are not in the picture or are under its buttons; words left out; tags on plates."""
MISSED = 7
"""The step of kronecker that folds level 0; it shows two missed folds."""


def test_the_whole_picture_is_in_sight_with_a_close_up_and_with_the_rule_lens(digits: Opener) -> None:
    page = digits(0)
    assert page.evaluate(HIDDEN) == [0, 0, 0, 0]
    page.mouse.click(*cell_at(page, 2, 0.1, 0.1))
    page.clock.run_for(MOVED_MS)
    assert page.locator(".ce-closeup").is_visible()
    assert page.evaluate(HIDDEN) == [0, 0, 0, 0]
    page = digits(FUSE)
    page.locator(".ce-plate").first.focus()
    page.keyboard.press("]")
    page.clock.run_for(2 * MOVED_MS)
    assert words(page, ".ce-dock-match .ce-dock-tag") == ["2 Sum", "1 Hadamard"]
    for _ in range(MAX_FRAMES):  # the tags are placed in the frame after the picture has stopped
        if page.evaluate(HIDDEN) == [0, 0, 0, 0]:
            return
        page.clock.run_for(FRAME_MS)
    assert page.evaluate(HIDDEN) == [0, 0, 0, 0]


def test_the_reason_of_a_missed_fold_covers_no_words_wherever_its_plates_are(page: "Page", tmp_path: Path) -> None:
    file = tmp_path / "kronecker.html"
    file.write_text(html_of("kronecker"), encoding="utf-8")
    page.goto(f"{file.as_uri()}#step={MISSED}")
    plates = page.locator(".ce-plate-face")
    plates.first.wait_for()
    before = page.evaluate(COVERED)
    assert before["reasons"] > 0
    assert before["covered"] == []
    for number in range(plates.count()):
        page.get_by_role("button", name="Fit").click()
        page.wait_for_function(f"() => ({OUTSIDE})() === 0")
        plates.nth(number).click(modifiers=["Shift"] if number else [])
        page.locator(".ce-closeup.ce-open").wait_for()
        assert page.evaluate(COVERED)["covered"] == []


def test_the_picture_shrinks_once_for_the_close_up_and_then_stays_where_it_is(digits: Opener) -> None:
    page = digits(0)
    plates = page.locator(".ce-plate-face")
    whole = place_of(plates.first)
    places: list[tuple[int, ...]] = []
    for number in (1, plates.count() - 1, 3):
        plates.nth(number).click()
        page.locator(".ce-closeup.ce-open").wait_for()
        page.clock.run_for(MOVED_MS)
        places.append(place_of(plates.first))
        assert page.evaluate(OUTSIDE) == 0
    assert len(set(places)) == 1
    assert places[0][2] < whole[2], "the whole would have no room"
    page.keyboard.press("Escape")
    page.locator(".ce-closeup").wait_for(state="hidden")
    page.clock.run_for(MOVED_MS)
    assert place_of(plates.first) == whole
    plates.nth(1).click()
    page.clock.run_for(MOVED_MS)
    page.get_by_role("button", name="Zoom in").click()
    page.clock.run_for(MOVED_MS)
    zoomed = place_of(plates.first)[2:]
    plates.nth(1).click()
    page.clock.run_for(MOVED_MS)
    assert place_of(plates.first)[2:] == zoomed, "what the reader has zoomed stays as large"


def place_of(element: "Locator") -> tuple[int, int, int, int]:
    """Left, top, width and height of an element, in whole pixels."""
    box = element.bounding_box()
    assert box is not None
    return round(box["x"]), round(box["y"]), round(box["width"]), round(box["height"])


def test_film_and_picture_stay_where_they_are_from_step_to_step(digits: Opener) -> None:
    page = digits(0)
    parts = [page.locator(".ce-film"), page.locator(".ce-frame").nth(2), page.locator(".ce-main")]
    places = [[place_of(part) for part in parts]]
    for step in (FUSE, FOLD, FOLDED):
        go(page, step)
        places.append([place_of(part) for part in parts])
    page.get_by_role("button", name="Play").first.click()
    page.get_by_role("button", name="Pause").first.wait_for()
    places.append([place_of(part) for part in parts])
    assert all(place == places[0] for place in places), places


def test_folding_closes_the_cells_up(digits: Opener) -> None:
    page = digits(FOLD - 1)
    assert words(page, ".ce-plate-calls")[:3] == ["64 → 1 call", "64 calls", "16 calls"]
    assert share_of_ground(ink(page, 1)) > 0.2
    go(page, FOLD)
    assert words(page, ".ce-plate-calls")[:3] == ["1 call", "64 → 1 call", "16 calls"]
    assert share_of_ground(ink(page, 1)) < 0.01
    go(page, FOLD - 1)
    assert share_of_ground(ink(page, 1)) > 0.2


def test_cells_are_on_their_way_while_time_passes_and_at_once_if_motion_is_reduced(digits: Opener) -> None:
    pictures: dict[str, list[dict[str, int]]] = {}
    for motion in ("no-preference", "reduce"):
        page = digits(FOLD - 1, reduced_motion=motion)
        before = ink(page, 1)
        go(page, FOLD, passing_ms=250)
        halfway = ink(page, 1)
        page.clock.run_for(MOVED_MS)
        pictures[motion] = [before, halfway, ink(page, 1)]
    before, halfway, after = pictures["no-preference"]
    assert before != halfway != after
    assert pictures["reduce"][1] == pictures["reduce"][2]


def test_matches_are_outlined_before_they_are_rewritten(digits: Opener) -> None:
    page = digits(0)
    go(page, FUSE, passing_ms=HOLDING_MS)
    tags = words(page, ".ce-tag text:not(.ce-tag-sign)")
    assert "Candecomp: 16 matches" in tags
    page.clock.run_for(MOVED_MS)
    assert words(page, ".ce-tag") == []
    assert words(page, ".ce-plate-news")[1:] == ["was Hadamard + Sum"] * 3


def test_the_film_is_the_stepper_and_the_sentence_says_what_a_step_bought(digits: Opener) -> None:
    page = digits(0)
    assert words(page, ".ce-frame b") == [f"{calls} calls after" for calls in (170, 149, 86, 23, 8, 5)]
    page.locator(".ce-frame").nth(3).click()
    page.clock.run_for(MOVED_MS)
    assert page.evaluate("circuitExplorer.model.get('step')") == FOLD
    assert words(page, ".ce-frame[aria-current=step] b") == ["23 calls after"]
    assert words(page, ".ce-sentence") == ["64 equal Sum layers of level 1 become one: 86 calls → 23."]


CLOCK = """() => [...document.querySelectorAll(".ce-clock .ce-clock-time b")].map((one) => one.textContent)"""
STRIPS = """() => [...document.querySelectorAll(".ce-run")].map((run) => run.getBoundingClientRect().width)"""


def test_the_time_line_names_the_machine_of_recorded_times_and_has_one_scale(digits: Opener) -> None:
    page = digits(0)
    assert words(page, ".ce-clock > .ce-clock-name > b") == ["CPU", "CUDA"]
    assert "NVIDIA H200, recorded 2026-11-27" in words(page, ".ce-clock > .ce-clock-name")[1]
    assert page.evaluate(CLOCK) == ["9.55 ms", "24.2 ms"]
    assert "9.55 ms" not in words(page, ".ce-film")[0], "not as a time of this machine"
    widths = page.evaluate(STRIPS)
    go(page, FOLD)
    assert page.evaluate(CLOCK) == ["3.48 ms", "3.97 ms"]
    assert "24.2 ms, the original circuit" in words(page, ".ce-clock-scale")[0]
    assert widths[0] > 300


def test_a_race_runs_in_true_proportion_and_stops_at_another_step(digits: Opener) -> None:
    page = digits(10)
    page.keyboard.press("r")
    page.clock.run_for(1000)
    passing = page.eval_on_selector_all(".ce-racer", "dots => dots.map((dot) => parseFloat(dot.style.left))")
    assert passing[3] == pytest.approx(100 * 1 / 3.6246, abs=2)  # the original on CUDA
    assert passing[4] == pytest.approx(5.14, abs=0.01)  # has arrived
    assert "150 times slower than in reality" in words(page, ".ce-race-words")[0]
    page.clock.run_for(4000)
    assert "19x faster" in words(page, ".ce-race-words")[0]
    page.keyboard.press("ArrowLeft")
    page.clock.run_for(MOVED_MS)
    assert page.locator(".ce-racer").count() == 0


def test_slides_without_times_have_the_calls_on_the_time_line(browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "conflict.html"
    file.write_text(html_of("conflict"), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector(".ce-plate")
    assert not page.locator(".ce-timeline").is_visible(), "the film shows the calls"
    page.get_by_role("button", name="Slides").click()
    assert words(page, ".ce-clock > span") == ["Calls", "12 calls"]
    page.close()


def test_a_cell_below_the_pointer_lights_up_its_relatives(digits: Opener) -> None:
    page = digits(3)
    face = page.locator(".ce-plate-face").nth(4).bounding_box()
    assert face is not None
    before = ink(page, 0)
    inputs = page.locator(".ce-plate-face").nth(1).bounding_box()
    assert inputs is not None
    page.mouse.move(inputs["x"] + 6, inputs["y"] + 6)  # the first sum
    page.clock.run_for(100)
    after = ink(page, 0)
    common = max(before, key=lambda colour: before[colour] if colour != "0 0 0 0" else 0)
    assert after.get(common, 0) < before[common] / 8  # one of 64 inputs is lit
    assert after.get(common, 0) > 0


def test_a_plate_is_selected_by_click_and_keyboard_and_a_key_shows_the_matches(digits: Opener) -> None:
    page = digits(FUSE)
    page.locator(".ce-plate").nth(2).click()
    selected = json.loads(page.evaluate("JSON.stringify(circuitExplorer.model.get('selection'))"))
    assert selected == [page.locator(".ce-plate").nth(2).get_attribute("data-id")]
    page.keyboard.press("]")
    page.clock.run_for(MOVED_MS)
    assert page.evaluate("circuitExplorer.model.get('view').mode") == "before"
    assert "Candecomp: 16 matches" in words(page, ".ce-tag text:not(.ce-tag-sign)")


def test_slides_are_large_and_keys_go_through_the_story(digits: Opener) -> None:
    page = digits(0)
    page.get_by_role("button", name="Story").click()
    for key, title in (
        ("ArrowRight", "Guess"),
        ("ArrowRight", "Match"),
        (" ", "Fuse"),
        ("7", "Fuse"),
        ("Enter", "Fold"),
        ("End", "The clock"),
    ):
        page.keyboard.press(key)
        page.clock.run_for(MOVED_MS)
        assert words(page, ".ce-slide-head h2") == [title]
    assert page.url.endswith("#step=10&mode=diff&slides=clock")
    assert page.evaluate(CLOCK) == ["3.12 ms", "1.24 ms"]
    sizes = page.eval_on_selector_all(
        ".ce-root *",
        """all => all.filter((one) => one.checkVisibility() && !one.closest(".ce-said,.ce-name"))
          .filter((one) => [...one.childNodes].some((part) => part.nodeType === 3 && part.textContent.trim()))
          .map((one) => parseFloat(getComputedStyle(one).fontSize) * (one.getScreenCTM?.().a ?? 1))""",
    )
    assert len(sizes) > 20
    assert min(sizes) > 15.99
    page.keyboard.press("Escape")
    page.clock.run_for(MOVED_MS)
    assert page.locator(".ce-film").is_visible()


def test_the_story_ends_at_a_step_that_the_stepper_shows(digits: Opener) -> None:
    page = digits(0)
    page.get_by_role("button", name="Story").click()
    page.keyboard.press("ArrowRight")
    page.clock.run_for(MOVED_MS)
    assert words(page, ".ce-slide-head h2") == ["Guess"]
    guessed = page.evaluate("circuitExplorer.model.get('step')")
    page.keyboard.press("Escape")
    page.clock.run_for(MOVED_MS)
    assert page.evaluate("circuitExplorer.model.get('step')") == 0 < guessed, "the steps between changed nothing"
    assert page.locator(".ce-film [aria-current]").count() == 1


SUBPATHS = "paths => paths.flatMap((path) => path.getAttribute('d').match(/M/g)).length"
"""Cells that look alike are parts of one path."""


def test_the_picture_is_copied_as_svg(digits: Opener) -> None:
    page = digits(FUSE)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy SVG").click()
    page.get_by_role("button", name="Copied").wait_for()
    shown = page.context.new_page()
    shown.set_content(page.evaluate("navigator.clipboard.readText()"))
    cells = shown.locator("path[fill]:not([fill=none])").evaluate_all(SUBPATHS)
    assert cells == 149
    assert words(shown, "text[font-weight='600']")[:4] == ["Categorical", "64 calls", "Sum", "64 calls"]
    page.evaluate("() => { navigator.clipboard.write = navigator.clipboard.writeText = () => Promise.reject(1); }")
    page.clock.run_for(MOVED_MS)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Copy SVG").click()
    assert saved.value.suggested_filename == "step-3.svg"


def test_the_close_up_shows_the_copy_of_a_gather_and_colours_cells_by_their_values(digits: Opener) -> None:
    page = digits(11)
    page.locator(".ce-plate").nth(1).click()
    panel = page.locator(".ce-closeup")
    assert "by gather" in panel.inner_text()
    assert page.locator(".ce-strips text", has_text="copy").count() == 1
    crossing = panel.locator(".ce-reads").get_attribute("d") or ""
    assert 0 < crossing.count("V") < crossing.count("M") == 64
    page.mouse.move(5, 5)
    page.clock.run_for(MOVED_MS)
    kinds = ink(page, 0)
    panel.get_by_role("button", name="Values").click()
    page.clock.run_for(MOVED_MS)
    assert "The output is −183.71 after each of these 6 steps." in panel.inner_text()
    assert len(ink(page, 0)) > len(kinds) + 2
    panel.get_by_title("7", exact=True).click()
    assert "The output is −182.85 after each of these 6 steps." in panel.inner_text()
    assert page.evaluate("document.activeElement.title") == "7"  # drawn again, and the focus stays


def test_the_rule_lens_docks_a_match_question_by_question_and_closes_by_key(digits: Opener) -> None:
    page = digits(FUSE)
    page.keyboard.press("]")
    page.clock.run_for(1_000)
    assert 0 < len(words(page, ".ce-lens-yes")) < 7
    page.clock.run_for(MOVED_MS)
    assert len(words(page, ".ce-lens-yes")) == 7
    assert words(page, ".ce-lens-place b") == ["Match 1 of 85"]
    assert words(page, ".ce-dock-match .ce-dock-tag") == ["2 Sum", "1 Hadamard"]
    frame, cell = page.locator(".ce-dock-frame").first, page.locator(".ce-plate-face").nth(3)
    inner, outer = frame.bounding_box(), cell.bounding_box()
    assert inner is not None
    assert outer is not None
    assert outer["x"] - 8 < inner["x"] < outer["x"] + outer["width"]  # the entry is at its cell, not at its card
    page.keyboard.press("}")
    page.keyboard.press("}")
    page.locator(".ce-lens-done input").check()
    page.clock.run_for(MOVED_MS)
    assert words(page, ".ce-lens-done") == ["After 2 matches: 168 layers"]
    page.keyboard.press("Escape")
    page.clock.run_for(MOVED_MS)
    assert not page.locator(".ce-lens").is_visible()


def colours_of_plates(page: "Page") -> list[str]:
    """The commonest colour between the corners of each plate, on what a reader sees."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    found: list[str] = []
    for face in page.locator(".ce-plate-face").all():
        at = face.bounding_box()
        assert at is not None
        part = image.crop((round(at["x"]), round(at["y"]), round(at["x"] + at["width"]), round(at["y"] + at["height"])))
        colours = part.getcolors(part.width * part.height)
        assert colours, "a plate is out of sight"
        found.append(str(max(colours, key=lambda colour: colour[0])[1]))
    return found


@pytest.mark.parametrize("width", [1440, pytest.param(800, marks=pytest.mark.fuzz)])
def test_on_paper_words_and_cells_are_scaled_together(browser: "Browser", tmp_path: Path, width: int) -> None:
    file = tmp_path / "digits.html"
    file.write_text(html_of("digits"), encoding="utf-8")
    with browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce") as context:
        context.set_default_timeout(WAIT_MS)
        context.add_init_script("delete globalThis.ResizeObserver")  # a page is not told the size of paper
        page = context.new_page()
        page.goto(f"{file.as_uri()}#step={FOLDED}")
        page.wait_for_selector(".ce-plate")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        on_screen = colours_of_plates(page)
        assert len(set(on_screen)) > 1
        page.emulate_media(media="print")
        page.set_viewport_size(PAPER)
        assert colours_of_plates(page) == on_screen


CONTROLS = """() => [...document.querySelectorAll(".ce-root :is(button, input, select, [role=slider])")]
  .filter((one) => one.checkVisibility()).map((one) => one.textContent || one.getAttribute("aria-label") || one.type)"""


def test_paper_has_the_sentence_and_the_legend_but_no_controls(browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "digits.html"
    file.write_text(html_of("digits"), encoding="utf-8")
    with browser.new_context(viewport=PAPER, reduced_motion="reduce") as context:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto(f"{file.as_uri()}#step={FOLDED}")
        page.wait_for_selector(".ce-plate")
        assert len(page.evaluate(CONTROLS)) > 20
        page.emulate_media(media="print")
        assert page.evaluate(CONTROLS) == [*words(page, ".ce-frame"), "Diff"]
        for part in (".ce-step-title", ".ce-sentence", ".ce-legend"):
            assert page.locator(part).is_visible()
        assert page.locator(".ce-step-title").evaluate("(one) => one.scrollWidth <= one.clientWidth")


WORDS_UNDER = """() => {
  const { left, top, right, bottom } = document.querySelector(".ce-tried").getBoundingClientRect();
  return [...document.querySelectorAll(".ce-plate text:not(.ce-name)")].filter((one) => {
    const area = one.getBoundingClientRect();
    return one.textContent && area.left < right && left < area.right && area.top < bottom && top < area.bottom;
  }).map((one) => one.textContent);
}"""


@pytest.mark.parametrize("size", [(1440, 900), (1024, 700)])
def test_the_words_of_an_attempt_cover_no_words_of_plates(
    browser: "Browser", tmp_path: Path, size: tuple[int, int]
) -> None:
    file = tmp_path / "hmm.html"
    file.write_text(html_of("hmm"), encoding="utf-8")
    viewport: ViewportSize = {"width": size[0], "height": size[1]}
    with browser.new_context(viewport=viewport, reduced_motion="reduce") as context:
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.goto(f"{file.as_uri()}#step=19")
        page.locator(".ce-pin-key").click()
        page.locator(".ce-tried").wait_for()
        assert "10 calls stay 10" in page.locator(".ce-tried").inner_text()
        assert page.evaluate(WORDS_UNDER) == []
