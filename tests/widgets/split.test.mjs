import assert from "node:assert/strict";
import { test } from "node:test";

import { maker } from "../../widgets/js/shared/elements.js";
import { makeSplit } from "../../widgets/js/shared/splitting.js";
import { newDocument } from "./dom.mjs";

/** A bar in a window of 1000 pixels that remembers. */
function newSplit(stored = new Map(), part = () => null, across = false) {
  const [doc, scrolled] = [newDocument(), []];
  const localStorage = {
    getItem: (name) => stored.get(name) ?? null,
    setItem: (name, value) => stored.set(name, value),
  };
  doc.defaultView = {
    ...doc.defaultView,
    innerHeight: 1000,
    innerWidth: 1000,
    localStorage,
    getComputedStyle: () => ({ overflowY: "auto" }),
  };
  const heights = [];
  const split = makeSplit(maker(doc), {
    name: "tool",
    words: "the tool",
    part,
    across,
    apply: (height) => heights.push(height),
  });
  const [grip, smaller, larger] = split.element.childNodes;
  const page = { scrollHeight: 2000, clientHeight: 1000, nodeType: 1, scrollBy: (_, by) => scrolled.push(by) };
  split.element.parentNode = page;
  grip.getBoundingClientRect = () => ({ top: 588, height: 24 });
  const tell = (element, type, more = {}) => {
    for (const act of element.listeners.get(type) ?? []) {
      act({ preventDefault: () => {}, stopPropagation: () => {}, ...more });
    }
  };
  return { heights, scrolled, grip, smaller, larger, tell, stored };
}

test("a bar is moved by pointer, keys and buttons, and its position is remembered", () => {
  const { heights, scrolled, grip, smaller, larger, tell, stored } = newSplit();
  assert.deepEqual(heights, []);
  assert.equal(grip.getAttribute("aria-valuenow"), "36");
  tell(grip, "pointermove", { clientY: 100 });
  tell(grip, "pointerdown", { clientY: 600 });
  tell(grip, "pointermove", { clientY: 500 });
  tell(grip, "pointerup");
  tell(grip, "pointermove", { clientY: 100 });
  assert.deepEqual([heights, scrolled], [["46vh"], [100]]);
  tell(grip, "keydown", { key: "ArrowUp" });
  tell(grip, "keydown", { key: "x" });
  tell(smaller, "click");
  tell(grip, "keydown", { key: "Home" });
  assert.deepEqual(heights, ["46vh", "48vh", "40vh", "75vh"]);
  assert.equal(larger.disabled, true);
  assert.equal(stored.get("circuit-explorer-tool"), "75");
  assert.deepEqual(newSplit(stored).heights, ["75vh"]);
});

test("until a height was chosen, a bar moves from the height of what is below it", () => {
  const { heights, grip, tell } = newSplit(new Map(), () => ({ getBoundingClientRect: () => ({ height: 220 }) }));
  tell(grip, "focus");
  assert.equal(grip.getAttribute("aria-valuenow"), "22");
  assert.deepEqual(heights, []);
  tell(grip, "keydown", { key: "ArrowUp" });
  tell(grip, "keydown", { key: "ArrowUp" });
  assert.deepEqual(heights, ["24vh", "26vh"]);
});

test("a bar beside a column makes it wider and narrower", () => {
  const { heights: widths, grip, larger, tell } = newSplit(new Map(), () => null, true);
  assert.equal(grip.getAttribute("aria-label"), "Width of the tool");
  tell(grip, "focus");
  assert.equal(grip.getAttribute("aria-valuenow"), "38");
  tell(grip, "pointerdown", { clientX: 600 });
  tell(grip, "pointermove", { clientX: 560 });
  tell(grip, "pointerup");
  tell(grip, "keydown", { key: "ArrowRight" });
  tell(larger, "click");
  assert.deepEqual(widths, ["42vw", "40vw", "48vw"]);
});
