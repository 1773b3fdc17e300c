"""After each key, film, picture, sentence and address name the same step, and no match is lit after a step."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_plates import html_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

KEYS = ("ArrowLeft", "ArrowRight", "Shift+ArrowRight", "[", "]", "Escape", "Home", "End", "w")
FAST = """
History.prototype.pushState = History.prototype.replaceState = (_, __, hash) => { globalThis.written = hash; };
const { port1, port2 } = new MessageChannel();
const acts = [];
port1.onmessage = () => acts.shift()();
globalThis.soon = (act) => { acts.push(act); port2.postMessage(0); };
globalThis.requestIdleCallback = soon;
"""
"""A browser ignores an address that changes too often, and delays what is often to be done later."""
PRESS = """async (keys) => {
  const { model } = circuitExplorer;
  const root = document.querySelector(".ce-root");
  const rest = () => new Promise(soon);
  const stepIn = (words) => Number(/\\d+/.exec(words ?? "")?.[0] ?? NaN);
  const named = () => {
    const current = root.querySelector(".ce-film [aria-current]");
    const frame = current?.dataset.frame ?? stepIn(current?.title);
    const title = root.querySelector(".ce-step-title").textContent;
    return [Number(frame), model.get("picture").step, stepIn(title), stepIn(/step=\\d+/.exec(written)?.[0])];
  };
  const press = async (name) => {
    const key = name.replace("Shift+", "");
    root.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey: key !== name, bubbles: true }));
    for (let tries = 0; tries < 200; tries += 1) {
      await rest();
      if (new Set(named()).size === 1 && tries > 1) return;
    }
  };
  const wrong = [];
  let lit = 0;
  for (const [at, key] of keys.entries()) {
    const before = model.get("step");
    await press(key);
    const view = model.get("view");
    const found = named();
    const said = `${keys.slice(Math.max(0, at - 2), at + 1).join(" ")} (${at})`;
    if (new Set(found).size > 1) wrong.push(`${said}: ${found}`);
    const chosen = root.querySelector(".ce-segments [aria-pressed=true]").dataset.mode;
    if (chosen !== "diff") wrong.push(`${said}: the mode is ${chosen}`);
    const isGone = key === "Escape" || model.get("step") !== before;
    if (isGone && (view.hull || view.mode !== "diff")) wrong.push(`${said}: ${view.hull} is lit in ${view.mode}`);
    lit += Boolean(view.hull);
  }
  return [wrong, lit];
}"""


def every_sequence(count: int, length: int) -> list[int]:
    """Return a De Bruijn sequence: each sequence of `length` numbers below `count` is in it, once."""
    found = [0] * (length - 1)
    seen: set[tuple[int, ...]] = set()
    for _ in range(count**length):
        last = tuple(found[len(found) - length + 1 :])
        number = next(n for n in reversed(range(count)) if (*last, n) not in seen)
        seen.add((*last, number))
        found.append(number)
    return found


def test_all_parts_name_one_step_after_every_sequence_of_keys(browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "conflict.html"
    file.write_text(html_of("conflict"), encoding="utf-8")
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        page.add_init_script(FAST)
        page.goto(file.as_uri())
        page.wait_for_selector(".ce-plate")
        after_lens = [key for key in KEYS for lens in ("]", "w") for key in ("Home", "ArrowRight", lens, key)]
        wrong, lit = page.evaluate(PRESS, after_lens + [KEYS[number] for number in every_sequence(len(KEYS), 3)])
        assert wrong == []
        assert lit > 50, "the lens was open after many of the keys"
