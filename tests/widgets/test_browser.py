"""The real page in a real browser, without network: keys, selection, table, themes, and the same drawing in Panel."""

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from explorer_widgets import page_html
from tests.waiting import PATIENCE
from tests.widgets.samples import coordinates, pictures, recording, steps

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture
def recorded(page: "Page", tmp_path: Path) -> "Page":
    file = tmp_path / "page.html"
    file.write_text(page_html(recording()), encoding="utf-8")
    page.goto(file.as_uri())
    page.wait_for_selector(".ce-box")
    return page


def trait(page: "Page", name: str) -> Any:
    return page.evaluate("name => circuitExplorer.model.get(name)", name)


def drawn_boxes(page: "Page") -> list[str]:
    return page.eval_on_selector_all(".ce-box", "boxes => boxes.map(box => box.dataset.id)")


def test_the_keyboard_alone_steps_and_selects(recorded: "Page") -> None:
    page = recorded
    assert drawn_boxes(page) == ["Categorical", "Hadamard", "Sum"]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-moving=false]")
    assert trait(page, "step") == 1
    assert drawn_boxes(page) == ["Categorical", "Hadamard", "Sum", "CPT"]
    assert page.text_content(".ce-step-title") == "Step 1 of 2: fuse, round 1"
    assert page.text_content("[aria-live=polite]") == "caption of step 1. 4 layers."
    page.focus(".ce-box[tabindex='0']")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert trait(page, "selection") == ["Hadamard"]
    page.keyboard.press("Escape")
    assert trait(page, "selection") == []
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement === document.body")


def test_keys_work_before_the_first_click_and_after_the_focused_box_is_gone(recorded: "Page") -> None:
    page = recorded
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-moving=false]")
    assert trait(page, "step") == 1
    page.keyboard.press("?")
    page.locator(".ce-help").wait_for()
    page.keyboard.press("Escape")
    page.focus(".ce-box[data-id=CPT]")
    page.keyboard.press("ArrowLeft")
    assert trait(page, "step") == 0
    page.wait_for_selector(".ce-box[data-id=CPT]", state="detached")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert len(trait(page, "selection")) == 1
    page.get_by_role("searchbox").fill("C")
    page.keyboard.press("End")
    assert trait(page, "step") == 0


def test_a_click_selects_and_shows_details(recorded: "Page") -> None:
    page = recorded
    page.click(".ce-box[data-id=Sum]")
    assert trait(page, "selection") == ["Sum"]
    assert "created by" in (page.text_content(".ce-side") or "")
    page.wait_for_url("**#step=0&mode=diff&box=Sum")
    page.reload()
    page.wait_for_selector(".ce-selected")
    assert trait(page, "selection") == ["Sum"]


def test_short_values_of_details_stay_in_one_line_next_to_their_names(
    recorded: "Page", resize: "Callable[[int, int], None]"
) -> None:
    page = recorded
    resize(700, 500)
    rows = [["a name that is much longer than its value and wraps", "256", "64 B"], ["Near misses", "1,234"]]
    rows.append(["long", "a value that is long enough to need more than one line of the list"])
    details = json.dumps({"id": "Sum", "title": "Sum", "sections": [{"heading": "Numbers", "rows": rows, "lines": []}]})
    change = "([name, value]) => { circuitExplorer.model.set(name, value); circuitExplorer.model.save_changes(); }"
    page.evaluate(change, ["options", {"compact": True}])
    page.get_by_role("button", name="Details").click()
    page.click(".ce-box[data-id=Sum]")
    page.evaluate(change, ["details", details])
    page.locator(".ce-side dt", has_text="Near misses").wait_for()
    lines = """parts => parts.map((part) => {
      const range = document.createRange();
      range.selectNodeContents(part);
      return new Set([...range.getClientRects()].map((line) => line.top)).size;
    })"""
    assert page.eval_on_selector_all(".ce-side .ce-unbroken", lines) == [1, 1, 1]
    tops = "rows => rows.map((row) => [...row.children].map((part) => part.getBoundingClientRect().top))"
    assert all(name == value for name, value in page.eval_on_selector_all(".ce-rows > div", tops))


@pytest.mark.parametrize(("width", "height"), [(640, 400), (320, 640)])
def test_in_a_small_window_the_graph_keeps_its_height_and_the_page_scrolls(
    recorded: "Page", resize: "Callable[[int, int], None]", width: int, height: int
) -> None:
    page = recorded
    resize(width, height)
    page.locator("summary", has_text="Legend").wait_for()
    stage = page.locator(".ce-view").bounding_box()
    assert stage is not None
    assert stage["height"] >= 180
    page.get_by_role("button", name="Keys and help").scroll_into_view_if_needed()
    page.locator(".ce-foot").scroll_into_view_if_needed()
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_table_replaces_the_graph(recorded: "Page") -> None:
    page = recorded
    page.click("[aria-label^=Table]")
    cells = page.eval_on_selector_all(".ce-table td", "cells => cells.map(cell => cell.textContent)")
    assert cells == ["Categorical", "kept", "Hadamard", "kept", "Sum", "kept"]
    assert page.get_attribute("[aria-label^=Table]", "aria-pressed") == "true"


def test_dragging_moves_and_the_buttons_do_the_same(recorded: "Page") -> None:
    page = recorded
    place = "() => document.querySelector('.ce-stage > g').getAttribute('transform')"
    before = page.evaluate(place)
    page.mouse.move(600, 300)
    page.mouse.down()
    page.mouse.move(680, 340, steps=4)
    page.mouse.up()
    assert page.evaluate(place) != before
    assert trait(page, "selection") == []
    page.click("[aria-label^='Fit all']")
    assert page.evaluate(place) == before


