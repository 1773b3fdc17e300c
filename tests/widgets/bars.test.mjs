import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/bars.js";
import { newDocument, newModel } from "./dom.mjs";

const texture = {
  tag: "pattern",
  id: "texture-1",
  parts: [{ tag: "rect", width: 6, height: 6, fill: "slower" }],
};
const marks = [
  { tag: "defs", parts: [texture] },
  { tag: "line", from: 0.5, y1: 14, y2: 50, stroke: "line" },
  { tag: "rect", class: "ceb-bar", from: 0.25, to: 0.75, y: 18, height: 16, fill: "faster", stroke: "faster" },
  { tag: "rect", class: "ceb-bar", from: 0, to: 0, y: 42, height: 16, fill: "url(#texture-1)", stroke: "series-1" },
  { tag: "text", from: 0.75, x: 7, y: 26, text: "▼ -3 ms" },
];
const bars = (chart = {}, more = {}) => ({
  version: 1,
  title: "Forward",
  note: "median of 30",
  chart: {
    left: 100,
    right: 66,
    height: 90,
    text: "Forward: 2 bars in ms.",
    marks,
    legend: [{ text: "▼ faster", swatch: [{ tag: "rect", width: 22, height: 12, fill: "faster" }] }],
    ...chart,
  },
  table: {
    columns: ["what", "ms"],
    rows: [
      ["plain", "12.5"],
      ["folded", "0.5"],
    ],
  },
  ...more,
});

function open(json, options = {}) {
  const document = newDocument();
  const el = document.createElement("div");
  const model = newModel({ bars: json, options });
  return { el, model, close: view.render({ model, el }) };
}

const drawn = (el) => el.of("ceb-bar");
const fills = (el) => drawn(el).map((rect) => rect.getAttribute("fill"));

test("the axis of a chart is as long as the view has room", () => {
  const { el, close } = open(JSON.stringify(bars()));
  const room = 900 - 26 - 100 - 66;
  const [bar, short] = drawn(el);
  assert.equal(bar.getAttribute("x"), String(100 + room / 4));
  assert.equal(bar.getAttribute("width"), String(room / 2));
  assert.equal(short.getAttribute("width"), "1.5");
  const [tick] = el.all((element) => element.tagName === "line");
  assert.deepEqual(
    [tick.getAttribute("x1"), tick.getAttribute("x2")],
    [String(100 + room / 2), String(100 + room / 2)],
  );
  const [words] = el.all(({ tagName, textContent }) => tagName === "text" && textContent === "▼ -3 ms");
  assert.equal(words.getAttribute("transform"), `translate(${100 + 0.75 * room} 0)`);
  const chart = el.all((element) => element.getAttribute("role") === "img")[0];
  assert.equal(chart.getAttribute("aria-label"), "Forward: 2 bars in ms.");
  assert.deepEqual(
    el.all((element) => element.tagName === "li").map((item) => item.textContent),
    ["▼ faster"],
  );
  close();
  assert.equal(el.childNodes.length, 0);
});

test("redraws while a measurement runs, and stops when it is closed", async () => {
  const { el, model, close } = open(JSON.stringify(bars({ marks: [] })));
  assert.equal(drawn(el).length, 0);
  await model.put({ bars: JSON.stringify(bars()) });
  assert.equal(drawn(el).length, 2);
  close();
  await model.put({ bars: "" });
  assert.equal(model.listening(), 0);
});

test("the table has the same values", () => {
  const { el, close } = open(JSON.stringify(bars()));
  el.button("Table").dispatch("click");
  assert.deepEqual(
    el.all((cell) => cell.tagName === "td").map((cell) => cell.textContent),
    ["plain", "12.5", "folded", "0.5"],
  );
  close();
});

test("a malformed value shows its error, an empty one says so, a good one is drawn", async () => {
  const { el, model, close } = open("{");
  assert.match(el.textContent, /Cannot draw these bars.*not JSON/);
  await model.put({ bars: JSON.stringify(bars({}, { version: 9 })) });
  assert.match(el.textContent, /version 9/);
  await model.put({ bars: JSON.stringify({ version: 1, bars: [] }) });
  assert.match(el.textContent, /no chart/);
  await model.put({ bars: JSON.stringify(bars({}, { novelty: 1 })) });
  assert.equal(drawn(el).length, 2);
  await model.put({ bars: "" });
  assert.match(el.textContent, /Nothing measured yet/);
  close();
});

test("colours are roles, in light and dark", async () => {
  const { el, model, close } = open(JSON.stringify(bars()), { theme: "light" });
  assert.equal(fills(el)[0], "#5e3c99");
  await model.put({ options: { theme: "dark" } });
  assert.equal(fills(el)[0], "#b2abd2");
  close();
});

test("forced colours are those of the system", () => {
  globalThis.matchMedia = (query) => ({
    matches: query.includes("forced-colors"),
    addEventListener() {},
    removeEventListener() {},
  });
  try {
    const { el, close } = open(JSON.stringify(bars()));
    assert.equal(fills(el)[0], "Highlight");
    close();
  } finally {
    delete globalThis.matchMedia;
  }
});

test("a texture has an id of its own and the colour of its role", () => {
  const { el, close } = open(JSON.stringify(bars()), { theme: "light" });
  const id = /^url\(#(.+)\)$/.exec(fills(el)[1])[1];
  assert.notEqual(id, "texture-1");
  const pattern = el.all((element) => element.getAttribute("id") === id);
  assert.equal(pattern.length, 1);
  assert.equal(pattern[0].childNodes[0].getAttribute("fill"), "#b35806");
  close();
});

test("a chart can be copied, its table not", () => {
  const { el, close } = open(JSON.stringify(bars()));
  const [copy, toggle] = ["Copy SVG", "Table"].map((words) => el.button(words));
  assert.ok(!copy.hidden);
  toggle.dispatch("click");
  assert.ok(copy.hidden);
  close();
});
