"""Measures in a browser how fast an exported page is painted and steps, and how smoothly its plates are moved."""

import importlib.util
import os
import shutil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.view_times import FIRST_LAYERS, FIRST_MS, STEP_MS, Measurement

if TYPE_CHECKING:
    from playwright.sync_api import Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
FRAMES_PER_S = 60.0
KEYS = (*["ArrowRight"] * 5, *["ArrowLeft"] * 5)
REST_MS = 900
"""How long a reader looks at a step."""
PAINTED_WHAT, STEPPED, MOVED = "exported page: first paint", "exported page: from key to drawn", "plates moved"

PAINTED = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now();
}"""

# Presses a key, and waits for the first frame after the name of the picture says that another one is shown. The name is
# observed: a timer would fire only after the frames that are due.
PRESS = """async (key) => {
  const find = (at) => {
    for (const element of at.querySelectorAll('*')) {
      if (element.matches('[role=listbox].ce-stage')) return element;
      const inner = element.shadowRoot && find(element.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  const list = find(document);
  const renamed = new Promise((done) => {
    new MutationObserver(done).observe(list, { attributes: true, attributeFilter: ['aria-label'] });
    setTimeout(done, 10_000);
  });
  const started = performance.now();
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, composed: true }));
  await renamed;
  await new Promise((done) => requestAnimationFrame(done));
  return performance.now() - started;
}"""

# Zooms and pans by the wheel for two seconds, one event per frame.
MOVE = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const find = (at) => {
    for (const element of at.querySelectorAll('*')) {
      if (element.matches('.ce-view')) return element;
      const inner = element.shadowRoot && find(element.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  const stage = find(document);
  const { left, top, width, height } = stage.getBoundingClientRect();
  const times = [];
  let before = await frame();
  for (let i = 0; i < 120; i += 1) {
    const wheel = { deltaY: i % 40 < 20 ? -60 : 60, ctrlKey: i % 2 === 0, bubbles: true, cancelable: true };
    stage.dispatchEvent(new WheelEvent('wheel', { ...wheel, clientX: left + width / 2, clientY: top + height / 2 }));
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
    """Measure the first paint, the steps and the frames of each exported page (name -> text, number of layers)."""
    why = missing_browser()
    if why:
        return [
            Measurement(name, what, None, "ms", why=why) for name in pages for what in (PAINTED_WHAT, STEPPED, MOVED)
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
            found += _measure_page(page, name, layers)
        browser.close()
    return found


def _measure_page(page: "Page", name: str, layers: int) -> list[Measurement]:
    circuit = f"{name}, {layers:,} layers"
    painted = float(page.evaluate(PAINTED))
    steps = press_keys(page)
    return [
        Measurement(circuit, PAINTED_WHAT, painted, "ms", FIRST_MS if layers <= FIRST_LAYERS else None),
        Measurement(circuit, f"{STEPPED}, median", median(steps), "ms", STEP_MS),
        Measurement(circuit, f"{STEPPED}, slowest", max(steps), "ms", STEP_MS),
        *moved(page, circuit),
    ]


def moved(page: "Page", circuit: str, where: str = "") -> list[Measurement]:
    """Measure the frames per second while plates are panned and zoomed."""
    times: list[float] = page.evaluate(MOVE)
    what = f"{where}{MOVED}"
    return [
        Measurement(circuit, f"{what}, median", _frames_per_s(median(times)), "frames/s", FRAMES_PER_S, over=True),
        Measurement(circuit, f"{what}, slowest of 20", _frames_per_s(times[len(times) * 19 // 20]), "frames/s"),
    ]


def press_keys(page: "Page") -> list[float]:
    """Return the milliseconds from pressing each key to the drawn step; between two, the page rests."""
    found: list[float] = []
    for key in KEYS:
        found.append(float(page.evaluate(PRESS, key)))
        page.wait_for_timeout(REST_MS)
    return found


def _frames_per_s(milliseconds: float) -> float:
    """Return frames per second, as integers: clocks of browsers are not exact."""
    return float(round(1000 / milliseconds))


def browser_path() -> str | None:
    """The path of this machine's Chromium or Chrome."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
