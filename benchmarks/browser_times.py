"""Measures in a browser how fast an exported page is painted, and how smoothly 2,000 boxes are moved."""

import importlib.util
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.view_times import Measurement

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
FIRST_PAINT_MS = 1000.0
"""For up to 10,000 layers; beyond, the budget grows with the layers."""
FRAMES_PER_S = 30.0
DRAWN = 2_000

PAINTED = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now();
}"""

# Draws boxes in rows of 50, then zooms and pans by the wheel for two seconds, one event per frame.
MOVE = """async (count) => {
  const nodes = Array.from({ length: count }, (_, i) => ({ id: `n${i}`, title: `Sum ${i}`, detail: '16 → 16' }));
  const edges = nodes.slice(50).map((node, i) => ({ source: `n${i}`, target: node.id }));
  const place = (_, i) => [180 * (i % 50) + 90, 100 * Math.floor(i / 50) + 40, 152, 46];
  const places = new Float32Array(nodes.flatMap(place));
  const { model } = circuitExplorer;
  model.set('options', { ...model.get('options'), animate: false });
  model.set('coordinates', new Uint8Array(places.buffer));
  model.set('picture', JSON.stringify({ version: 1, step: 0, mode: 'diff', nodes, edges }));
  model.save_changes();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  await frame();
  const canvas = document.querySelector('.ce-canvas');
  if (!canvas) return null;
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const times = [];
  let before = await frame();
  for (let i = 0; i < 120; i += 1) {
    const wheel = { deltaY: i % 40 < 20 ? -60 : 60, ctrlKey: i % 2 === 0, bubbles: true, cancelable: true };
    canvas.dispatchEvent(new WheelEvent('wheel', { ...wheel, clientX: left + width / 2, clientY: top + height / 2 }));
    const now = await frame();
    times.push(now - before);
    before = now;
  }
  return times.sort((a, b) => a - b);
}"""


def missing_browser() -> str:
    """Why no browser is available, and what to install; empty if one is."""
    if importlib.util.find_spec("playwright") is None:
        return "needs Playwright: pip install playwright"
    if browser_path() is None:
        return "needs Chromium: apt-get install chromium, or set CHROMIUM to its path"
    return ""


def measure_pages(pages: dict[str, tuple[str, int]]) -> list[Measurement]:
    """Measure the first paint of each exported page (name -> text, number of layers), and frames of 2,000 boxes."""
    why = missing_browser()
    if why:
        names = [(name, "first paint of the exported page") for name in pages]
        return [
            Measurement(name, what, None, "ms", why=why) for name, what in (*names, ("", f"moving {DRAWN:,} boxes"))
        ]
    from playwright.sync_api import sync_playwright

    found: list[Measurement] = []
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for number, (name, (text, layers)) in enumerate(pages.items()):
            file = Path(folder) / f"{number}.html"
            file.write_text(text, encoding="utf-8")
            page.goto(file.as_uri())
            page.wait_for_selector(".ce-box")
            painted = float(page.evaluate(PAINTED))
            budget = FIRST_PAINT_MS * max(1.0, layers / 10_000)
            found.append(Measurement(name, "first paint of the exported page", painted, "ms", budget))
        page.goto((Path(folder) / "0.html").as_uri())
        page.wait_for_selector(".ce-box")
        found += _frames(page)
        browser.close()
    return found


def _frames(page: "Page") -> list[Measurement]:
    times: list[float] | None = page.evaluate(MOVE, DRAWN)
    what = f"moving {DRAWN:,} boxes"
    if not times:
        return [Measurement("", what, None, "frames/s", FRAMES_PER_S, True, "they were not drawn on a canvas")]
    return [
        Measurement("", f"{what}, median", 1000 / times[len(times) // 2], "frames/s", FRAMES_PER_S, True),
        Measurement("", f"{what}, slowest of 20", 1000 / times[len(times) * 19 // 20], "frames/s", FRAMES_PER_S, True),
    ]


def browser_path() -> str | None:
    """The path of this machine's Chromium or Chrome."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