def test_the_theme_of_the_system_is_followed_while_the_page_is_open(recorded: "Page") -> None:
    page = recorded
    ground = "() => getComputedStyle(document.querySelector('.ce-root')).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector(".ce-root[data-theme=dark]")
    assert page.evaluate(ground) == "rgb(20, 23, 28)"
    face = page.evaluate("() => document.querySelector('.ce-face').getAttribute('fill')")
    assert face == "#5f8fc0"


def test_forced_colours_preserve_lines_and_text(recorded: "Page") -> None:
    page = recorded
    page.emulate_media(forced_colors="active")
    page.wait_for_selector(".ce-face[fill=Canvas]")
    assert page.evaluate("() => document.querySelector('.ce-face').getAttribute('stroke')") == "CanvasText"


def test_reduced_motion_skips_animation(recorded: "Page") -> None:
    page = recorded
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    place = page.evaluate("() => document.querySelector('[data-id=CPT]').getAttribute('transform')")
    assert place == "translate(200 70)"


def test_every_target_is_large_enough(recorded: "Page") -> None:
    page = recorded
    page.click(".ce-box[data-id=Sum]")
    small = page.eval_on_selector_all(
        ".ce-root button, .ce-root select, .ce-root input:not([type=checkbox]), .ce-root summary",
        """elements => elements.filter(element => element.offsetParent).map(element => [element.outerHTML.slice(0, 80),
           element.getBoundingClientRect().width, element.getBoundingClientRect().height])
           .filter(([, width, height]) => width < 24 || height < 24)""",
    )
    assert small == []


def test_a_thousand_boxes_and_more_are_drawn_on_a_canvas(recorded: "Page") -> None:
    page = recorded
    calls, elements = page.evaluate(
        """async () => {
          let calls = 0;
          const drawn = CanvasRenderingContext2D.prototype;
          for (const name of ['clearRect', 'fillRect', 'fillText', 'fill', 'stroke', 'drawImage']) {
            const draw = drawn[name];
            drawn[name] = function (...given) { calls += 1; return draw.apply(this, given); };
          }
          const nodes = Array.from({ length: 5000 }, (_, i) => ({ id: `n${i}`, title: `Sum ${i}` }));
          const edges = nodes.slice(100).map((node, i) => ({ source: `n${i}`, target: node.id }));
          const place = (_, i) => [180 * (i % 100) + 90, 100 * Math.floor(i / 100) + 40, 152, 46];
          const places = new Float32Array(nodes.flatMap(place));
          const { model } = circuitExplorer;
          model.set("options", { ...model.get("options"), animate: false });
          model.set("coordinates", new Uint8Array(places.buffer));
          model.set("picture", JSON.stringify({ version: 1, step: 0, mode: "diff", nodes, edges }));
          model.save_changes();
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          return [calls, document.querySelectorAll("*").length];
        }"""
    )
    painted = page.evaluate(
        """() => { const canvas = document.querySelector('.ce-canvas');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return data.filter((value, i) => i % 4 === 3 && value > 0).length; }"""
    )
    assert painted > 10_000
    assert calls < 5 * 5000, "a few calls for each box"
    assert elements < 500, "the page has no part for each box"
    page.mouse.click(480, 400)
    assert len(trait(page, "selection")) <= 1


@pytest.fixture
def panel_server() -> Iterator[tuple[Any, str]]:
    panel = pytest.importorskip("panel", reason="needs panel: pip install 'circuit-explorer[ui]'")
    from explorer_widgets.dashboard import GraphPane

    made: list[Any] = []

    def app() -> Any:
        pane = GraphPane(options={"height": 500}, view={"mode": "diff"})
        shown = pictures()
        pane.show_picture(shown[0], coordinates(shown[0]))
        pane.show_steps(steps(), 0)
        pane.param.watch(lambda event: pane.show_picture(shown[event.new], coordinates(shown[event.new])), "step")
        made.append(pane)
        return pane

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    panel.serve(app, port=port, address="127.0.0.1", show=False, threaded=True)
    yield made, f"http://127.0.0.1:{port}/"
    panel.state.kill_all_servers()  # otherwise pytest does not end


def test_the_same_module_runs_in_panel(page: "Page", panel_server: tuple[Any, str]) -> None:
    made, address = panel_server
    wait_until(page, lambda: answers(address))
    page.goto(address)
    page.locator(".ce-box").first.wait_for(timeout=1000 * PATIENCE)
    page.locator(".ce-box[data-id=Sum]").click()
    wait_until(page, lambda: made[-1].selection == ["Sum"])
    page.keyboard.press("ArrowRight")
    wait_until(page, lambda: made[-1].step == 1)
    page.locator(".ce-box[data-id=CPT]").wait_for()
    made[-1].selection = ["CPT"]
    page.locator(".ce-box.ce-selected[data-id=CPT]").wait_for()
    page.get_by_role("button", name="After").click()
    wait_until(page, lambda: json.loads(json.dumps(made[-1].view)).get("mode") == "after")


def answers(address: str) -> bool:
    parts = urlsplit(address)
    with socket.socket() as probe:
        return probe.connect_ex((str(parts.hostname), int(parts.port or 0))) == 0


def wait_until(page: "Page", holds: Any) -> None:
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("this did not come about in 5 s")
