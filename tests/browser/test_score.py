"""A watched compilation in an exported page: its calls, the reasons of seams, zooming by a band of modules."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from explorer.app.session.reproduce import page_recording
from explorer_widgets import page_html
from tests.chromium import WAIT_MS
from tests.views.score.compiling import compiled_index

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
FIRST = 2
"""The step of the first round."""


@pytest.fixture
def saved(page: "Page", tmp_path: Path) -> Iterator["Page"]:
    """The page of a compilation, at the first round of fusing."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    file = tmp_path / "score.html"
    file.write_text(page_html(page_recording(compiled_index(), "mlp")), encoding="utf-8")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{file.as_uri()}#step={FIRST}")
    page.wait_for_selector(".ce-score [role=option]")
    yield page
    assert errors == []


def words(page: "Page") -> list[str]:
    return page.locator(".ce-score-word").all_text_contents()


def test_the_page_says_what_was_fused_and_why_a_seam_stays(saved: "Page") -> None:
    saved.get_by_text("5 → 4 calls").first.wait_for(timeout=WAIT_MS)
    shown = words(saved)
    assert "layer_norm (part) + gelu #20" in shown
    assert "2 calls became this one" in shown
    assert "No longer written in this step: 1 value, 2 KiB: f32[8,64] of layer_norm" in shown
    assert "× refused because: the loops differ · layer_norm | layer_norm + gelu" in shown
    assert saved.locator(".ce-score [role=option]").count() == 5
    memory = saved.locator(".ce-buffers summary").first
    assert memory.inner_text().startswith("Memory: ")
    assert not saved.locator(".ce-buffer").count()
    memory.click()
    saved.wait_for_selector(".ce-buffer")


def test_a_step_moves_the_calls_and_a_band_zooms(saved: "Page") -> None:
    root = saved.locator(".ce-root")
    root.focus()
    saved.keyboard.press("Shift+ArrowRight")
    saved.keyboard.press("ArrowRight")
    saved.get_by_text("4 → 3 calls").first.wait_for(timeout=WAIT_MS)
    saved.wait_for_selector(".ce-root[data-moving=false]")
    before = float(root.get_attribute("data-zoom") or 0)
    saved.locator(".ce-score-hit").first.click()
    saved.wait_for_function(f"Number(document.querySelector('.ce-root').dataset.zoom) > {before}", timeout=WAIT_MS)
    assert "block.0" in words(saved)


def test_the_copied_image_has_the_row_and_its_words(saved: "Page") -> None:
    saved.context.grant_permissions(["clipboard-read", "clipboard-write"])
    saved.get_by_role("button", name="Copy SVG").click()
    saved.get_by_text("Copied").first.wait_for(timeout=WAIT_MS)
    image = saved.evaluate("navigator.clipboard.readText()")
    assert image.startswith("<svg")
    assert "layer_norm + gelu" in image
    assert "written to memory" in image
