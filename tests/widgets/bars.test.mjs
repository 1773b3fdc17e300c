import assert from "node:assert/strict";
import { test } from "node:test";

import view, { axisOf, readBars, shown } from "../../widgets/static/bars.js";
import { newDocument, newModel } from "./dom.mjs";

const bar = (label, value, more = {}) => ({ label, value, low: null, high: null, series: "CPU", missing: "", ...more });
const bars = (more = {}) => ({
  version: 1, title: "Forward", unit: "ms", log: true, series: ["CPU", "CUDA"], note: "median of 30",
  bars: [bar("plain", 12.5, { low: 12, high: 14 }), bar("plain", null, { series: "CUDA", missing: "no CUDA device" }), bar("folded", 0.5)],
  table: { columns: ["what", "ms"], rows: [["plain", "12.5"], ["folded", "0.5"]] }, ...more,
});

function open(json, options = {}) {
  const document = newDocument();
  const el = document.createElement("div");
  const model = newModel({ bars: json, options });
  return { el, model, close: view.render({ model, el }) };
}

test("draws a bar for each value, whiskers for a spread, a hatch with its reason for what is missing", () => {
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
  assert.deepEqual(el.all((cell) => cell.tagName === "td").map((cell) => cell.textContent), ["plain", "12.5", "folded", "0.5"]);
  close();
});

test("a malformed value shows its error, a good one afterwards is drawn; the empty one says so", async () => {
  const { el, model, close } = open("{");
  assert.match(el.textContent, /cannot be drawn.*not JSON/);
  await model.put({ bars: JSON.stringify(bars({ novelty: 1 })) });
  assert.equal(el.of("ceb-bar").length, 2);
  await model.put({ bars: "" });
  assert.match(el.textContent, /Nothing measured yet/);
  assert.throws(() => readBars('{"version": 9, "bars": []}'), /version 9/);
  close();
});

test("a logarithmic axis covers all values, and zero has no place on it", () => {
  const axis = axisOf(readBars(JSON.stringify(bars({ bars: [bar("a", 0.003), bar("b", 740)] }))));
  assert.ok(axis.low <= 0.003 && axis.high >= 740);
  assert.ok(axis.ticks.length >= 3 && axis.ticks.length <= 16, `${axis.ticks}`);
  assert.equal(axis.at(axis.low), 0);
  const { el, close } = open(JSON.stringify(bars({ bars: [bar("a", 0), bar("b", 1)] })));
  assert.match(el.textContent, /no place on a logarithmic axis/);
  close();
});

test("a linear axis begins at zero and has room for negative values", () => {
  const axis = axisOf(readBars(JSON.stringify(bars({ log: false, bars: [bar("a", -3), bar("b", 9)] }))));
  assert.ok(axis.low <= -3 && axis.high >= 9 && axis.ticks.includes(0), `${axis.ticks}`);
});

test("numbers are shown in three digits", () => {
  assert.deepEqual([0, 1234.5, 12.345, 0.01234, 0.00001234, 4e9].map(shown), ["0", "1,235", "12.3", "0.0123", "1.23e-5", "4e9"]);
});
