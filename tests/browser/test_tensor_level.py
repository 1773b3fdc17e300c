"""The levels below the compiled circuit in the dashboard: stepping, asking why not, editing pipelines, buffers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from explorer.app.session.reproduce import page_recording
from explorer.views import steps
from explorer_widgets import page_html
from tests.browser.conftest import WAIT_MS, Dashboard, opened_by

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
Open = Callable[..., Dashboard]
LEVEL = "?circuit=conflict&level=tensor"


def changing(page: Dashboard) -> list[str]:
    return [step["path"] for step in json.loads(page.trait("steps")) if step["changed"]]


def test_level_is_chosen_stepped_and_asked_about_without_the_tools_of_circuits(dashboard: Open) -> None:
    page = dashboard("?circuit=conflict")
    page.choose("Level", "tensor")
    page.wait(lambda: "level=tensor" in page.page.url, "the link of the level")
    page.wait(lambda: changing(page)[0] == "import", "a trace of the tensor level")
    titles = {node["title"] for node in page.picture()["nodes"]}
    assert {"softmax", "bmm", "log"} <= titles
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
    page.page.keyboard.press("ArrowRight")
    first = next(step["index"] for step in json.loads(page.trait("steps"))[1:] if step["changed"])
    shown = page.wait_for_step(first)
    assert shown["matches"]

    asked = next(node["id"] for node in page.picture()["nodes"] if node["title"] == "bmm")
    page.page.locator(f".ce-box[data-id='{asked}']").first.focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("w")
    page.see("the rule declined: no other product shares a factor with it and fits")

    patterns = page.page.get_by_role("button", name="Pattern", exact=True)
    page.wait(lambda: patterns.count() == 0, "no tool: only layers are matched by such patterns")
    page.choose("Level", "compiled")
    page.wait(lambda: "level=tensor" not in page.page.url, "the link of the circuit")
    page.wait(lambda: patterns.count() == 1, "the tool of circuits")
    page.tool("Pattern")
    page.see("Build a pattern")
    page.choose("Level", "tensor")
    page.wait(lambda: patterns.count() == 0, "the open tool closes where it does not apply")
    assert not page.page.get_by_text("Build a pattern").is_visible()


def test_tools_follow_the_level_after_the_window_was_narrow(
    dashboard: Open, resize: Callable[[int, int], None]
) -> None:
    page = dashboard("?circuit=conflict")
    tools = page.page.get_by_role("button", name="Tools", exact=True)
    resize(500, 800)
    page.wait(lambda: tools.count() == 1, "the tools behind a button")
    resize(1280, 800)
    page.wait(lambda: tools.count() == 0, "the tools in the header")
    page.choose("Level", "tensor")
    patterns = page.page.get_by_role("button", name="Pattern", exact=True)
    page.wait(lambda: patterns.count() == 0, "no tool of circuits")


def test_the_pipeline_is_saved_edited_run_and_kept_in_the_link(dashboard: Open) -> None:
    page = dashboard(LEVEL)
    page.tool("Pipeline")
    entries = page.page.get_by_label("Passes, in order")
    with page.page.expect_download(timeout=WAIT_MS) as download:
        page.page.get_by_role("button", name="Save as YAML").last.click()
    text = download.value.path().read_text()
    assert text.startswith("- passName: RaiseQuantization")
    assert "convergenceMode: until_fixed_point" in text
    listed = entries.inner_text().splitlines()
    entry = next(label for label in listed if label.endswith(" OptimizeReshape"))
    entries.select_option(label=entry)
    page.press("Remove")
    page.wait(lambda: entry not in entries.inner_text().splitlines(), "the entry is gone")
    page.press("Run this pipeline")
    page.wait(lambda: "passes=" in page.page.url, "the link with the passes")
    again = opened_by(page.page.url)
    assert len(again.tensor.passes) == len(listed) - 1
    assert [step["path"] for step in steps(again.index) if step["changed"]] == changing(page)


def buffers(page: "Page") -> dict[str, str]:
    """The place of each buffer that is drawn, by its id."""
    found = page.eval_on_selector_all(
        ".ce-buffer:not(.ce-leaving)", "bars => bars.map((bar) => [bar.dataset.buffer, bar.style.cssText])"
    )
    return dict(found)


def outside_of_their_frames(page: "Page") -> list[str]:
    """The names in the film that are drawn over the border of their frame."""
    return page.eval_on_selector_all(
        ".ce-frame",
        """frames => frames.filter((frame) => [...frame.querySelectorAll(".ce-frame-words > *")].some((name) =>
             name.getBoundingClientRect().right > frame.getBoundingClientRect().right - 1))
           .map((frame) => frame.textContent)""",
    )


def choose_two(page: "Page") -> tuple[int, int, str]:
    """Choose the first and the last buffer by keys; return both, and what is said of them."""
    ids = list(buffers(page))
    page.locator(".ce-buffer[tabindex='0']").focus()
    page.keyboard.press("Enter")
    for _ in ids[1:]:
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Enter")
    answer = page.locator(".ce-sharing.ce-asked")
    return int(ids[0]), int(ids[-1]), answer.inner_text()


def test_memory_of_a_program_is_drawn_and_asked_about_in_dashboard_and_page(dashboard: Open, tmp_path: Path) -> None:
    page = dashboard("?circuit=blackboard&level=program")
    page.page.wait_for_selector(".ce-buffer")
    opened = opened_by(page.page.url)
    last = len(opened.trace.steps) - 1
    assert outside_of_their_frames(page.page) == []
    before = buffers(page.page)
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
    page.page.keyboard.press("End")
    page.wait_for_step(last)
    page.wait(lambda: buffers(page.page) != before, "buffers that have moved")
    label = page.page.locator(".ce-buffer:not(.ce-leaving) span:visible").first
    box = label.bounding_box() or {"x": 0, "y": 0}
    page.page.mouse.move(box["x"] + 4, box["y"] + 4)
    named = f"{label.inner_text()}:"
    page.wait(lambda: page.page.locator(".ce-buffers-words").inner_text().startswith(named), f"words of {named}")
    first, second, said = choose_two(page.page)
    answer = str(opened.trace.why_not_shared(first, second, last))
    assert said == f"%{first} and %{second}: {answer}"
    page.page.locator(".ce-layer").first.click()
    page.wait(lambda: len(page.trait("selection")) > 1, "the instructions of a layer")

    file = tmp_path / "program.html"
    file.write_text(page_html(page_recording(opened.index, "blackboard")), encoding="utf-8")
    saved = page.page.context.new_page()
    saved.goto(f"{file.as_uri()}#step={last}")
    saved.wait_for_selector(".ce-buffer")
    assert choose_two(saved) == (first, second, said)
    saved.close()


def test_kernel_calls_are_stepped_through_and_say_what_each_pass_bought(dashboard: Open) -> None:
    page = dashboard("?circuit=digits")
    page.choose("Level", "kernels")
    page.wait(lambda: changing(page)[0] == "lower", "a trace of kernel calls")
    assert changing(page) == ["lower", "combine-tables", "depth-first", "slots"]
    titles = {"Table", "Sum", "Sum of products"}
    page.wait(lambda: {node["title"] for node in page.picture()["nodes"]} == titles, "the picture of kernel calls")
    page.page.locator(".ce-frame[tabindex='0']").first.focus()
    page.page.keyboard.press("ArrowRight")
    page.wait_for_step(2)
    page.see("Table + Sum becomes Table 64 times (combine-tables): 85 calls → 21")
    page.page.keyboard.press("End")
    page.wait_for_step(7)
    page.see("21 values share 8 slots of 16 KiB each")
    page.wait(lambda: len(buffers(page.page)) == 21, "a bar for each value")
    asked = next(node["id"] for node in page.picture()["nodes"] if node["title"] == "Sum of products")
    page.page.locator(f".ce-box[data-id='{asked}']").first.focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("w")
    page.see("the rule declined: it computes the products of its terms already")
    page.tool("Pipeline")
    listed = page.page.get_by_label("Passes, in order")
    page.wait(lambda: len(listed.inner_text().splitlines()) == 7, "the passes of kernel calls")
    page.wait(lambda: page.page.get_by_label("Compile for").count() == 0, "kernel calls have no mode")
