"""The dashboard on real circuits, operated as a reader does; the results are read from the models and the page."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

import explorer
from explorer.views import steps
from tests.browser.conftest import WAIT_MS, Dashboard, opened_by
from tests.browser.driving import IN_EVERY_HOST, Host, drive, see_half_bars

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.browser
DRAWER = ".scrollable-vertical"

Open = Callable[..., Dashboard]


@pytest.mark.parametrize("names", IN_EVERY_HOST)
def test_what_readers_do_with_a_picture_in_light_and_in_dark(dashboard: Open, names: Sequence[str]) -> None:
    page = dashboard()
    host = Host(page.page, page.page.locator(".ce-root").first)

    def open_view(name: str) -> Host:
        page.show(f"?circuit={name}")
        return host

    drive(open_view, names)
    page.page.evaluate("() => { delete document.body.dataset.jpThemeLight; }")
    page.tool("Compare")
    tool = page.page.locator(DRAWER)
    widths = [width_of(tool)]
    bar = host.root.get_by_role("separator", name="Width of the inspector")
    bar.focus()
    for key in ("PageUp", "ArrowLeft"):
        page.page.keyboard.press(key)
        widths.append(width_of(tool))
    assert widths == sorted(set(widths))
    at = bar.bounding_box()
    assert at is not None
    page.page.mouse.move(at["x"] + 5, at["y"] + 9)
    page.page.mouse.down()
    page.page.mouse.move(at["x"] + 95, at["y"] + 9)
    page.page.mouse.up()
    assert width_of(tool) < widths[-1]
    page.page.evaluate("() => localStorage.clear()")


def width_of(tool: "Locator") -> float:
    """The width of an element, in pixels."""
    box = tool.bounding_box()
    assert box is not None
    return box["width"]


def test_the_keyboard_steps_to_the_first_fuse_and_a_link_reopens_it_as_displayed(dashboard: Open) -> None:
    page = dashboard()
    assert page.wait_for_step(0)["caption"] == "170 layers compiled"
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
    page.page.keyboard.press("ArrowRight")
    picture = page.wait_for_step(3)
    assert picture["title"] == "Step 3 of 11: fuse, round 1, 85 of 85 matches"
    matched = [hull["label"] for hull in picture["matches"] if "Candecomp" in hull["label"]]
    assert matched == ["Candecomp: 16 matches", "Candecomp: 4 matches", "Candecomp"]
    page.wait(lambda: "step=3" in page.page.url, "the link of the step")

    page.press("Side by side")
    page.wait(lambda: page.picture()["mode"] == "side", "two pictures")
    picture = page.picture()
    assert {node["change"] for node in picture["nodes"]} >= {"kept", "removed"}
    assert {node["plate"]["gap"] > 0 for node in picture["nodes"]} == {True}
    assert {node["change"] for node in picture["other"]["nodes"]} >= {"kept", "added"}
    assert page.page.locator(".ce-view").count() == 2
    page.wait(lambda: "mode=side" in page.page.url, "the link of the mode")

    page.press("After")
    page.wait(lambda: page.picture()["mode"] == "after", "the state after")
    page.page.locator(".ce-box").nth(2).click()
    page.wait(lambda: len(page.trait("selection")) == 1 and "selection=" in page.page.url, "a selected box")
    before, selected = page.picture(), page.trait("selection")
    page.press("Theme")
    page.page.locator(".ce-root[data-theme=dark]").wait_for()  # only then it is stored
    again = dashboard("?" + urlsplit(page.page.url).query, fresh=True)
    assert again.picture() == before
    assert again.trait("selection") == selected
    again.page.locator(".ce-root[data-theme=dark]").wait_for()
    again.press("Theme")
    again.page.locator(".ce-root[data-theme=light]").wait_for()
    again.page.evaluate("() => localStorage.clear()")


def test_back_and_forward_show_what_the_address_names(dashboard: Open) -> None:
    page = dashboard("?circuit=conflict")
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
    for step in (3, 6):
        page.page.keyboard.press("ArrowRight")
        page.wait(lambda step=step: page.page.url.endswith(f"circuit=conflict&step={step}"), "an entry for each step")
    page.choose("Circuit", "blackboard")
    page.wait(lambda: "circuit=blackboard" in page.page.url, "another trace")
    page.page.go_back()
    page.wait(lambda: page.picture()["title"] == "Step 6 of 12: fuse, round 2, 2 of 2 matches", "the trace before")
    page.page.go_back()
    page.wait_for_step(3)
    assert page.page.url.endswith("?circuit=conflict&step=3")  # the browser has changed it first
    page.page.go_forward()
    page.wait_for_step(6)
    assert page.page.url.endswith("?circuit=conflict&step=6")


COUNT_ENTRIES = """() => {
  const { pushState } = history;
  globalThis.entries = 0;
  history.pushState = (...entry) => {
    globalThis.entries++;
    pushState.apply(history, entry);
  };
}"""
"""`history.length` stays the same from 50 entries on."""


def test_an_address_that_is_not_as_the_page_writes_it_is_replaced(dashboard: Open) -> None:
    page = dashboard("?circuit=conflict&step=99")
    page.wait(lambda: page.page.url.endswith("?circuit=conflict&step=12"), "the step that there is")
    page.page.evaluate(COUNT_ENTRIES)
    page.show("?circuit=conflict&step=77")
    page.wait(lambda: page.page.url.endswith("?circuit=conflict&step=12"), "the step that there is")
    assert page.page.evaluate("entries") == 1  # the reader's
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
    page.page.keyboard.press("Home")
    page.wait(lambda: page.page.url.endswith("?circuit=conflict"), "the link of the step")
    assert page.page.evaluate("entries") == 2


def test_why_not_answers_at_a_near_miss(dashboard: Open) -> None:
    page = dashboard("?circuit=near-misses&step=3&near_misses=Candecomp")
    near = next(node["id"] for node in page.picture()["nodes"] if any(b["sign"] == "?" for b in node["badges"]))
    page.page.locator(f".ce-plate[data-id='{near}']").first.focus()
    page.page.keyboard.press("Enter")
    section = page.page.locator("details[data-name='why-not']")
    section.wait_for(state="attached")
    page.page.keyboard.press("w")
    section.locator("summary:focus").wait_for()
    assert "Candecomp" in section.inner_text()


def test_the_inspector_says_by_which_key_layers_were_folded_and_asks_about_two(dashboard: Open) -> None:
    page = dashboard("?step=8")
    page.page.locator(".ce-plate").nth(1).click()
    page.see("Fold key of level 1")
    page.page.locator(".ce-plate").nth(0).click(modifiers=["Shift"])
    page.see("Folded together?")


def test_another_strategy_and_a_step_switched_off_compile_the_circuit_again(dashboard: Open) -> None:
    page = dashboard("?circuit=conflict&step=3")
    page.tool("Pipeline")
    page.choose("Strategy", "first-match")
    page.press("Compile again")
    page.wait(lambda: "strategy=first-match" in page.page.url, "the trace of the other strategy")
    page.tool("Details")
    page.see("was found first, so it wins")

    page.tool("Pipeline")
    page.press("Disable this step")
    page.press("Compile again")
    page.wait(lambda: "skip=" in page.page.url, "the new trace")
    assert "switched off" in json.loads(page.trait("steps"))[3]["summary"]


def test_a_pattern_is_edited_tried_and_applied(dashboard: Open) -> None:
    page = dashboard("?step=3")
    page.tool("Pattern")
    page.see("MyPattern matches 21 times.")
    page.until("MyPattern does not match.", lambda: page.choose("Layer 2", "TorchKroneckerLayer"))
    page.until("MyPattern matches 21 times.", lambda: page.choose("Layer 2", "TorchHadamardLayer"))
    conditions = page.page.get_by_role("button", name="Condition", exact=True)
    page.wait(lambda: conditions.count() == 2, "the rows of both layers")  # one comes after the other
    conditions.last.click()
    page.choose("Field", "arity")
    value = page.page.get_by_label("integer")
    page.until("MyPattern matches 21 times.", lambda: (value.fill(""), value.fill("4")))
    page.until("MyPattern does not match.", lambda: (value.fill(""), value.fill("3")))
    page.until("Enter a value for the condition.", lambda: value.fill(""))
    page.press("Apply")
    page.see("arity of TorchHadamardLayer must be of type integer; found ''")
    page.until("MyPattern matches 21 times.", lambda: (value.fill(""), value.fill("4")))
    page.choose("Replacement", "one layer")
    page.press("Apply")
    page.wait(lambda: "MyPattern" in page.trait("steps"), "a trace with the rule")
    assert any("MyPattern x21" in step["summary"] for step in json.loads(page.trait("steps")))
    page.wait(lambda: "form=" in page.page.url, "the link with the pattern")
    again = steps(opened_by(page.page.url).index)
    assert any("MyPattern x21" in step["summary"] for step in again)


def test_a_measurement_is_cancelled_and_others_show_their_bars_and_colour_the_graph(dashboard: Open) -> None:
    page = dashboard("?circuit=conflict")
    page.tool("Measure")
    limit = page.page.get_by_label("Time limit, s")
    limit.fill("600")
    page.page.keyboard.press("Enter")
    page.press("Start measuring")
    cancels = page.page.get_by_role("button", name="Cancel", exact=True).locator("visible=true")
    cancels.first.click(timeout=WAIT_MS)
    page.see("Cancelled")
    page.choose("Subject", "Optimized and folded, or not")
    page.press("Start measuring")  # the first measurement has really ended, so this one does not wait for it
    page.wait(lambda: len(bars_of(page)) >= 3, "bars of the four modes")
    cancels.evaluate_all("all => all.forEach((one) => one.click())")  # a busy machine reaches no precise medians
    page.wait(lambda: cancels.count() == 0, "the end of the measurement")
    assert all(bar["low"] is None or bar["low"] <= bar["value"] <= bar["high"] for bar in bars_of(page))
    limit.fill("40")
    page.page.keyboard.press("Enter")
    page.choose("Subject", "The layers of this step")
    page.press("Start measuring")
    page.wait(lambda: page.picture()["colour_by"] == "time", "the graph coloured by time")
    page.wait(lambda: any("value-" in look["fill"] for look in page.picture()["looks"]), "coloured boxes")
    see_half_bars(Host(page.page, page.page.locator(".ce-root").first))
    page.page.evaluate("() => { delete document.body.dataset.jpThemeLight; }")


def bars_of(page: Dashboard) -> list[dict[str, Any]]:
    """The bars that have a value."""
    text = page.trait("bars", "BarsPane")
    return [bar for bar in json.loads(text)["bars"] if bar["value"] is not None] if text else []


def test_two_traces_are_compared_with_one_selection(dashboard: Open) -> None:
    page = dashboard("?step=3&group_by=fold&vs.circuit=digits&vs.disable=CategoricalLogSoftmax")
    page.wait(lambda: page.page.locator(".ce-root").count() == 2, "two graphs")
    page.wait(lambda: page.trait("step", number=1) == 3, "the same step in both")
    page.tool("Compare")
    page.see("CategoricalLogSoftmax at 0 was applied only here")
    left = page.page.locator(".ce-root").first.locator(".ce-box.ce-is-removed[data-id^=g0x64]")
    left.click()  # once: the last line names the box below the pointer, which must not move the box away
    page.wait(lambda: page.trait("selection") != [], "a selection on the left")
    page.wait(lambda: page.trait("selection", number=1) != [], "a selection in the other trace")


def test_the_exported_page_steps_from_disk_and_foreign_uploads_are_refused(dashboard: Open, tmp_path: Path) -> None:
    trace = tmp_path / "mine.trace.json.gz"
    explorer.record(explorer.gallery.load_named("blackboard")).save(trace)
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"format": "something else"}')
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * (70 * 2**20)))
    page = dashboard("?circuit=conflict")
    page.tool("Files")
    with page.page.expect_download(timeout=WAIT_MS) as download:
        page.page.get_by_text("Page (HTML)").first.click()
    exported = tmp_path / "page.html"
    download.value.save_as(exported)
    chooser = page.page.locator("input[type=file]")
    chooser.set_input_files(foreign)
    page.see("something else")
    chooser.set_input_files(bomb)
    page.see("unpacks to more than 64 MB")
    chooser.set_input_files(trace)
    page.wait(lambda: "circuit=mine.trace.json.gz" in page.page.url, "the uploaded trace")
    page.tool("Measure")
    page.press("Start measuring")
    page.see("compile it again first")

    opened = page.page.context.new_page()  # beside the dashboard, which would have to be loaded again
    opened.goto(exported.as_uri())
    opened.wait_for_selector(".ce-box")
    opened.locator(".ce-frame[tabindex='0']").focus()
    opened.keyboard.press("ArrowRight")
    assert opened.evaluate("() => circuitExplorer.model.get('step')") == 3


DRAG = """([kind, name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  document.body.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer}));
}"""


def test_a_file_that_is_dropped_on_the_page_is_opened_or_named(dashboard: Open) -> None:
    page = dashboard("?circuit=conflict")
    mine = ["mine.json", json.dumps(explorer.gallery.load_named("blackboard").to_json())]
    page.page.evaluate(DRAG, ["dragover", *mine])
    page.see("Drop a circuit, a trace or a checkpoint")
    page.page.evaluate(DRAG, ["drop", *mine])
    page.wait(lambda: "circuit=mine.json" in page.page.url, "the dropped circuit")
    page.page.evaluate(DRAG, ["drop", "people.csv", "age,sport\n1,2\n"])
    page.see("circuit-explorer serve people.csv")


def test_pixels_painted_by_mouse_and_keyboard_are_completed(dashboard: Open) -> None:
    page = dashboard()
    page.wait_for_step(0)
    page.tool("Query")
    pad = page.page.locator(".ceg-pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 5, steps=2)
    page.page.mouse.up()
    answers = page.page.locator(".ceg-answer")
    answers.nth(5).wait_for(timeout=WAIT_MS)
    assert page.page.get_by_text("8 of 64 pixels observed").count() == 1
    assert page.page.get_by_text("6 samples given 8 observed pixels.").count() == 1
    pad.focus()
    page.page.keyboard.press("Space")
    page.page.get_by_text("6 samples given 9 observed pixels.").wait_for(timeout=WAIT_MS)
    page.page.keyboard.press("Delete")
    page.page.get_by_text("6 samples given 8 observed pixels.").wait_for(timeout=WAIT_MS)
    assert page.trait("evidence", "QueryPane")["observed"] == [1] * 8 + [0] * 56
