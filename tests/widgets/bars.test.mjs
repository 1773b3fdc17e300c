import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/bars.js";
import { placeOn, readBars } from "../../widgets/js/bars/reading.js";
import { shown } from "../../widgets/js/bars/words.js";
import { newDocument, newModel } from "./dom.mjs";

const bar = (label, value, more = {}) => ({ label, value, low: null, high: null, series: "CPU", missing: "", ...more });
const bars = (more = {}) => ({
  version: 1,
  title: "Forward",
  unit: "ms",
  log: true,
  axis: {
    low: 0.2,
    high: 20,
    ticks: [
      [1, "1"],
      [10, "10"],
    ],
  },
  series: ["CPU", "CUDA"],
  note: "median of 30",
  bars: [
    bar("plain", 12.5, { low: 12, high: 14 }),
    bar("plain", null, { series: "CUDA", missing: "no CUDA device" }),
    bar("folded", 0.5),
  ],
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

test("draws bars, whiskers of intervals, and hatch and reason of a missing value", () => {
  const { el, close } = open(JSON.stringify(bars()));
  assert.equal(el.of("ceb-bar").length, 2);
  assert.equal(el.of("ceb-whisker").length, 2, "one path and its halo");
  assert.match(el.textContent, /no CUDA device/);
  assert.match(el.textContent, /12\.5 ms/);
  close();
  assert.equal(el.childNodes.length, 0);
});

test("redraws while a measurement runs, and stops when it is closed", async () => {
  const { el, model, close } = open(JSON.stringify(bars({ bars: [] })));
  assert.equal(el.of("ceb-bar").length, 0);
  await model.put({ bars: JSON.stringify(bars()) });
  assert.equal(el.of("ceb-bar").length, 2);
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
  await model.put({ bars: JSON.stringify(bars({ novelty: 1 })) });
  assert.equal(el.of("ceb-bar").length, 2);
  await model.put({ bars: "" });
  assert.match(el.textContent, /Nothing measured yet/);
  assert.throws(() => readBars('{"version": 9, "bars": []}'), /version 9/);
  close();
});

test("a value is a dot on a logarithmic axis, and a bar from zero on a linear one", () => {
  const log = open(JSON.stringify(bars()));
  assert.deepEqual(
    log.el.of("ceb-bar").map((mark) => mark.tagName),
    ["circle", "circle"],
  );
  log.close();
  const linear = open(JSON.stringify(bars({ log: false })));
  assert.deepEqual(
    linear.el.of("ceb-bar").map((mark) => mark.tagName),
    ["rect", "rect"],
  );
  linear.close();
  const two = open(JSON.stringify(bars({ bars: [bar("plain", 1), bar("plain", 2, { series: "CUDA" })] })));
  assert.deepEqual(
    two.el.of("ceb-bar").map((mark) => mark.tagName),
    ["circle", "path"],
  );
  two.close();
});

test("a logarithmic axis has no place for zero", () => {
  const read = readBars(JSON.stringify(bars()));
  assert.deepEqual(
    [0.2, 2, 20].map((value) => Number(placeOn(read, value).toFixed(6))),
    [0, 0.5, 1],
  );
  const { el, close } = open(JSON.stringify(bars({ bars: [bar("a", 0), bar("b", 1)] })));
  assert.match(el.textContent, /cannot be shown on a logarithmic axis/);
  close();
});

const change = (label, value, tone) => bar(label, value, { low: value - 1, high: value + 1, series: "time", tone });
const bought = (more = {}) =>
  bars({
    log: false,
    series: ["time"],
    table: {},
    bars: [change("fuse", -3, "faster"), change("fold", 2, "slower"), change("rename", -0.2, "noise")],
    ...more,
  });
const fills = (el) => el.of("ceb-bar").map((rect) => rect.getAttribute("fill"));

test("a change in time has the colour and the sign of its tone, in light and dark", async () => {
  const { el, model, close } = open(JSON.stringify(bought()), { theme: "light" });
  assert.deepEqual(fills(el), ["#5e3c99", "#b35806", "#858c96"]);
  for (const words of ["▼ -3 ms", "▲ 2 ms", "≈ -0.2 ms"]) assert.ok(el.textContent.includes(words), words);
  await model.put({ options: { theme: "dark" } });
  assert.deepEqual(fills(el), ["#b2abd2", "#f1a340", "#7d8792"]);
  close();
});

test("forced colours keep the signs and use the system's colours", () => {
  globalThis.matchMedia = (query) => ({
    matches: query.includes("forced-colors"),
    addEventListener() {},
    removeEventListener() {},
  });
  try {
    const { el, close } = open(JSON.stringify(bought()));
    assert.deepEqual(fills(el), ["Highlight", "CanvasText", "GrayText"]);
    assert.match(el.textContent, /▼ -3 ms.*▲ 2 ms.*≈ -0\.2 ms/);
    close();
  } finally {
    delete globalThis.matchMedia;
  }
});

test("the tone is in the accessible names, the legend and the table", () => {
  const { el, close } = open(JSON.stringify(bought()));
  const titles = el.all((element) => element.tagName === "title").map((element) => element.textContent);
  assert.deepEqual(titles, [
    "fuse, time, -3 ms (-4 to -2), faster",
    "fold, time, 2 ms (1 to 3), slower",
    "rename, time, -0.2 ms (-1.2 to 0.8), within the noise",
  ]);
  const chart = el.all((element) => element.getAttribute("role") === "img")[0];
  assert.equal(
    chart.getAttribute("aria-label"),
    "Forward: 3 bars in ms; 1 faster, 1 slower, 1 within the noise. The table has the same values.",
  );
  assert.deepEqual(
    el.all((element) => element.tagName === "li").map((item) => item.textContent),
    ["▼ faster", "▲ slower", "≈ within the noise"],
  );
  el.button("Table").dispatch("click");
  const cells = el.all((cell) => cell.tagName === "td").map((cell) => cell.textContent);
  assert.deepEqual(
    cells.filter((_, index) => index % 5 === 4),
    ["faster", "slower", "within the noise"],
  );
  close();
});

test("tones of a second series keep its texture; an unknown tone is ignored", () => {
  const second = [
    change("fuse", -3, "faster"),
    { ...change("fuse", 1, "slower"), series: "CUDA" },
    change("fold", 1, "sideways"),
  ];
  const { el, close } = open(JSON.stringify(bought({ series: ["time", "CUDA"], bars: second })), { theme: "light" });
  const [first, textured, plain] = fills(el);
  assert.equal(first, "#5e3c99");
  const id = /^url\(#(.+)\)$/.exec(textured)[1];
  const pattern = el.all((element) => element.getAttribute("id") === id);
  assert.equal(pattern.length, 1);
  assert.equal(pattern[0].childNodes[0].getAttribute("fill"), "#b35806");
  assert.equal(plain, "#0072b2");
  assert.doesNotMatch(el.textContent, /sideways/);
  close();
});

test("numbers have three digits", () => {
  assert.deepEqual([0, 1234.5, 12.345, 0.01234, 0.00001234, 4e9].map(shown), [
    "0",
    "1,235",
    "12.3",
    "0.0123",
    "1.23e-5",
    "4e9",
  ]);
});

test("a chart can be copied, its table not", () => {
  const { el, close } = open(JSON.stringify(bars()));
  const [copy, toggle] = ["Copy SVG", "Table"].map((words) => el.button(words));
  assert.ok(!copy.hidden);
  toggle.dispatch("click");
  assert.ok(copy.hidden);
  close();
});
